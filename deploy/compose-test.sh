#!/usr/bin/env bash
# compose-test.sh: bring the compose deployment up under a name, ports and secrets of its own, so that one which is running is not
# touched; check how its containers run, play the demo against it, look for what was private in its database, and take it down.
# Needs a container engine with the compose plugin, and what `make build` makes.
set -euo pipefail
cd "$(dirname "$0")/.."
export KIROKU_VERSION=compose-test

project=kiroku-test
work=$(mktemp -d)
fail() { echo "compose-test: $*" >&2; exit 1; }
step() { printf '=== %s (%ds)\n' "$1" "$SECONDS"; }

docker info >/dev/null 2>&1 || fail "no container engine answers: start Docker and try again"
docker compose version >/dev/null 2>&1 || fail "the compose plugin of docker is missing: install docker-compose-plugin"
for program in kiroku kiroku-hook; do [[ -x .build/$program ]] || fail ".build/$program is missing: run \`make build\`"; done

# The same file, but with secrets of this test: those of a real deployment stay with it.
mkdir -p "$work/deploy"
cp deploy/secrets.sh "$work/deploy/"
"$work/deploy/secrets.sh" >/dev/null
sed "s|deploy/secrets/|$work/deploy/secrets/|" docker-compose.yml >"$work/docker-compose.yml"
compose() { docker compose -p "$project" --project-directory . -f "$work/docker-compose.yml" "$@"; }

finish() {
  status=$?
  trap - EXIT
  if ((status != 0)); then
    compose ps --all || true
    compose logs --no-color --tail 40 || true
  fi
  step "taking it down"
  compose down --volumes --timeout 20 --remove-orphans >"$work/down.log" 2>&1 || { cat "$work/down.log" >&2; status=1; }
  docker image rm "kiroku:$KIROKU_VERSION" >/dev/null 2>&1 || true # absent when the build failed
  rm -rf "$work"
  exit "$status"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

free_port() { # a port on which nobody listens now
  local port
  while port=$((20000 + RANDOM % 12000)); do
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { echo "$port"; return; }
  done
}
KIROKU_INGEST_PORT=$(free_port) KIROKU_BUFFER_PORT=$(free_port) KIROKU_EXTRACTION_PORT=$(free_port) KIROKU_RETRIEVAL_PORT=$(free_port)
export KIROKU_INGEST_PORT KIROKU_BUFFER_PORT KIROKU_EXTRACTION_PORT KIROKU_RETRIEVAL_PORT

step "building and starting"
compose down --volumes --remove-orphans >/dev/null 2>&1 || true # what an interrupted run left
# One build for the image that all services share: side by side they would build it five times.
compose build ingest
compose up --detach --no-build --wait --wait-timeout 180

step "how the containers run"
check() { # SERVICE, PORT in the container, PORT on this machine
  local id uid user readonly_root capabilities privileges
  id=$(compose ps --quiet "$1")
  read -r user readonly_root capabilities privileges < <(docker inspect --format \
    '{{.Config.User}} {{.HostConfig.ReadonlyRootfs}} {{.HostConfig.CapDrop}} {{.HostConfig.SecurityOpt}}' "$id")
  uid=$(docker top "$id" -eo pid,uid,comm | awk '/kiroku-server/ {print $2}')
  [[ -n $uid && $uid != 0 ]] || fail "$1 runs as root (uid '$uid', user '$user')"
  [[ $readonly_root == true ]] || fail "$1 can write to its file system"
  [[ $capabilities == *ALL* ]] || fail "$1 keeps capabilities: $capabilities"
  [[ $privileges == *no-new-privileges* ]] || fail "$1 may gain privileges: $privileges"
  [[ $(compose port "$1" "$2") == "127.0.0.1:$3" ]] || fail "$1 is published elsewhere than on loopback"
  echo "$1: uid $uid, read-only, no capabilities, on 127.0.0.1:$3"
}
check ingest 7601 "$KIROKU_INGEST_PORT"
check buffer 7602 "$KIROKU_BUFFER_PORT"
check extraction 7603 "$KIROKU_EXTRACTION_PORT"
check retrieval 7604 "$KIROKU_RETRIEVAL_PORT"

step "demo"
go run ./services/e2e/demo -bin .build -ingest "127.0.0.1:$KIROKU_INGEST_PORT" -retrieval "127.0.0.1:$KIROKU_RETRIEVAL_PORT" \
  -extraction "127.0.0.1:$KIROKU_EXTRACTION_PORT" -token-file "$work/deploy/secrets/admin_token"

step "what was private is not in the database"
compose exec -T postgres pg_dump -U kiroku -d kiroku >"$work/dump.sql"
go run ./services/e2e/demo -list-private >"$work/private"
hex() { od -An -v -tx1 | tr -d ' \n'; }
# Events are stored as bytes, which the dump writes in hexadecimal.
for control in TestCheckoutTotal "$(printf TestCheckoutTotal | hex)"; do
  grep -q "$control" "$work/dump.sql" || fail "the dump holds nothing of the demo: the search proves nothing"
done
while read -r word; do
  for form in "$word" "$(printf %s "$word" | hex)"; do
    if grep -qF "$form" "$work/dump.sql"; then fail "the database holds what was private: $word"; fi
  done
done <"$work/private"

step "the compose deployment works"
