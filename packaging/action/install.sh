#!/usr/bin/env bash
# Installs the release at FROM into FOLDER, unless the cache has brought it, and puts it on the PATH of later steps. The
# installer compares the download with SHA256SUMS of the release; then the program must be of the version that was asked
# for.
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
is_right() { [ "$("$FOLDER/clitape" --version 2>/dev/null || true)" = "clitape $VERSION" ]; }

if ! is_right; then
    sh "$root/packaging/install.sh" --version "$VERSION" --from "$FROM" --to "$FOLDER"
    if ! is_right; then
        echo "::error::$FROM has another version than $VERSION" >&2
        rm -f "$FOLDER/clitape"
        exit 1
    fi
fi
echo "$FOLDER" >>"$GITHUB_PATH"
