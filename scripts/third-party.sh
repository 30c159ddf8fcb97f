#!/usr/bin/env bash
# Prints what of others is in the program, and under which licences: of the Go modules that are linked in, with the C that
# comes with them, of Go itself, and of the C library. The output is THIRD_PARTY.txt, which packages and images hold.
set -euo pipefail
cd "$(dirname "$0")/.."

rule() { printf '\n%s\n' '--------------------------------------------------------------------------------'; }

# kind FILE names the licence in a file.
kind() {
	if grep -q 'Apache License' "$1"; then
		echo Apache-2.0
	elif grep -q 'GNU LESSER GENERAL PUBLIC' "$1"; then
		echo LGPL-2.1-or-later
	elif grep -q 'Permission is hereby granted, free of charge' "$1"; then
		echo MIT
	elif grep -q 'for any purpose, without fee, and without a written agreement' "$1"; then
		echo PostgreSQL
	elif grep -qi 'Neither the name' "$1"; then
		echo BSD-3-Clause
	elif grep -q 'Redistribution and use in source and binary forms' "$1"; then
		echo BSD-2-Clause
	else
		echo "third-party: no licence known here in $1" >&2
		return 1
	fi
}

# head_of FILE prints the comment that a C file begins with.
head_of() { sed -n '1,/\*\//p' "$1"; }

names=()
files=()
add() { names+=("$1") && files+=("$2"); }

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

while read -r path version dir; do
	found=no
	for file in "$dir"/LICENSE* "$dir"/LICENCE* "$dir"/COPYING*; do
		if [[ -f $file ]]; then add "$path $version" "$file" && found=yes; fi
	done
	if [[ $found == no ]]; then
		echo "third-party: $path has no licence" >&2
		exit 1
	fi
	if [[ $path == github.com/pganalyze/pg_query_go/* ]]; then
		head_of "$dir/parser/protobuf-c.c" >"$scratch/protobuf-c"
		head_of "$dir/parser/xxhash.c" >"$scratch/xxhash"
		add "protobuf-c, in $path" "$scratch/protobuf-c"
		add "xxHash, in $path" "$scratch/xxhash"
	fi
done < <(GOOS=linux CGO_ENABLED=1 go list -deps -f '{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}' ./cmd/mbusproxy | sort -u)
add "Go, runtime and standard library" "$(go env GOROOT)/LICENSE"
add "GNU C Library, in binaries that are linked statically (*)" packaging/licenses/LGPL-2.1.txt

cat <<'TEXT'
mbusproxy is under the MIT licence: LICENSE. Its program holds works of others, whose licences follow.
This file is made by scripts/third-party.sh.

TEXT
for i in "${!names[@]}"; do printf '  %-18s %s\n' "$(kind "${files[i]}")" "${names[i]}"; done
cat <<'TEXT'

(*) The binaries of releases hold parts of Debian's glibc, whose source is the package glibc of the Debian release that they were built
    on. They can be linked again with another one: `make package` does it from the public source of this program.
TEXT
for i in "${!names[@]}"; do
	rule
	printf '%s\n\n' "${names[i]}"
	cat "${files[i]}"
	notice=$(dirname "${files[i]}")/NOTICE
	if [[ -f $notice ]]; then
		printf '\nNOTICE:\n\n'
		cat "$notice"
	fi
done
