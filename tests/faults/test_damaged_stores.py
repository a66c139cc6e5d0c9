"""A store that is damaged in any way answers as it was written, or not at all, and never with a traceback.

``AUDIOBENCH_FAULTS=10000`` tries so many stores, ``AUDIOBENCH_FAULT=137`` the one that this number draws.
"""

import os
from collections import Counter

from .store_damage import run

SEEDS = (
    [int(os.environ["AUDIOBENCH_FAULT"])]
    if "AUDIOBENCH_FAULT" in os.environ
    else range(int(os.environ.get("AUDIOBENCH_FAULTS", "300")))
)


def test_a_damaged_store_gives_back_what_was_written_or_a_sentence():
    tally = run(SEEDS)
    print(*Counter(tally.notes).items(), sep="\n")
    assert tally.mistakes == []
    assert len(SEEDS) < 100 or set(tally.notes) == {"fixed", "refused"}
