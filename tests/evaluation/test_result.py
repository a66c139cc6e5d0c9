"""What a test asserts on: metrics by key, their perturbations, the samples behind them, and the gain over another."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_audiobench.errors import UsageError
from pytest_audiobench.evaluation.result import Result
from pytest_audiobench.models.messages import Request, Response
from pytest_audiobench.protocols.multiple_choice.task import multiple_choice
from pytest_audiobench.protocols.transcription.task import transcription

from .tiny import Speaker, dataset, evaluated, sample

SAID = {"a": "A", "b": "B", "c": "cat " * 40, "d": "dog", "e": None, "f": "A"}
OWN = [sample(name, metadata={"hop": "single" if name in "abc" else "multi", "year": 2000}) for name in SAID]


def says(request: Request) -> str | Response:
    text = SAID[request.sample_id]
    return Response(error="timed out") if text is None else text


@pytest.fixture
def result(tmp_path: Path) -> Result:
    return evaluated(tmp_path, dataset(OWN), multiple_choice("letters", "mmau-string"), Speaker(says)).result


@pytest.mark.parametrize(
    ("key", "value", "n"),
    [
        ("accuracy", 3 / 5, 5),
        (" accuracy ", 3 / 5, 5),
        ("accuracy[hop=single]", 1 / 3, 3),
        ("accuracy[ hop = multi ]", 1.0, 2),
        ("accuracy[hop=multi,year=2000]", 1.0, 2),
        ("accuracy[scorer=mmau-string]", 1 / 5, 5),
        ("accuracy[scorer=mmau-string,hop=multi]", 1 / 2, 2),
        ("accuracy[without=loop]", 3 / 4, 4),
        ("accuracy[without=loop,hop=single]", 1 / 2, 2),
        ("accuracy[without=refused]", 3 / 5, 5),
        ("errors", 1 / 6, 6),
        ("errors[hop=single]", 0.0, 3),
        ("coverage", 4 / 6, 6),
        ("loop", 1 / 6, 6),
    ],
)
def test_a_metric_is_had_by_its_key(key: str, value: float, n: int, result: Result) -> None:
    metric = result[key]
    assert (float(metric), metric.n) == (pytest.approx(value), n)


@pytest.mark.parametrize(
    "key",
    ["wer", "accuracy[hop=none]", "accuracy[speaker=x]", "accuracy[scorer=mmar]", "accuracy[without=nothing]"],
)
def test_a_key_of_nothing_names_what_there_is(key: str, result: Result) -> None:
    with pytest.raises(KeyError, match=r"it has accuracy, coverage"):
        result[key]


def test_what_is_no_key_says_how_one_is_written(result: Result) -> None:
    with pytest.raises(KeyError, match="is not a metric key: write accuracy or accuracy"):
        result["accuracy[hop"]


def test_every_recorded_metric_is_had_by_the_key_that_is_shown_for_it(result: Result) -> None:
    keys = result.keys()
    assert {"accuracy[hop=multi]", "accuracy[scorer=mmau-string,hop=multi]"} <= set(keys)
    for key, record in zip(keys, result.record.metrics, strict=True):
        assert float(result[key]) == record.value
        assert (result[key].lower, result[key].upper, result[key].n) == (record.lower, record.upper, record.n)


@pytest.mark.parametrize(("said", "trimmed"), [("a a", 0.5), ("b " * 40, 1.0)])
def test_a_trimmed_word_error_rate_is_had_whether_or_not_an_answer_runs_away(
    said: str, trimmed: float, tmp_path: Path
) -> None:
    samples = dataset([sample("x", reference="a b")])
    result = evaluated(tmp_path, samples, transcription(), Speaker(lambda _: said)).result
    assert float(result["wer_trimmed"]) == trimmed
    assert set(result.keys()) >= ({"wer_trimmed"} if trimmed == 1.0 else {"wer"})


def test_a_metric_of_a_group_says_how_the_samples_of_that_group_were_answered(result: Result) -> None:
    assert result["accuracy[hop=multi]"].coverage["n"] == 3
    assert result["accuracy[hop=multi]"].coverage["errors"] == 1
    assert (result.n, result.errors) == (6, 1)


def test_samples_are_as_the_headline_read_them_with_their_metadata(result: Result) -> None:
    rows = {row["sample_id"]: row for row in result.samples()}
    assert (rows["d"]["text"], rows["d"]["status"], rows["d"]["value"], rows["d"]["correct"]) == (
        *("dog", "parsed", "A", 1.0),
    )
    assert (rows["d"]["hop"], rows["d"]["reference"], rows["d"]["choices"]) == ("multi", "dog", ["dog", "cat", "hen"])
    assert (rows["e"]["text"], rows["e"]["status"], rows["e"]["error"]) == (None, "error", "timed out")
    assert "correct" not in rows["e"]
    assert len(result.frame()) == 6


def test_rows_for_a_metric_are_those_of_the_first_protocol_that_yields_it(result: Result) -> None:
    assert result.rows_for("accuracy") is result.headline_rows
    assert result.rows_for("wer") == ()
    assert result.estimate_of(result.headline_rows[:0]) != result.estimate_of(result.headline_rows[:0])
    assert result.estimate_of(result.headline_rows) == pytest.approx(3 / 5)


def of(folder: Path, texts: str, name: str) -> Result:
    """A result whose samples were answered with the letters of ``texts``, a dot standing for a failure."""
    own = [sample(f"{number:02}") for number in range(len(texts))]

    def says(request: Request) -> str | Response:
        text = texts[int(request.sample_id)]
        return Response(error="timed out") if text == "." else text

    return evaluated(folder, own, None, Speaker(says, name=name)).result


def test_a_gain_is_over_the_samples_that_both_answered_and_better_is_more(tmp_path: Path) -> None:
    better, worse = of(tmp_path, "AAAAAAAAAA.A", "one"), of(tmp_path, "AAAAABBBBBA.", "other")
    gain = better.gain_over(worse)
    assert (float(gain), gain.n, gain.unit) == (0.5, 10, "points")
    assert gain.lower is not None
    assert gain.upper is not None
    assert gain.lower < 0.5 < gain.upper
    assert float(worse.gain_over(better)) == -0.5
    # The first samples alone, against more of them, are paired by their names.
    assert better.gain_over(of(tmp_path, "BA", "few")).n == 2


def test_a_gain_wants_a_metric_of_pairs_and_samples_in_common(tmp_path: Path) -> None:
    first = of(tmp_path, "AA", "one")
    with pytest.raises(UsageError, match="have no scored sample in common"):
        first.gain_over(of(tmp_path, "..", "other"))
    with pytest.raises(UsageError, match="bleu is not a ratio of sums over samples"):
        first.gain_over(first, "bleu")
