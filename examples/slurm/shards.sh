#!/bin/bash
# A run on N nodes: an array of jobs, each of which asks its part of every eval, and a job that puts the parts together.
#
#   shards.sh N [PYTEST OPTION…]
#   shards.sh 8 evals --ab-model=hf:/models/checkpoint
#
# What differs between clusters comes from the environment: AB_SHARD_SBATCH ("--gpus=1 --partition=a100") and
# AB_MERGE_SBATCH ("--partition=cpu") are options of sbatch, AB_JOBS is a folder that all nodes share, AB_LOCAL one on a
# node's own disk. A part that was lost is asked by `sbatch --array=I … shards.sh N …`, with AB_ARRAY the first array's
# job; then `AB_ARRAY=JOB AB_MERGE=yes sbatch shards.sh N …` merges again.
#SBATCH --job-name=audiobench-shard
#SBATCH --time=08:00:00
#SBATCH --signal=B:TERM@120
#SBATCH --requeue
#SBATCH --open-mode=append

jobs=${AB_JOBS:-$HOME/audiobench-jobs} count=$1
[[ $count =~ ^[1-9][0-9]*$ ]] || { echo "usage: shards.sh N [PYTEST OPTION…]" >&2; exit 2; }
shift
local=${AB_LOCAL:-${SLURM_TMPDIR:-${TMPDIR:-/tmp}}}/audiobench-$(id -u)-$SLURM_JOB_ID

if [ -z "$SLURM_JOB_ID" ]; then # on the login node
    here=$(cd "$(dirname "$0")" && pwd) && mkdir -p "$jobs" || exit
    submit() { sbatch --parsable --output="$jobs/$1.log" "${@:2}" | cut -d';' -f1; }
    # shellcheck disable=SC2086 # options of sbatch are words
    array=$(submit %A_%a --array="1-$count" ${AB_SHARD_SBATCH---gpus=1} "$here/shards.sh" "$count" "$@") || exit
    # shellcheck disable=SC2086
    merge=$(AB_ARRAY=$array AB_MERGE=yes submit %j --job-name=audiobench-merge --dependency="afterany:$array" \
        ${AB_MERGE_SBATCH-} "$here/shards.sh" "$count" "$@") || exit
    echo "$count shards: job $array, logs $jobs/${array}_*.log"
    echo "merge: job $merge, run reports/merged-$merge, log $jobs/$merge.log"
    echo "cancel: scancel $array $merge"
    exit
fi

parts=$jobs/shards-${AB_ARRAY:-$SLURM_ARRAY_JOB_ID}
mkdir -p "$local" "$parts" && trap 'rm -rf "$local"' EXIT || exit
if [ -n "$AB_MERGE" ]; then
    audiobench merge "$parts" --run "merged-$SLURM_JOB_ID" --store "$local/merged.sqlite" --pytest "$(printf '%q ' "$@")"
    exit
fi

part=$parts/$SLURM_ARRAY_TASK_ID.sqlite store=$local/store.sqlite stopped=''
# What it had been answered on another node, before it was requeued.
[ ! -e "$part" ] || cp "$part" "$store" || exit
keep() {
    # Stopped before pytest made it: an empty one would be no store, and the merge would refuse it.
    [ -s "$store" ] || return 0
    python3 -c 'import sqlite3, sys; sqlite3.connect(sys.argv[1]).backup(sqlite3.connect(sys.argv[2]))' "$store" "$store.copy" &&
        cp "$store.copy" "$part.new" && mv "$part.new" "$part"
}
# A process that bash starts beside itself would ignore SIGINT, by which pytest ends with a report of what it has.
set -m
trap 'stopped=yes; kill -INT "$pytest"' TERM INT
pytest "$@" --ab-shard="$SLURM_ARRAY_TASK_ID/$count" --ab-store="$store" \
    --ab-run="shard-${AB_ARRAY:-$SLURM_ARRAY_JOB_ID}-$SLURM_ARRAY_TASK_ID${SLURM_RESTART_COUNT:+-$SLURM_RESTART_COUNT}" &
pytest=$!
# A node may be lost: what was answered so far lies where others are.
while sleep "${AB_KEEP_S:-600}"; do keep; done &
keeper=$!
wait "$pytest" || wait "$pytest"
code=$?
kill -- "-$keeper" 2>/dev/null
keep || code=1
[ -z "$stopped" ] || echo "shard $SLURM_ARRAY_TASK_ID was stopped$([ ! -e "$part" ] || echo ": what it was answered is kept")"
exit $code
