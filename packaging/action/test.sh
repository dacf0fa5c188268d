#!/usr/bin/env bash
# Runs `clitape test`, or joins the reports of all shards, with each kind of report in one folder. It ends well whatever
# clitape says, so that later steps show it; the exit code is the output `code`.
set -euo pipefail

report=$RUNNER_TEMP/clitape-report/$NAME
rm -rf "$report"
mkdir -p "$report"
reports=(--junit "$report/report.xml" --markdown "$report/report.md" --html "$report/page" --github)

code=0
if [ "$MERGE" = true ]; then
    artefact=$NAME
    shopt -s nullglob
    shards=("$RUNNER_TEMP"/clitape-shards/*/report.json)
    if [ ${#shards[@]} -eq 0 ]; then
        echo "::error::no shard has left a report; their jobs need the same input name" >&2
        code=4
    else
        clitape report merge "${shards[@]}" --out "$report/report.json" "${reports[@]}" || code=$?
    fi
else
    artefact=$NAME
    # Words are separated by blanks, and no word is a pattern of file names.
    set -f
    # shellcheck disable=SC2206
    words=($ARGS)
    set +f
    if [ -n "$SHARD" ]; then
        artefact=$NAME-shard-${SHARD//\//-of-}
        words+=(--shard "$SHARD")
    fi
    clitape test "${words[@]}" --json "$report/report.json" "${reports[@]}" || code=$?
fi
{
    echo "code=$code"
    echo "report=$report"
    echo "artefact=$artefact"
} >>"$GITHUB_OUTPUT"
