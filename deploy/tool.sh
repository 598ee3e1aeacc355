#!/bin/sh
# tool.sh NAME PACKAGE VERSION: put a pinned tool into .bin. A copy that was built before is kept under the user's cache.
set -eu
name=$1 package=$2 version=$3
cache=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/kiroku-tools/$version-$(go env GOVERSION)
mkdir -p .bin
if [ ! -x "$cache/$name" ]; then
	echo "building $name $version"
	mkdir -p "$cache"
	GOWORK=off GOBIN="$cache" CGO_ENABLED=0 go install -ldflags "-s -w" "$package@$version"
fi
cp "$cache/$name" ".bin/$name"
