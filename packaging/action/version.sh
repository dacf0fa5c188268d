#!/usr/bin/env bash
# Says which release the action installs, from where, and into which folder, as outputs of its step.
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
version=${VERSION#v}
if [ -z "$version" ]; then
    version=$("$root/packaging/version")
fi
# The version becomes a part of an address and of a path.
if ! [[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.]+)?$ ]]; then
    echo "::error::the input version is \`${version//$'\n'/ }\`; write one such as 0.1.0" >&2
    exit 2
fi
from=$FROM
if [ -z "$from" ]; then
    if [ -z "$REPOSITORY" ]; then
        echo "::error::the action runs from a folder of your own; give it the input from, a folder with a release" >&2
        exit 2
    fi
    from=$GITHUB_SERVER_URL/$REPOSITORY/releases/download/v$version
fi
{
    echo "version=$version"
    echo "from=${from//$'\n'/}"
    echo "folder=$RUNNER_TEMP/clitape-$version"
} >>"$GITHUB_OUTPUT"
