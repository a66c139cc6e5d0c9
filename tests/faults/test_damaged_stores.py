"""A store that is damaged in any way answers as it was written, or not at all, and never with a traceback.

``AUDIOBENCH_FAULTS=10000`` tries so many stores, ``AUDIOBENCH_FAULT=137`` the one that this number draws.
"""

import os
import shutil
import tempfile
from collections import Counter
from pathlib import Path

import pytest

from pytest_audiobench.errors import InfrastructureError, UsageError
from pytest_audiobench.evaluation.answer_store import Store

from .store_damage import ANSWERS, FAILED, NOTES, damage, make_store

SEEDS = (
    [int(os.environ["AUDIOBENCH_FAULT"])]
    if "AUDIOBENCH_FAULT" in os.environ
    else range(int(os.environ.get("AUDIOBENCH_FAULTS", "300")))
)


@pytest.fixture
def folder():
    """A folder in memory where there is one: SQLite waits for a disk some ten times for each store."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as folder:
        yield Path(folder)


def wrong(store: Store) -> str:
    """What the store gives back otherwise than it was written; nothing where it does not."""
    for key, response in store.get_many([*ANSWERS, b"stray"]).items():
        if response != ANSWERS.get(key):
            return f"the answer to {key!r}"
    for key, message in store.failures([*FAILED, *ANSWERS, b"stray"]).items():
        if FAILED.get(key) != (message, True):
            return f"the failure of {key!r}"
    for name, text in store.notes("hearing:"):
        if NOTES.get(name) != text:
            return f"the note {name!r}"
    return ""


def ask(path: Path) -> str:
    """What is wrong in the store at ``path`` before and after its missing answers are asked again."""
    with Store(path, "later") as store:
        if mistake := wrong(store):
            return mistake
        stored = store.get_many(list(ANSWERS))
        missing = {key: (response, {}) for key, response in ANSWERS.items() if key not in stored}
        responses = store.put_batch(missing, {}).responses
        store.keep_note("hearing:later", NOTES["hearing:later"])
        return "an answer that was asked again" if any(responses[key] != ANSWERS[key] for key in missing) else ""


def outcome(path: Path) -> str:
    """What became of a damaged store: refused in a sentence, or whole again when its missing answers were asked."""
    try:
        # A row may go when its neighbour is mended, and is asked again like any other.
        if mistake := ask(path) or ask(path):
            return f"silent: {mistake}"
        with Store(path, "last") as store:
            return wrong(store) or ("mended" if store.get_many(list(ANSWERS)) == ANSWERS else "silent: a lost answer")
    except (UsageError, InfrastructureError) as error:
        return "refused" if str(path) in str(error) and "\n" not in str(error) else f"no sentence: {error}"
    except Exception as error:
        return f"raw: {type(error).__name__}: {error}"


def test_a_damaged_store_gives_back_what_was_written_or_a_sentence(folder):
    outcomes, mistakes = Counter(), []
    make_store(folder)
    for seed in SEEDS:
        copy = folder / "copy"
        shutil.copytree(folder, copy)
        how = damage(copy / "store.sqlite", seed)
        result = outcome(copy / "store.sqlite")
        outcomes[how, result] += 1
        if result not in ("mended", "refused"):
            mistakes.append(f"AUDIOBENCH_FAULT={seed}: {how}: {result}")
        shutil.rmtree(copy)
    print(*sorted(outcomes.items()), sep="\n")
    assert mistakes == []
    assert len(SEEDS) < 100 or {result for _, result in outcomes} == {"mended", "refused"}
