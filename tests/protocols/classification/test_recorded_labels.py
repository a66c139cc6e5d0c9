"""Our scorer of a label on answers that two models really gave, which were asked with lettered options."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_audiobench.datasets.sample import LETTERS
from pytest_audiobench.protocols.classification.asserted_label import read_label
from pytest_audiobench.protocols.classification.mentions import labels_of
from pytest_audiobench.protocols.multiple_choice import letters

RECORDED = Path(__file__).parents[3].parent / "shared" / "data" / "recorded"
pytestmark = pytest.mark.skipif(not RECORDED.exists(), reason=f"the recorded answers are not here: {RECORDED}")


def pairs(track, name):
    """What label and letters read in each recorded answer."""
    rows = (json.loads(line) for line in (RECORDED / "manifests" / f"{track}_manifest.jsonl").open())
    choices = {row["id"]: tuple(text.split(") ", 1)[-1] for text in row["choices_list"]) for row in rows}
    for line in (RECORDED / name).open():
        row = json.loads(line)
        options, text = choices[row["id"]], (row["raw_model_outputs"] or [""])[0] or ""
        letter = letters.read_choice(text, options).value
        yield read_label(text, options, labels_of(options)).value, options[LETTERS.index(letter)] if letter else None


@pytest.mark.parametrize(
    ("track", "name", "least"),
    [
        ("emotion", "qwen2.5-omni/baseline_emotion_REAS.jsonl", 540),
        ("emotion", "qwen2.5-omni/baseline_emotion_No_REAS.jsonl", 730),
        ("emotion", "af3/baseline_emotion_REAS.jsonl", 420),
        ("gender", "af3/baseline_gender_REAS.jsonl", 950),
    ],
)
def test_a_label_is_never_read_where_another_letter_is_asserted(track, name, least) -> None:
    found = list(pairs(track, name))
    assert not [pair for pair in found if None not in pair and pair[0] != pair[1]]
    assert sum(label is not None and label == option for label, option in found) >= least
