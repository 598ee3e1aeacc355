#!/bin/sh
# fuzz.sh TIME: run every fuzz target of the repository for TIME each.
set -eu
time=${1:-60s}
grep -rlE '^func Fuzz' --include='*_test.go' proto services shim | while read -r file; do
	for target in $(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$file"); do
		echo "== $target in $(dirname "$file")"
		go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" "./$(dirname "$file")"
	done
done
