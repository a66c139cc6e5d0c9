#!/bin/bash
# The whole way of a model on this machine, without network, data or GPU: starts the dummy launcher, checks that it keeps
# the contract, asks it the smoke suite with five samples each, and writes BEANS-Next's three JSONL files of the answers.
#
#   examples/smoke.sh [FOLDER]        (default results/smoke-DATE; it must be new or empty)
#
# Ends with another exit code than 0 when anything fails. URL=http://HOST:PORT asks a launcher that runs already.
set -euo pipefail
folder=${1:-results/smoke-$(date +%Y%m%d-%H%M%S)}
case $folder in /*) ;; *) folder=$PWD/$folder ;; esac
cd "$(dirname "$0")/.."
if [ -e "$folder" ] && [ -n "$(ls -A "$folder")" ]; then
    echo "$folder already exists and is not empty: name a new folder" >&2
    exit 2
fi
mkdir -p "$folder"
server='' url=${URL:-}
trap '[ -z "$server" ] || { kill "$server" && wait "$server" || true; }' EXIT

if [ -z "$url" ]; then
    : >"$folder/server.log"
    python3 examples/servers/dummy/serve.py --port 0 >>"$folder/server.log" 2>&1 &
    server=$!
    until url=$(sed -n 's/^serving .* at \(http.*\)$/\1/p' "$folder/server.log") && [ -n "$url" ]; do
        kill -0 "$server" 2>/dev/null || { echo "the dummy server did not start:"; cat "$folder/server.log"; exit 1; } >&2
        sleep 0.1
    done
fi
echo "1. contract of $url"
audiobench check-server "$url"
echo "2. smoke suite, five samples each (a dummy knows no animal: its evals fail, which is no failure here)"
# Exit code 1 is that of wrong answers; whether all were asked shows in the files.
pytest evals/test_beans_smoke.py -q -p no:cacheprovider --ab-limit=5 "--ab-model=dummy=http:$url" \
    --ab-store="$folder/store.sqlite" --ab-reports="$folder" --ab-run=run >"$folder/pytest.log" || code=$?
sed -n '/^=* audiobench =*$/,/^report:/p' "$folder/pytest.log"
[ "${code:-0}" -le 1 ] || { cat "$folder/pytest.log"; exit "$code"; }
rows_wanted=15
python3 -c 'import pycocoevalcap' 2>/dev/null || { rows_wanted=10; echo "captions need 'pytest-audiobench[captions]': left out"; }
echo "3. files"
audiobench score "$folder/run" --format beans-next --out "$folder/files"
for name in predictions processed_predictions scored_predictions; do
    rows=$(find "$folder/files" -name "$name.jsonl" -exec cat {} + | grep -c '"error":null' || true)
    echo "$name.jsonl: $rows rows"
    [ "$rows" -eq "$rows_wanted" ] || { echo "five samples of each task have $rows_wanted rows: see $folder" >&2; exit 1; }
done
