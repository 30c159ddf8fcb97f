#!/usr/bin/env bash
# Makes packages in dist/: scripts/package.sh [amd64|arm64 ...] (default: of this machine)
# The binary is linked statically, so that one package does for every distribution. For the other architecture
# Debian's cross compiler is needed: gcc-aarch64-linux-gnu and libc6-dev-arm64-cross.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! command -v go >/dev/null 2>&1; then PATH=$PATH:/usr/local/go/bin; fi
nfpm_version=v2.45.2
nfpm=$PWD/.cache/bin/nfpm-$nfpm_version
version=${VERSION:-$(scripts/version.sh)}
dist=${DIST:-dist}
flags=(-trimpath -tags 'netgo,osusergo' -buildvcs=false)

if [[ ! -x $nfpm ]]; then
	echo "package: installing nfpm $nfpm_version into .cache/bin (a minute, once)" >&2
	mkdir -p .cache/bin
	GOBIN=$PWD/.cache/bin GOFLAGS='' go install "github.com/goreleaser/nfpm/v2/cmd/nfpm@$nfpm_version"
	mv .cache/bin/nfpm "$nfpm"
fi

# compiler ARCH names the C compiler for an architecture.
compiler() {
	if [[ $1 == "$(go env GOHOSTARCH)" ]]; then
		echo "${CC:-gcc}"
	else
		case $1 in
		amd64) echo x86_64-linux-gnu-gcc ;;
		arm64) echo aarch64-linux-gnu-gcc ;;
		*)
			echo "package: no compiler known for $1" >&2
			return 1
			;;
		esac
	fi
}

# The time of the commit, so that the same commit gives the same package.
if ! SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null); then SOURCE_DATE_EPOCH=$(date +%s); fi
export SOURCE_DATE_EPOCH VERSION=$version

if (($# == 0)); then set -- "$(go env GOHOSTARCH)"; fi
mkdir -p "$dist"
for arch in "$@"; do
	export ARCH=$arch BINARY=$dist/mbusproxy-linux-$arch
	if [[ -z ${KEEP_BINARY:-} || ! -x $BINARY ]]; then
		CC=$(compiler "$arch") GOOS=linux GOARCH=$arch CGO_ENABLED=1 go build "${flags[@]}" \
			-ldflags "-s -w -X main.version=$version -linkmode external -extldflags -static" -o "$BINARY" ./cmd/mbusproxy
	fi
	for kind in deb rpm; do
		"$nfpm" package --config packaging/nfpm.yaml --packager "$kind" --target "$dist"
	done
done
