#!/usr/bin/env bash
# Runs every fuzzer for a while, one after another: scripts/fuzz.sh [TIME], TIME as 10s or 2m
set -euo pipefail
cd "$(dirname "$0")/.."

time=${1:-10s}
found=0
# Only folders with a fuzzer are compiled.
while IFS= read -r dir; do
	for name in $(go test -list '^Fuzz' "./$dir" | grep '^Fuzz' || true); do
		echo "fuzz: $dir $name for $time"
		go test -run '^$' -fuzz "^$name\$" -fuzztime "$time" "./$dir"
		found=$((found + 1))
	done
done < <(grep -rl --include='*_test.go' --exclude-dir=node_modules '^func Fuzz' . | xargs -r -n1 dirname | sed 's|^\./||' | sort -u)
echo "fuzz: $found fuzzers ran without a finding"
