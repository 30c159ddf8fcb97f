#!/usr/bin/env bash
# Builds the container image with buildah, podman or docker, whichever is there and works: scripts/image.sh [amd64|arm64]
# Nothing is pulled. IMAGE is its name (default: mbusproxy:<version>), KEEP_BINARY=1 takes the binary that is in dist/.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! command -v go >/dev/null 2>&1; then PATH=$PATH:/usr/local/go/bin; fi
arch=${1:-$(go env GOHOSTARCH)}
dist=${DIST:-dist}
version=${VERSION:-$(scripts/version.sh)}
image=${IMAGE:-mbusproxy:${version//+/-}}

certificates=/etc/ssl/certs/ca-certificates.crt
if [[ ! -s $certificates ]]; then
	echo "image: $certificates is missing: apt-get install ca-certificates" >&2
	exit 1
fi
DIST=$dist scripts/package.sh "$arch"
rm -rf "$dist/image"
mkdir -p "$dist/image"
cp packaging/Containerfile LICENSE THIRD_PARTY.txt "$certificates" "$dist/image/"
cp "$dist/mbusproxy-linux-$arch" "$dist/image/mbusproxy"
echo 'mbusproxy:x:65532:65532::/:/nonexistent' >"$dist/image/passwd"
echo 'mbusproxy:x:65532:' >"$dist/image/group"
chmod 644 "$dist"/image/*
chmod 755 "$dist/image/mbusproxy"

# Of OCI's format the health check is no part.
if command -v buildah >/dev/null; then
	build=(buildah bud --isolation "${BUILDAH_ISOLATION:-chroot}" --format docker --platform "linux/$arch")
elif command -v podman >/dev/null; then
	build=(podman build --format docker --platform "linux/$arch")
else
	build=(docker build --platform "linux/$arch")
fi
"${build[@]}" --label "org.opencontainers.image.version=$version" --label org.opencontainers.image.licenses=MIT \
	-t "$image" -f "$dist/image/Containerfile" "$dist/image"
echo "$image"
