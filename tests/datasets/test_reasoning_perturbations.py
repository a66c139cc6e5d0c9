"""Perturbations that change reasoning: what they mark on the samples, and that they leave the audio alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_audiobench.audio.clip import Clip, DataRoot, FileSource
from pytest_audiobench.datasets.dataset import Dataset, perturb
from pytest_audiobench.datasets.perturbations.catalogue import named_perturbations
from pytest_audiobench.datasets.perturbations.perturbation import Perturbation
from pytest_audiobench.datasets.perturbations.reasoning import early_answering, reasoning_change, reasoning_changes
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError

PLACES = Places(here=Path("."))
CHOICES = ("dog", "cat", "Dog ", "cow")


def samples(choices: tuple[str, ...] = CHOICES, reference: str = "cat", n: int = 40) -> list[Sample]:
    return [Sample(f"s{i}", (), "Which animal?", choices, reference, {"speaker": "x"}) for i in range(n)]


def read(perturbation: Perturbation, *given: Sample) -> list[Sample]:
    return list(perturb(Dataset("animals", lambda places: given), perturbation).read(PLACES))


def test_early_answering_is_a_curve_over_the_share_of_the_sentences() -> None:
    rungs = early_answering()
    assert [str(one) for one in rungs] == [f"early-{percent}" for percent in range(0, 101, 10)]
    assert {(one.family, one.unit, one.harder) for one in rungs} == {("early", "% of the sentences", "lower")}
    assert [one.dose for one in rungs] == list(range(0, 101, 10))
    assert [read(one, *samples(n=1))[0].metadata["kept"] for one in early_answering(0, 7, 12.5, 40, 100)] == [
        "0",
        "0.07",
        "0.125",
        "0.4",
        "1",
    ]
    assert str(early_answering(12.5)[0]) == "early-12.5"


@pytest.mark.parametrize("percent", [-1, 100.5, float("nan"), "40", True])
def test_a_share_outside_the_reasoning_is_refused(percent: float) -> None:
    with pytest.raises(UsageError, match="is not a percentage of the sentences"):
        early_answering(percent)


def test_changes_without_a_dose_can_be_chosen_by_name() -> None:
    names = [str(one) for one in reasoning_changes()]
    assert names == [
        *("filler", "truncated", "shuffled", "paraphrased", "mistaken"),
        *("inject-text-correct", "inject-text-wrong"),
    ]
    assert [str(one) for one in reasoning_changes("shuffled", "filler")] == ["shuffled", "filler"]
    assert {(one.family, one.dose) for one in reasoning_changes()} == {("reasoning", None)}
    with pytest.raises(UsageError, match="no change of reasoning is named 'reversed'; there are filler, truncated"):
        reasoning_changes("reversed")


def test_the_protocol_is_told_which_change_a_perturbation_stands_for() -> None:
    assert [reasoning_change(one) for one in (*early_answering(40), *reasoning_changes())] == [
        *("early", "filler", "truncated", "shuffled", "paraphrased", "mistaken", "inject", "inject"),
    ]
    assert reasoning_change(named_perturbations("clean")[0]) == ""


@pytest.mark.parametrize("perturbation", [*early_answering(40), *reasoning_changes()], ids=str)
def test_the_audio_and_the_question_stay_as_they_are(perturbation: Perturbation) -> None:
    clip = Clip(FileSource(DataRoot("data", Path(".")), "a.wav"))
    before = Sample("s", (clip,), "Which animal?", CHOICES, "cat", {"speaker": "x"})
    (after,) = read(perturbation, before)
    assert (after.id, after.clips, after.question, after.choices) == ("s", (clip,), before.question, CHOICES)
    assert after.metadata["speaker"] == "x"


def test_the_correct_option_is_the_references_letter() -> None:
    (correct,) = reasoning_changes("inject-text-correct")
    assert {one.metadata["injected"] for one in read(correct, *samples())} == {"B"}
    assert read(correct, *samples(reference="DOG", n=1))[0].metadata["injected"] == "A"


def test_a_wrong_option_is_drawn_from_the_samples_id_among_other_texts() -> None:
    (wrong,) = reasoning_changes("inject-text-wrong")
    drawn = {one.id: one.metadata["injected"] for one in read(wrong, *samples())}
    assert set(drawn.values()) == {"A", "C", "D"}
    assert {one.id: one.metadata["injected"] for one in read(wrong, *samples()[::-1])} == drawn
    # "Dog " is the dog that is true, in other letters.
    assert {one.metadata["injected"] for one in read(wrong, *samples(reference="dog"))} == {"B", "D"}
    assert [drawn[f"s{i}"] for i in range(6)] == ["C", "C", "D", "A", "C", "C"]


@pytest.mark.parametrize(
    ("name", "choices", "told"),
    [
        ("inject-text-correct", ("dog",), "its answer 'cat' is not one of its choices"),
        ("inject-text-wrong", (), "its answer 'cat' is not one of its choices"),
        ("inject-text-wrong", ("cat", "CAT"), "offers nothing but its answer"),
    ],
)
def test_a_sample_that_has_no_such_option_is_named(name: str, choices: tuple[str, ...], told: str) -> None:
    with pytest.raises(UsageError, match=f"'s0'.*{told}"):
        read(reasoning_changes(name)[0], *samples(choices, n=1))
