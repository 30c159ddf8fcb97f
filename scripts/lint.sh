#!/usr/bin/env bash
# Runs golangci-lint: scripts/lint.sh run|fmt [ARGS]. It is installed on demand, in the version
# pinned here, and never enters go.mod.
set -euo pipefail
cd "$(dirname "$0")/.."

version=v2.15.0
bin=$PWD/.cache/bin/golangci-lint-$version

if [[ ! -x $bin ]]; then
	installed=$(command -v golangci-lint || true)
	if [[ -z $installed && -x $(go env GOPATH)/bin/golangci-lint ]]; then
		installed=$(go env GOPATH)/bin/golangci-lint
	fi
	if [[ -n $installed ]] && "$installed" version 2>/dev/null | grep -q "version ${version#v} "; then
		bin=$installed
	else
		echo "lint: installing golangci-lint $version into .cache/bin (some minutes, once)" >&2
		mkdir -p .cache/bin
		GOBIN=$PWD/.cache/bin GOFLAGS='' go install "github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$version"
		mv .cache/bin/golangci-lint "$bin"
	fi
fi
exec "$bin" "$@"
