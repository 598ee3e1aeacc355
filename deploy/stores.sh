#!/bin/sh
# stores.sh [test]: see that Postgres >= 15 and Redis >= 7.0 (or Valkey) are there for the private servers that Kiroku starts, and for tests a C
# compiler, which the race detector needs. What is missing is installed where a package manager is at hand and allowed; otherwise one line says
# how to get it. No system service is started.
set -eu
have_compiler=yes
if [ "${1:-}" = test ] && ! command -v gcc >/dev/null 2>&1 && ! command -v cc >/dev/null 2>&1; then have_compiler=no; fi

if [ -n "${KIROKU_POSTGRES_URL:-}${KIROKU_TEST_POSTGRES_URL:-}" ]; then have_postgres=yes; else have_postgres=no; fi
if [ -n "${KIROKU_REDIS_URL:-}${KIROKU_TEST_REDIS_URL:-}" ]; then have_redis=yes; else have_redis=no; fi

for dir in /usr/lib/postgresql/*/bin /opt/homebrew/opt/postgresql@*/bin /usr/local/opt/postgresql@*/bin /usr/pgsql-*/bin; do
	if [ -x "$dir/initdb" ] && [ -x "$dir/postgres" ]; then have_postgres=yes; fi
done
if command -v initdb >/dev/null 2>&1 && command -v postgres >/dev/null 2>&1; then have_postgres=yes; fi
if command -v redis-server >/dev/null 2>&1 || command -v valkey-server >/dev/null 2>&1; then have_redis=yes; fi

if [ "$have_postgres$have_redis$have_compiler" = yesyesyes ]; then exit 0; fi

apt_packages=
brew_packages=
if [ "$have_postgres" = no ]; then apt_packages=postgresql brew_packages=postgresql@17; fi
if [ "$have_redis" = no ]; then apt_packages="$apt_packages redis-server" brew_packages="$brew_packages redis"; fi
if [ "$have_compiler" = no ]; then apt_packages="$apt_packages gcc libc6-dev" brew_packages="$brew_packages gcc"; fi

if command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then
	echo "installing$(echo " $apt_packages" | tr -s ' ')"
	# The packages must bring programs, not servers on the default ports.
	policy=/usr/sbin/policy-rc.d
	made_policy=no
	if [ ! -e "$policy" ]; then
		printf '#!/bin/sh\nexit 101\n' >"$policy"
		chmod 755 "$policy"
		made_policy=yes
	fi
	mkdir -p /etc/postgresql-common
	if [ ! -e /etc/postgresql-common/createcluster.conf ]; then
		echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.conf
	fi
	status=0
	# shellcheck disable=SC2086 # a list of packages
	{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $apt_packages >/dev/null; } || status=$?
	if [ "$made_policy" = yes ]; then rm -f "$policy"; fi
	if [ "$status" != 0 ]; then
		echo "could not install: run \`apt-get install$(echo " $apt_packages" | tr -s ' ')\` and try again" >&2
		exit 1
	fi
elif command -v brew >/dev/null 2>&1; then
	# shellcheck disable=SC2086 # a list of packages
	brew install --quiet $brew_packages
elif command -v apt-get >/dev/null 2>&1; then
	echo "missing: run \`sudo apt-get install$(echo " $apt_packages" | tr -s ' ')\` and try again" >&2
	exit 1
elif command -v dnf >/dev/null 2>&1; then
	echo "missing: run \`sudo dnf install postgresql-server redis gcc\` (what of it is absent) and try again" >&2
	exit 1
else
	echo "missing: install PostgreSQL 15 or newer, Redis 7.0 or newer (or Valkey) and for tests a C compiler, or set KIROKU_POSTGRES_URL and KIROKU_REDIS_URL" >&2
	exit 1
fi
