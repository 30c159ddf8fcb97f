#!/usr/bin/env bash
# Installs what is missing for one purpose, and nothing else: scripts/setup.sh demo|test|bench|steady|package
# Needs Debian or Ubuntu for installing; elsewhere it says what is missing.
set -euo pipefail
cd "$(dirname "$0")/.."

purpose=${1:-test}
packages=()

have() { command -v "$1" >/dev/null 2>&1; }

# need PACKAGE TEST... adds the package unless the test succeeds.
need() {
	local package=$1
	shift
	"$@" >/dev/null 2>&1 || packages+=("$package")
}

have_postgres() {
	local server
	for server in "${MBUS_PG_BINDIR:-/nowhere}/postgres" "$(command -v postgres || true)" \
		/usr/lib/postgresql/*/bin/postgres /usr/pgsql-*/bin/postgres \
		/opt/homebrew/opt/postgresql*/bin/postgres /usr/local/opt/postgresql*/bin/postgres; do
		if [[ -x $server ]]; then return 0; fi
	done
	return 1
}

have_compiler() { have "$(go env CC)" && [[ -e /usr/include/stdio.h || $(uname) == Darwin ]]; }

if ! have go && [[ -x /usr/local/go/bin/go ]]; then
	PATH=$PATH:/usr/local/go/bin
fi
wanted=$(sed -n 's/^go \([0-9.]*\)$/\1/p' go.mod)
if ! have go; then
	echo "setup: Go $wanted or newer is missing (Debian's golang packages are older): see https://go.dev/doc/install" >&2
	exit 1
fi
# A Go from 1.21 on fetches the version that go.mod asks for by itself.
if ! version=$(go version 2>&1); then
	echo "setup: Go $wanted or newer is needed, this one cannot read go.mod: $version" >&2
	exit 1
fi

need postgresql have_postgres
need postgresql-client have psql
if ! have_compiler; then packages+=(gcc libc6-dev); fi

if [[ $purpose == test ]]; then
	# Debian's modules belong to Debian's own python3, not to one that comes first in PATH.
	need python3-psycopg2 /usr/bin/python3 -c 'import psycopg2'
	need python3-psycopg /usr/bin/python3 -c 'import psycopg'
	need libpostgresql-jdbc-java test -e /usr/share/java/postgresql.jar
	need default-jdk-headless have javac
	need php-cli have php
	need php-pgsql php -r "exit(extension_loaded('pdo_pgsql') ? 0 : 1);"
	need nodejs have node
	need npm have npm
	need faketime test -e "$(ls /usr/lib/*/faketime/libfaketime.so.1 2>/dev/null | head -n 1)"
	need haproxy test -x "$(command -v haproxy || echo /usr/sbin/haproxy)"
	need prometheus have promtool
	need chromium have chromium
fi
if [[ $purpose == test || $purpose == bench ]]; then
	need pgbouncer test -x "$(command -v pgbouncer || echo /usr/sbin/pgbouncer)"
fi

if [[ $purpose == steady ]]; then
	need postgresql-15-pgq3 test -e /usr/share/postgresql/15/extension/pgq.control
fi

if [[ $purpose == package ]]; then
	need mmdebstrap have mmdebstrap
	need systemd have systemd-analyze
	need systemd-container have systemd-nspawn
	need buildah have buildah
	need rpm have rpm
fi

as_root() {
	if [[ $(id -u) == 0 ]]; then
		"$@"
	else
		sudo "$@"
	fi
}

policy=/usr/sbin/policy-rc.d

# install_packages installs without starting the packages' own services: nothing here uses them,
# and pgbouncer's would take the port 6432.
install_packages() {
	local ours=no
	if [[ ! -e $policy ]]; then
		printf '#!/bin/sh\nexit 101\n' | as_root tee "$policy" >/dev/null
		as_root chmod 755 "$policy"
		ours=yes
	fi
	local status=0 log
	log=$(mktemp)
	{
		as_root apt-get update -qq || true # a stale list may still do
		as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" </dev/null || status=$?
	} >"$log" 2>&1
	if [[ $ours == yes ]]; then as_root rm -f "$policy"; fi
	if ((status != 0)); then
		tail -n 20 "$log"
		echo "setup: apt-get could not install $*"
	fi
	rm -f "$log"
	return "$status"
}

if ((${#packages[@]} > 0)); then
	if ! have apt-get; then
		echo "setup: missing here (names of Debian's packages): ${packages[*]}" >&2
		exit 1
	fi
	if [[ $(id -u) != 0 ]] && ! have sudo; then
		echo "setup: missing, and installing needs root: apt-get install ${packages[*]}" >&2
		exit 1
	fi
	echo "setup: installing ${packages[*]} (this may take some minutes)" >&2
	install_packages "${packages[@]}" >&2
fi

# npm_ci installs what a folder's package-lock.json names, unless that was done.
npm_ci() {
	if [[ -e $1/package-lock.json ]] && ! cmp -s "$1/package-lock.json" "$1/node_modules/.mbus-lock"; then
		echo "setup: npm ci in $1" >&2
		(cd "$1" && npm ci --no-audit --no-fund --loglevel=error >&2 && cp package-lock.json node_modules/.mbus-lock)
	fi
}

if [[ $purpose == test ]]; then
	npm_ci integration/clients/node
	npm_ci integration/web/node
fi
