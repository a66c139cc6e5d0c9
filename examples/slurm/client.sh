#!/bin/bash
# A client job: waits for serving jobs' addresses, runs the evals, and tells the serving jobs that they may end.
#
#   sbatch --dependency=after:JOB --output="$AB_JOBS/%j.log" client.sh NAME=JOB [NAME=JOB…] -- [PYTEST OPTION…]
#
# It starts in the folder from which it was submitted, with the environment of then. Submitted, requeued or preempted and
# started again, it asks only what the store does not answer. AB_KEEP=1 leaves the serving jobs to other clients.
#SBATCH --job-name=audiobench-client
#SBATCH --time=08:00:00
#SBATCH --signal=B:TERM@120
#SBATCH --requeue
#SBATCH --open-mode=append

jobs=${AB_JOBS:-$HOME/audiobench-jobs} pytest='' stopped='' models=() serving=() names=''
while [ $# -gt 0 ] && [ "$1" != -- ]; do
    name=${1%%=*} job=${1#*=}
    serving+=("$job") names+=$name-
    # A file's name in quotes of its own, as a spec wants one that may hold a comma.
    file=$jobs/$job.url
    models+=("--ab-model=$name=http:$name,url_file=\"${file//\"/\"\"}\",wait_s=${AB_WAIT_S:-3600},token_env=SERVER_TOKEN")
    shift
done
[ ${#serving[@]} -gt 0 ] && shift || { echo "usage: sbatch client.sh NAME=JOB… -- [PYTEST OPTION…]" >&2; exit 2; }

# The token of the user's jobs, made by whichever of them comes first: see serve.sh.
mkdir -p "$jobs" || exit
new=$(mktemp "$jobs/token.XXXXXX") && head -c 24 /dev/urandom | base64 >"$new" || exit
ln "$new" "$jobs/token" 2>/dev/null
rm -f "$new"
export SERVER_TOKEN_FILE=$jobs/token
# A process that bash starts beside itself would ignore SIGINT, by which pytest ends with a report of what it has.
set -m
trap 'stopped=yes; [ -z "$pytest" ] || kill -INT "$pytest"' TERM INT
pytest "${models[@]}" --ab-store="${AB_STORE:-.audiobench/${names%-}.sqlite}" \
    --ab-run="${AB_RUN:-$names$SLURM_JOB_ID}" "$@" &
pytest=$!
wait "$pytest" || wait "$pytest"
code=$?
[ -n "$stopped$AB_KEEP" ] || for job in "${serving[@]}"; do : >"$jobs/$job.stop"; done
exit $code
