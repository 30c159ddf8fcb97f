#!/usr/bin/env bash
# Prints the version of these sources: that of cmd/mbusproxy/VERSION, with the commit behind it unless the sources are that release.
set -euo pipefail
cd "$(dirname "$0")/.."

release=$(<cmd/mbusproxy/VERSION)
commit=$(git describe --always --dirty=.dirty --exclude='*' 2>/dev/null || true)
if [[ -z $commit || $(git describe --tags --exact-match --dirty 2>/dev/null || true) == "v$release" ]]; then
	echo "$release"
else
	echo "$release+$(git rev-list --count HEAD).g$commit" # the count makes a later one newer for apt
fi
