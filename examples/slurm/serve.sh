#!/bin/bash
# A serving job: starts a launcher on its node and writes the address to $AB_JOBS/JOB.url once it is healthy.
#
#   sbatch --gpus=1 --output="$AB_JOBS/%j.log" serve.sh LAUNCHER [OPTION…]
#
# LAUNCHER is a folder with a serve.py (run by its .venv, else by python3), or a command, in whose words {port} and
# {host} are filled in. The job ends with exit code 0 when $AB_JOBS/JOB.stop appears, and at SIGTERM.
#SBATCH --job-name=audiobench-serve
#SBATCH --time=08:00:00
#SBATCH --signal=B:TERM@120
#SBATCH --requeue
#SBATCH --open-mode=append

jobs=${AB_JOBS:-$HOME/audiobench-jobs} job=$SLURM_JOB_ID launcher=$1
[ -n "$launcher" ] && [ -n "$job" ] || { echo "usage: sbatch serve.sh LAUNCHER [OPTION…]" >&2; exit 2; }
shift
url=$jobs/$job.url server='' stopped='' python=python3
host=${AB_HOST:-${SLURMD_NODENAME:-$(hostname)}}
mkdir -p "$jobs" && rm -f "$url" "$jobs/$job.stop" || exit

publish() { printf '%s\n' "$1" >"$url.part" && mv "$url.part" "$url"; }
alive() { kill -0 "$server" 2>/dev/null; }
end() {
    if [ -n "$server" ] && alive; then kill -TERM "$server"; wait "$server"; fi
    rm -f "$jobs/$job.stop"
}
# While the script waits, bash runs a trap at once; a server that is to end gets the signal from end().
trap 'stopped=yes' TERM INT
trap end EXIT

# The Hub's own library knows its login and HF_TOKEN; a token in this file it is told of, unless others can read it.
file=${XDG_CONFIG_HOME:-$HOME/.config}/huggingface/hf_token
if [ -z "$HF_TOKEN$HF_TOKEN_PATH" ] && [ -e "$file" ] && [ ! -e "${HF_HOME:-$HOME/.cache/huggingface}/token" ]; then
    if [ ! -O "$file" ] || [ -n "$(find "$file" -perm /077)" ]; then
        publish "failed: the key file $file is not yours alone; make it so: chmod 600 $file"
        exit 2
    fi
    export HF_TOKEN_PATH=$file
fi

if [ -d "$launcher" ]; then
    [ ! -x "$launcher/.venv/bin/python" ] || python=$launcher/.venv/bin/python
    set -- "$python" "$launcher/serve.py" --host "{host}" --port "{port}" "$@"
else
    set -- "$launcher" "$@"
fi
port=$("$python" -c 'import socket; s = socket.socket(); s.bind(("", 0)); print(s.getsockname()[1])') || exit
for word; do
    word=${word//'{port}'/$port}
    shift
    set -- "$@" "${word//'{host}'/0.0.0.0}"
done
# Whoever is on the network can reach the port: the user's jobs share a token that lies where they alone can read it.
new=$(mktemp "$jobs/token.XXXXXX") && head -c 24 /dev/urandom | base64 >"$new" || exit
ln "$new" "$jobs/token" 2>/dev/null
rm -f "$new"
SERVER_TOKEN=$(cat "$jobs/token") || exit
export SERVER_TOKEN AUDIOBENCH_SERVE_TOKEN=$SERVER_TOKEN

"$@" &
server=$!
healthy="import urllib.request as u; u.build_opener(u.ProxyHandler({})).open('http://127.0.0.1:$port/health', timeout=5)"
while alive && [ -z "$stopped" ] && [ ! -e "$jobs/$job.stop" ]; do
    if [ ! -e "$url" ] && "$python" -c "$healthy" 2>/dev/null && alive; then
        publish "http://$host:$port"
        echo "job $job serves at http://$host:$port"
    fi
    sleep "${AB_POLL_S:-2}" & wait $!
done
if alive; then
    rm -f "$url"
    echo "job $job ends: $([ -n "$stopped" ] && echo "it was told to" || echo "its client is done")"
    exit 0
fi
wait "$server"
code=$?
if [ -n "$stopped" ]; then rm -f "$url"; exit 0; fi
publish "failed: the launcher $launcher of job $job on $host ended with exit code $code; its log says why"
exit $((code ? code : 1))
