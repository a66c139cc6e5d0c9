"""The same slice asked again in other company: never answered by the store, and with the same messages."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from pytest_audiobench.evaluation.answer_collection import collect_answers
from pytest_audiobench.evaluation.batch_executor import BatchExecutor
from pytest_audiobench.evaluation.judging import with_judges
from pytest_audiobench.evaluation.rerun import RerunVariant, batches_of, of_option, repeated, rerun, reversed_order
from pytest_audiobench.evaluation.selection import select
from pytest_audiobench.models.model import Limits
from pytest_audiobench.protocols.judged.task import judged
from pytest_audiobench.protocols.multiple_choice.task import multiple_choice

from .tiny import HERE, Speaker, bench, dataset, handle, samples

COUNT = 10
PERTURBATIONS = (rerun(), batches_of(3), reversed_order(), of_option("dtype", "bfloat16"), repeated(4))


def batches(folder: Path, *perturbations: RerunVariant) -> list[list[list[str]]]:
    """The samples' ids in each batch: as first asked, then under each perturbation."""
    model = Speaker(batching="planned", limits=Limits(max_batch=4))
    with bench(folder) as run:
        holder = handle(model)
        executor = BatchExecutor(holder, run.store, run.locks, lambda done, total: None)
        selection = select(dataset(samples(COUNT)), HERE, run.index, holder)
        first = collect_answers(selection, multiple_choice(), executor, 1)
        found = [[[request.sample_id for request in batch] for batch in model.batches]]
        for perturbation in perturbations:
            model.batches.clear()
            for copy in perturbation.ask(selection, multiple_choice(), executor):
                assert [one.sample_id for one in copy] == [one.sample_id for one in first]
                assert [one.messages for one in copy] == [one.messages for one in first]
                assert not {one.keys["answer"] for one in copy} & {one.keys["answer"] for one in first}
            found.append([[request.sample_id for request in batch] for batch in model.batches])
    return found


def test_again_asks_in_exactly_the_batches_of_the_first_time(tmp_path: Path) -> None:
    first, second = batches(tmp_path, rerun())
    assert [len(batch) for batch in first] == [4, 4, 2]
    assert second == first


def test_batches_of_a_size_are_in_hash_order(tmp_path: Path) -> None:
    first, threes, ones = batches(tmp_path, batches_of(3), batches_of(1))
    flat = [name for batch in first for name in batch]
    assert threes == [flat[start : start + 3] for start in range(0, COUNT, 3)]
    assert ones == [[name] for name in flat]


def test_reversed_batches_run_from_last_to_first_each_turned_round(tmp_path: Path) -> None:
    first, turned = batches(tmp_path, reversed_order())
    assert turned == [batch[::-1] for batch in first[::-1]]


def test_repeated_questions_fill_a_batch_by_themselves(tmp_path: Path) -> None:
    first, copies = batches(tmp_path, repeated(4))
    assert copies == [[name] * 4 for batch in first for name in batch]


def test_no_perturbation_is_answered_by_what_was_asked_before(tmp_path: Path) -> None:
    every = batches(tmp_path, *PERTURBATIONS)
    counts = [sum(map(len, asked)) for asked in every]
    assert counts == [COUNT, COUNT, COUNT, COUNT, COUNT, 4 * COUNT]
    # The same perturbation a second time is known.
    assert batches(tmp_path, *PERTURBATIONS) == [[]] * 6
    assert (
        len({perturbation.name for perturbation in PERTURBATIONS})
        == len({perturbation.number for perturbation in PERTURBATIONS})
        == 5
    )


@pytest.mark.parametrize("perturbation", [rerun(), repeated(2)])
def test_a_judge_says_of_the_same_answer_what_it_said_before(perturbation: RerunVariant, tmp_path: Path) -> None:
    judge, model = Speaker("Yes", name="judge", listens=True), Speaker()
    judges = {"j": handle(judge, "j")}
    protocol = with_judges(judged(multiple_choice()), judges).protocol
    with bench(tmp_path) as run:
        holder = handle(model)
        executor, weigher = (
            BatchExecutor(one, run.store, run.locks, lambda done, total: None) for one in (holder, judges["j"])
        )
        selection = select(dataset(samples(3)), HERE, run.index, holder)
        collect_answers(selection, protocol, executor, 1, {"j": weigher})
        asked = len(judge.requests)
        copies = perturbation.ask(selection, protocol, executor, {"j": weigher})
    assert len(judge.requests) == asked
    assert Counter(one.verdicts["yes-no@j"].text for copy in copies for one in copy) == {"Yes": 3 * perturbation.copies}
