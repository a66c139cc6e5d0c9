"""The samples that flip at the smallest dose: which dose that is, and what is told of them."""

from __future__ import annotations

from typing import Any

from msgspec import structs

from pytest_audiobench.report.joined_samples import joined
from pytest_audiobench.report.smallest_flips import MOST_SAMPLES, FlippedSamples, SmallestFlips


def found(runs: Any, *items: Any, name: str = "run") -> list[SmallestFlips]:
    folder, record = runs.collected(*items, name=name)
    flips = FlippedSamples(record.items)
    samples = list(flips.watch(joined(folder)))
    assert len(samples) == sum(len(item.answers) for item in items)
    return flips.smallest()


def ladder(runs: Any, *flipped: Any, **changes: Any) -> list[Any]:
    """Doses of 20, 10, 0 dB under which the samples of these numbers flip."""
    items = runs.ladder((22, 14, 5), **{"head": "mcq:strict|v:1", **changes})
    for item, numbers in zip(items[1:], flipped, strict=True):
        item.flipped = numbers
    return items


def test_the_easiest_dose_at_which_any_flips_is_taken_and_no_other(runs: Any) -> None:
    (one,) = found(runs, *ladder(runs, (), (3, 20), (1, 2, 3)))
    assert (one.family, one.perturbation, one.dose) == ("white", "white-1", "10 dB SNR")
    assert (one.of, one.model, one.count, one.n) == ("noisy, tones", "listener", 2, 24)
    assert [flip.sample_id for flip in one.flips] == ["s00003", "s00020"]
    first = one.flips[0]
    assert (first.before, first.after, first.reference) == ("(C) cow", "(A) cat", "cat")
    assert (first.eval, first.question) == ("noisy[white-1]", "Which animal is heard?")
    (one,) = found(runs, *ladder(runs, (), (3, 20), (1, 2, 3), head="label:contained|v:1"), name="labels")
    assert (one.flips[0].before, one.flips[0].after) == ("C", "A")


def test_where_more_is_harder_the_smallest_dose_is_the_least(runs: Any) -> None:
    items = ladder(runs, (5,), (6,), (7,), family="mask", unit="% masked")
    for item in items[1:]:
        item.perturbation = structs.replace(item.perturbation, harder="higher")
    (one,) = found(runs, *items)
    assert one.dose == "0 % masked"
    assert [flip.sample_id for flip in one.flips] == ["s00007"]


def test_nothing_is_found_where_nothing_flips_nothing_is_compared_or_no_dose_is_known(runs: Any) -> None:
    assert found(runs, *ladder(runs, (), (), ())) == []


def test_without_a_comparison_there_are_no_flips(runs: Any) -> None:
    assert found(runs, *runs.ladder((22, 14, 5))) == []


def test_few_of_many_are_told_and_all_are_counted(runs: Any) -> None:
    (one,) = found(runs, *ladder(runs, range(24), (), ()))
    assert (one.count, len(one.flips)) == (24, MOST_SAMPLES)


def test_data_sets_families_and_models_are_told_apart(runs: Any) -> None:
    items = [
        *ladder(runs, (), (1,), ()),
        *ladder(runs, (2,), (), (), family="pink", eval="x"),
        *ladder(runs, (), (), (3,), model="other"),
    ]
    for number, item in enumerate(items):
        item.index, item.eval = number, f"noisy[{item.perturbation.name}]"
    kept = [item for number, item in enumerate(items) if number != 4]
    told = {(one.model, one.family): one.perturbation for one in found(runs, *kept)}
    assert told == {
        ("listener", "white"): "white-1",
        ("listener", "pink"): "pink-0",
        ("other", "white"): "white-2",
    }
