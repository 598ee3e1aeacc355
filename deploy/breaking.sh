#!/bin/sh
# breaking.sh: hold the contract against the one before. Against main when on another branch, else against the commit before.
set -eu
against=
if git rev-parse -q --verify origin/main >/dev/null && [ "$(git rev-parse origin/main)" != "$(git rev-parse HEAD)" ]; then
	against=origin/main
elif git rev-parse -q --verify main >/dev/null && [ "$(git rev-parse main)" != "$(git rev-parse HEAD)" ]; then
	against=main
elif git rev-parse -q --verify HEAD~1 >/dev/null; then
	against=HEAD~1
fi
if [ -z "$against" ] || ! git cat-file -e "$against:buf.yaml" 2>/dev/null; then
	echo "buf breaking: there is no earlier contract to hold this one against"
	exit 0
fi
.bin/buf breaking --against ".git#ref=$(git rev-parse "$against")"
