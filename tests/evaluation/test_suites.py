"""A suite's figures are over all questions of its evals, not means of their numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from pytest_audiobench.evaluation.evaluate import Evaluation
from pytest_audiobench.evaluation.suites import HASHES, Pool, pooled_hashes
from pytest_audiobench.models.messages import Request, Response
from pytest_audiobench.protocols.multiple_choice.task import multiple_choice
from pytest_audiobench.protocols.prompt_sets import PromptSet
from pytest_audiobench.protocols.prompt_variants import with_prompt_variants
from pytest_audiobench.protocols.protocol import Protocol
from pytest_audiobench.records.lines import ScoredRow
from pytest_audiobench.records.run import ItemRecord, PooledHashes, SuiteRecord

from .tiny import Speaker, clip, dataset, evaluated, sample


def lines(done: Evaluation) -> list[ScoredRow]:
    """The rows of an eval as its file holds them."""
    return [
        ScoredRow(
            eval=done.result.record.eval,
            model=done.result.record.model,
            dataset=done.result.record.dataset,
            sample_id=row.answers.sample_id,
            epoch=row.answers.epoch,
            scorer=scorer,
            status="error" if row.answer is None else row.answer.status,
            scores=row.scores,
            failures=row.failures,
            cluster=row.cluster,
            groups={name: str(row.answers.selected.sample.metadata[name]) for name in done.result.record.groups},
        )
        for scorer, rows in done.rows.items()
        for row in rows
    ]


def pooled(*done: Evaluation) -> SuiteRecord:
    pool = Pool("suite", "model")
    for evaluation in done:
        pool.add(evaluation.result.record, lines(evaluation))
    return pool.record()


def eval_of(
    folder: Path, name: str, texts: str, protocol: Protocol | None = None, recording: str | None = None, **changes: Any
) -> Evaluation:
    """An eval whose samples are answered with the letters of ``texts``, of one recording or of one each."""
    own = [
        sample(f"s{number}", clips=(clip(recording or f"{name}{number}"),), metadata={"hop": "ab"[number % 2]})
        for number in range(len(texts))
    ]
    model = Speaker(lambda request: texts[int(request.sample_id[1:])], name=name)
    return evaluated(folder, dataset(own, name, groups=("hop",)), protocol, model, **changes)


def figures(record: SuiteRecord, **group: str) -> dict[str, tuple[float | None, int]]:
    return {metric.name: (metric.value, metric.n) for metric in record.metrics if dict(metric.group) == group}


def test_a_suites_score_is_over_all_questions_and_not_the_mean_of_its_evals(tmp_path: Path) -> None:
    record = pooled(eval_of(tmp_path, "large", "AAAAAABB"), eval_of(tmp_path, "small", "BB"))
    assert (record.n, record.evals, record.limited) == (10, 2, False)
    assert figures(record) == {"accuracy": (0.6, 10), "coverage": (1.0, 10)}
    assert figures(record, hop="a") == {"accuracy": (0.6, 5)}
    assert record.scorers[0].coverage.parsed == 10


def test_scorers_are_pooled_by_name_and_signature(tmp_path: Path) -> None:
    plain = eval_of(tmp_path, "plain", "AAAB")
    unlisted = eval_of(tmp_path, "unlisted", "BB", multiple_choice("letters", "mmau-string", prompt="{question}"))
    record = pooled(plain, unlisted)
    assert [scorer.name for scorer in record.scorers] == ["letters", "letters", "mmau-string"]
    assert [scorer.coverage.n for scorer in record.scorers] == [4, 2, 2]
    assert [metric.value for metric in record.metrics if metric.name == "accuracy" and not metric.group] == [
        0.75,
        0.0,
        0.0,
    ]


def test_only_what_all_evals_of_a_scorer_measured_is_a_figure_of_the_suite(tmp_path: Path) -> None:
    # One of them had an answer in a class of failures, and the share of it; the other had none.
    record = pooled(eval_of(tmp_path, "one", "AAZA"), eval_of(tmp_path, "other", "AAAA"))
    assert figures(record) == {"accuracy": (7 / 8, 8), "coverage": (7 / 8, 8)}
    assert figures(record, without="out_of_range") == {"accuracy": (1.0, 7)}
    both = pooled(eval_of(tmp_path, "three", "AAZA"), eval_of(tmp_path, "four", "ZAAA"))
    assert figures(both)["out_of_range"] == (2 / 8, 8)


def test_ids_are_unique_in_their_own_data_set_only_and_a_recording_everywhere(tmp_path: Path) -> None:
    apart = pooled(eval_of(tmp_path, "one", "AB" * 8), eval_of(tmp_path, "other", "AB" * 8))
    assert "clusters" not in apart.metrics[0].method
    shared = pooled(
        eval_of(tmp_path, "three", "AB" * 8, recording="same"), eval_of(tmp_path, "four", "AB" * 8, recording="other")
    )
    assert "2 clusters" in shared.metrics[0].method


def test_a_sample_that_failed_is_an_error_of_the_suite_and_not_one_that_the_protocol_skips(tmp_path: Path) -> None:
    def says(request: Request) -> str | Response:
        return Response(error="timed out") if request.sample_id == "a" else "?"

    own = [sample(name) for name in "ab"]
    failing = evaluated(tmp_path, own, multiple_choice("air-bench"), Speaker(says))
    rows = [line for line in lines(failing) if line.scorer == "air-bench"]
    # A figure of how samples were answered, which a test's own conftest.py may have a scorer measure.
    record = failing.result.record
    (scorer,) = (scorer for scorer in record.scorers if scorer.name == "air-bench")
    share = replace(record.metrics[0], name="skipped")
    pool = Pool("suite", "model")
    pool.add(replace(record, scorers=[scorer], metrics=[share]), rows)
    assert figures(pool.record()) == {"skipped": (0.5, 2)}


def test_epochs_and_what_was_left_out_are_said_in_the_method(tmp_path: Path) -> None:
    record = pooled(eval_of(tmp_path, "one", "AB?A", multiple_choice("air-bench"), epochs=2))
    accuracy = next(metric for metric in record.metrics if metric.name == "accuracy" and metric.scorer == "air-bench")
    assert accuracy.n == 6
    assert accuracy.method.endswith(
        "pooled over the suite's evals and 2 epochs, a sample's being one cluster; "
        "2 left out, not asked or skipped by the protocol"
    )
    assert record.n == 4


def test_a_suite_with_a_limited_eval_is_limited(tmp_path: Path) -> None:
    assert pooled(eval_of(tmp_path, "one", "AAAA", limit=2), eval_of(tmp_path, "other", "AA")).limited


def test_a_suites_hashes_are_over_its_evals_in_any_order_and_of_all_of_them() -> None:
    def item(**hashes: str) -> ItemRecord:
        return ItemRecord(index=0, nodeid="", eval="", suite="", model="", hashes=hashes)

    first, second = (item(**{kind: kind + end for kind in HASHES}) for end in "ab")
    assert pooled_hashes([first, second]) == pooled_hashes([second, first]) != pooled_hashes([first])
    changed = item(**{**first.hashes, "run_hash": "x"})
    before, after = pooled_hashes([first, second]), pooled_hashes([changed, second])
    assert {kind for kind in HASHES if getattr(before, kind) != getattr(after, kind)} == {"run_hash"}
    assert pooled_hashes([first, item()]) == pooled_hashes([]) == PooledHashes(None, None, None)


@pytest.mark.parametrize("texts", ["AAAB", "AZ?B"])
def test_a_suite_of_one_eval_has_the_evals_own_numbers(texts: str, tmp_path: Path) -> None:
    done = eval_of(tmp_path, "one", texts, multiple_choice("letters", "air-bench"))
    own = {
        (metric.name, metric.scorer, tuple(metric.group.items())): (metric.value, metric.lower, metric.upper, metric.n)
        for metric in done.result.record.metrics
    }
    assert {
        (metric.name, metric.scorer, tuple(metric.group.items())): (metric.value, metric.lower, metric.upper, metric.n)
        for metric in pooled(done).metrics
    } == own


def averaged(*parts: tuple[Evaluation, dict[str, int]]) -> SuiteRecord:
    pool = Pool("suite", "model")
    for evaluation, averages in parts:
        pool.add(replace(evaluation.result.record, averages=averages), lines(evaluation))
    return pool.record()


def test_a_declared_average_counts_each_part_once_whatever_its_samples_and_an_average_within_it_too(
    tmp_path: Path,
) -> None:
    large, small, alone = (
        eval_of(tmp_path, name, texts) for name, texts in (("l", "A" * 9 + "B"), ("s", "AB"), ("a", "BB"))
    )
    record = averaged((large, {"all": 2, "both": 2}), (small, {"all": 2, "both": 2}), (alone, {"all": 2}))
    assert figures(record, average="both") == {"accuracy": (0.7, 12)}
    assert figures(record, average="all") == {"accuracy": (0.35, 14)}
    (whole,) = (metric for metric in record.metrics if metric.group == {"average": "all"})
    parts = [metric for metric in record.metrics if metric.group == {"average": "both"}]
    parts += [metric for metric in alone.result.record.metrics if metric.name == "accuracy" and not metric.group]
    # MOVER: the distances of the parts' bounds, as those of independent estimates.
    for bound in ("lower", "upper"):
        far = sum((getattr(part, bound) - part.value) ** 2 for part in parts) ** 0.5 / 2
        assert abs(getattr(whole, bound) - whole.value) == pytest.approx(far)


def test_an_average_that_lacks_a_part_is_no_figure_of_the_suite(tmp_path: Path) -> None:
    one, other = eval_of(tmp_path, "one", "AB"), eval_of(tmp_path, "other", "AA")
    record = averaged((one, {"all": 2, "three": 3}), (other, {"all": 2, "three": 3}))
    assert not [metric for metric in record.metrics if "average" in metric.group]
    failing = evaluated(tmp_path, dataset([sample("a")], "none"), multiple_choice("air-bench"), Speaker("?"))
    read = evaluated(tmp_path, dataset([sample("a")], "read"), multiple_choice("air-bench"), Speaker("A", name="read"))
    record = averaged((failing, {"all": 2}), (read, {"all": 2}))
    averages = {metric.scorer: metric.value for metric in record.metrics if metric.group == {"average": "all"}}
    assert averages == {"air-bench-keep": 0.5}


def test_what_the_wordings_come_to_is_over_all_samples_of_the_suite(tmp_path: Path) -> None:
    """The second wording loses each fifth sample: over 40 samples of two evals that is a spread of 20 points."""
    prompts = PromptSet("two", ("{question}\n{options}", "Listen. {question}\n{options}"))

    def answer(request: Request) -> str:
        return "B" if request.stage == "answer@2" and int(request.sample_id[1:]) % 5 == 0 else "A"

    done = []
    for name in ("first", "second"):
        own = [sample(f"s{number}", clips=(clip(f"{name}{number}"),)) for number in range(20)]
        protocol = with_prompt_variants(multiple_choice(), prompts)
        done.append(evaluated(tmp_path, dataset(own, name), protocol, Speaker(answer, name=name)))
    of_suite, of_eval = (
        {metric.name: metric for metric in record.metrics if metric.name.startswith("wording_")}
        for record in (pooled(*done), pooled(done[0]))
    )
    assert of_suite["wording_spread"].value == of_eval["wording_spread"].value == pytest.approx(0.2)
    assert of_suite["wording_worst"].value == pytest.approx(0.8)
    assert of_suite["wording_consistency"].value == pytest.approx(0.8)
    widths = []
    for figures_of in (of_suite, of_eval):
        spread = figures_of["wording_spread"]
        assert spread.lower is not None
        assert spread.upper is not None
        assert 0.0 <= spread.lower < 0.2 < spread.upper
        widths.append(spread.upper - spread.lower)
    assert widths[0] < widths[1]
    own_figures = {metric.name: metric for metric in done[0].result.record.metrics}
    assert of_eval["wording_mean"] == own_figures["wording_mean"]
    assert of_eval["wording_spread"] == own_figures["wording_spread"]
