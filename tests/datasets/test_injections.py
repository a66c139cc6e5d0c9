"""Speech of an option before or over a clip: which option, said by whom, and what becomes of the sample."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pytest_audiobench.audio import signals
from pytest_audiobench.audio.clip import ArraySource, Clip, CombinedSource
from pytest_audiobench.audio.decode import decode
from pytest_audiobench.datasets.bundled import bundled
from pytest_audiobench.datasets.dataset import Dataset, perturb
from pytest_audiobench.datasets.perturbations.injections import injections
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.datasets.voices import Line, Speech, bundled_digits
from pytest_audiobench.errors import UsageError

HERE = Places(Path())
DIGITS = {one.name: one for one in injections(voices=bundled_digits())}
ASKED: list[Line] = []


def hiss(seconds: float, name: str) -> Clip:
    return Clip(ArraySource.of(0.1 * signals.gaussian(round(16_000 * seconds), name), 16_000, name))


def talkers(places: Places, lines: list[Line]) -> list[Speech]:
    ASKED[:] = lines
    return [Speech(hiss(0.5, one.words), "test") for one in lines]


def sample(*choices: str, reference: str = "dog", clips: int = 1, id_: str = "a") -> Sample:
    return Sample(id_, tuple(hiss(1.0, f"{id_}{n}") for n in range(clips)), "?", choices, reference, {"track": "x"})


def injected(name: str, *samples: Sample, **options: object) -> list[Sample]:
    (perturbation,) = [one for one in injections(voices=talkers, **options) if one.name == name]  # type: ignore[arg-type]
    return list(perturb(Dataset("made", lambda places: samples), perturbation).read(HERE))


def test_there_are_four_perturbations_of_one_family_without_a_dose() -> None:
    assert list(DIGITS) == [
        "inject-correct-before",
        "inject-wrong-before",
        "inject-correct-overlaid",
        "inject-wrong-overlaid",
    ]
    assert {(one.family, one.dose) for one in DIGITS.values()} == {("inject", None)}


@pytest.mark.parametrize("name", DIGITS)
def test_every_bundled_digit_is_injected_and_stays_itself_but_for_its_clip(name: str) -> None:
    before = bundled("digits").read(HERE)
    after = perturb(bundled("digits"), DIGITS[name]).read(HERE)
    for one, changed in zip(before, after, strict=True):
        option = changed.choices["ABCD".index(str(changed.metadata["injected"]))]
        assert (option == changed.reference) == ("correct" in name)
        assert changed.metadata["injected_by"] == "bundled digits"
        assert changed.metadata.items() >= one.metadata.items()
        assert (changed.id, changed.choices, changed.reference) == (one.id, one.choices, one.reference)
        assert changed.recordings == one.clips
        (clip,) = changed.clips
        assert isinstance(clip.source, CombinedSource)
        assert clip.source.clips[0] == one.clips[0]
        assert clip.source.rule == ("preceded" if "before" in name else "overlaid")
    if "wrong" in name:
        drawn = Counter(str(one.metadata["injected"]) for one in after)
        assert all(count >= 10 for count in drawn.values())


def test_before_and_over_a_clip_the_same_is_said() -> None:
    for which in ("correct", "wrong"):
        pairs = [
            perturb(bundled("digits"), DIGITS[f"inject-{which}-{where}"]).read(HERE) for where in ("before", "overlaid")
        ]
        for one, other in zip(*pairs, strict=True):
            assert one.metadata == other.metadata
            assert one.clips[0].source.clips == other.clips[0].source.clips  # type: ignore[union-attr]


def test_the_words_hold_the_option_wherever_they_are_told_to() -> None:
    injected("inject-correct-before", sample("dog.", "cat", reference="dog."))
    assert [one.words for one in ASKED] == ["The answer is dog."]
    injected("inject-wrong-before", sample("{option}", "dog"), spoken="{option}! {option}")
    assert [one.words for one in ASKED] == ["{option}! {option}"]
    assert [one.option for one in ASKED] == ["{option}"]


def test_what_is_heard_has_the_pause_and_the_level_that_were_asked_for() -> None:
    (before,) = injected("inject-correct-before", sample("dog", "cat"), gap_s=0.5, level_db=-12)
    heard = decode(before.clips[0], 16_000, None).samples
    assert len(heard) == 8_000 + 8_000 + 16_000
    assert not heard[8_000:16_000].any()
    assert 20 * np.log10(signals.rms(heard[:8_000]) / signals.rms(heard[16_000:])) == pytest.approx(-12, abs=0.01)
    (over,) = injected("inject-correct-overlaid", sample("dog", "cat"), level_db=-12)
    assert len(decode(over.clips[0], 16_000, None).samples) == 16_000


def test_of_several_clips_only_the_first_is_spoken_into() -> None:
    own = sample("dog", "cat", clips=3)
    (changed,) = injected("inject-wrong-before", own)
    assert changed.clips[1:] == own.clips[1:]
    assert changed.clips[0] != own.clips[0]


def test_the_wrong_option_depends_on_the_id_alone() -> None:
    many = [sample("dog", "cat", "cow", "hen", id_=f"s{n}") for n in range(60)]
    letters = {one.id: one.metadata["injected"] for one in injected("inject-wrong-before", *many)}
    assert letters == {one.id: one.metadata["injected"] for one in injected("inject-wrong-overlaid", *many[::-1])}
    assert set(letters.values()) == {"B", "C", "D"}


def test_a_second_true_option_is_never_the_wrong_one() -> None:
    many = [replace(sample("dog", "cat", "puppy", id_=f"s{n}"), references=("dog", "Puppy")) for n in range(20)]
    assert {one.metadata["injected"] for one in injected("inject-wrong-before", *many)} == {"B"}


@pytest.mark.parametrize("alike", ["Dog.", "ｄｏｇ", "do\u200bg", "**dog**", " DOG "])
def test_an_option_that_is_read_as_the_true_one_is_never_the_wrong_one(alike: str) -> None:
    many = [sample(alike, "dog", "cat", id_=f"s{n}") for n in range(20)]
    assert {one.metadata["injected"] for one in injected("inject-wrong-before", *many)} == {"C"}
    (right,) = injected("inject-correct-before", sample("cat", alike))
    assert right.metadata["injected"] == "B"


def test_a_blank_option_is_never_the_wrong_one() -> None:
    many = [sample("dog", "", " ", "cat", id_=f"s{n}") for n in range(20)]
    assert {one.metadata["injected"] for one in injected("inject-wrong-before", *many)} == {"D"}


def test_what_a_voice_doubts_is_the_samples_doubt(monkeypatch: pytest.MonkeyPatch) -> None:
    def doubting(places: Places, lines: list[Line]) -> list[Speech]:
        return [Speech(hiss(0.5, one.words), "test", "unclear" if one.option == "cat" else "") for one in lines]

    (perturbation,) = [one for one in injections(voices=doubting) if one.name == "inject-correct-before"]
    samples = [sample("dog", "cat"), sample("dog", "cat", reference="cat", id_="b")]
    after = perturb(Dataset("made", lambda places: samples), perturbation).read(HERE)
    assert [one.doubt for one in after] == ["", "unclear"]


@pytest.mark.parametrize(
    ("name", "bad", "message"),
    [
        ("inject-correct-before", sample(), "sample 'a': its answer 'dog' is not one of its choices"),
        ("inject-wrong-overlaid", sample(), "sample 'a': its answer 'dog' is not one of its choices"),
        ("inject-wrong-before", sample("dog", "Dog "), "sample 'a' offers nothing but its answer"),
        ("inject-correct-before", sample("dog", " ", reference=""), "sample 'a': its answer is a blank option"),
        ("inject-wrong-before", sample("dog", "cat", clips=0), "sample 'a' has no clip that speech could be injected"),
    ],
)
def test_a_sample_that_cannot_be_injected_is_named(name: str, bad: Sample, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        injected(name, sample("dog", "cat", id_="good"), bad)


def test_words_without_the_option_are_refused() -> None:
    with pytest.raises(UsageError, match=r"has no \{option\}"):
        injections("The answer is here.")
