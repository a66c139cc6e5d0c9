"""An audio file that is damaged in any way is played as finite sound or refused in a sentence: no crash, no hang.

``AUDIOBENCH_FAULTS=10000`` tries so many files, ``AUDIOBENCH_FAULT=137`` the one that this number draws.
"""

import json
import os
import subprocess
import sys
from collections import Counter

from . import audio_damage

SEEDS = (
    range(int(os.environ["AUDIOBENCH_FAULT"]), int(os.environ["AUDIOBENCH_FAULT"]) + 1)
    if "AUDIOBENCH_FAULT" in os.environ
    else range(int(os.environ.get("AUDIOBENCH_FAULTS", "400")))
)
MOST_BYTES = 1e9


def test_a_damaged_file_is_played_as_finite_sound_or_refused_in_a_sentence(tmp_path):
    ran = subprocess.run(
        [sys.executable, audio_damage.__file__, tmp_path, str(SEEDS.start), str(SEEDS.stop)],
        capture_output=True,
        check=False,
    )
    rows = [json.loads(line) for line in (tmp_path / "outcomes.jsonl").read_text().splitlines()]
    if ran.returncode:  # the last file that was started is the one that ended the process, or would not end
        raise AssertionError(f"AUDIOBENCH_FAULT={rows[-1]['seed']}: {ran.returncode}: {ran.stderr.decode()[-2000:]}")
    results = [row for row in rows if "outcome" in row]
    mistakes = [
        f"AUDIOBENCH_FAULT={row['seed']}: {row['format']}, {row['damage']}: {row['outcome']}"
        for row in results
        if row["outcome"] not in ("played", "refused")
    ]
    print(*sorted(Counter((row["format"], row["outcome"]) for row in results).items()), sep="\n")
    printed = f"{len(ran.stdout.splitlines())} lines on stdout and {len(ran.stderr.splitlines())} on stderr"
    print(f"{printed} by decoders, {rows[-1]}")
    assert mistakes == []
    assert len(results) == len(SEEDS)
    assert len(SEEDS) < 100 or {row["outcome"] for row in results} == {"played", "refused"}
    assert rows[-1]["peak_kib"] * 1024 < MOST_BYTES
