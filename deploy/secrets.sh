#!/bin/sh
# secrets.sh: make the secrets of the compose deployment that are missing. Containers run under another user and read the files through
# bind mounts, so the files are readable and the directory is closed.
set -eu
dir=$(dirname "$0")/secrets
umask 077
mkdir -p "$dir"
chmod 700 "$dir"

random() { od -An -N "$1" -tx1 /dev/urandom | tr -d ' \n'; }
put() { # NAME VALUE
	if [ ! -s "$dir/$1" ]; then
		printf '%s\n' "$2" >"$dir/$1"
		echo "made deploy/secrets/$1"
	fi
	chmod 644 "$dir/$1"
}

put postgres_password "$(random 24)"
put redis_password "$(random 24)"
put service_token "kk_$(random 32)"
put admin_token "kk_$(random 32)"
put postgres_url "postgres://kiroku:$(cat "$dir/postgres_password")@postgres:5432/kiroku?sslmode=disable"
put redis_url "redis://:$(cat "$dir/redis_password")@redis:6379/0"
