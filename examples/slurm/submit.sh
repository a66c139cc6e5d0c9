#!/bin/bash
# Submits a serving job and a client job for each model, and with several models a last job that compares their runs.
#
#   submit.sh NAME=LAUNCHER [OPTION…] [NAME=LAUNCHER [OPTION…]…] -- [PYTEST OPTION…]
#   submit.sh af3=examples/servers/af3 -- evals -k beans_zero_smoke --ab-limit=5
#
# What differs between clusters comes from the environment: AB_SERVE_SBATCH ("--gpus=1 --partition=a100") and
# AB_CLIENT_SBATCH ("--partition=cpu --cpus-per-task=8") are options of sbatch, AB_JOBS a folder that all nodes share.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
export AB_JOBS=${AB_JOBS:-$HOME/audiobench-jobs}
mkdir -p "$AB_JOBS"

submit() { sbatch --parsable --output="$AB_JOBS/%j.log" "$@" | cut -d';' -f1; }
words=() name='' runs=() clients='' jobs=()
serve() {
    [ -n "$name" ] || return 0
    # shellcheck disable=SC2086 # options of sbatch are words
    jobs+=("$name=$(submit ${AB_SERVE_SBATCH---gpus=1} "$here/serve.sh" "${words[@]}")")
}
while [ $# -gt 0 ] && [ "$1" != -- ]; do
    if [[ $1 =~ ^[A-Za-z0-9][A-Za-z0-9_.+-]*= ]]; then
        serve
        name=${1%%=*} words=("${1#*=}")
    else
        words+=("$1")
    fi
    shift
done
serve
if [ ${#jobs[@]} -eq 0 ] || [ $# -eq 0 ]; then sed -n '4,5s/^# *//p' "$0" >&2; exit 2; fi
shift
for pair in "${jobs[@]}"; do
    # shellcheck disable=SC2086
    client=$(submit ${AB_CLIENT_SBATCH-} --dependency="after:${pair#*=}" "$here/client.sh" "$pair" -- "$@")
    runs+=("reports/${pair%%=*}-$client") clients+=:$client
    echo "${pair%%=*}: serving job ${pair#*=}, client job $client, run ${runs[-1]}, logs $AB_JOBS/${pair#*=}.log and $client.log"
done
if [ ${#runs[@]} -gt 1 ]; then
    # shellcheck disable=SC2086
    echo "comparison: job $(submit ${AB_CLIENT_SBATCH-} --job-name=audiobench-compare --dependency="afterany$clients" \
        --wrap="audiobench compare$(printf ' %q' "${runs[@]}")")"
fi
echo "cancel: scancel ${jobs[*]#*=}${clients//:/ }"
