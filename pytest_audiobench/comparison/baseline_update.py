"""Writing a baseline: an act of its own, which shows what it changes and passes no gate."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from pytest_audiobench.comparison.baseline_sources import Baseline
from pytest_audiobench.errors import UsageError
from pytest_audiobench.evaluation.answer_alarms import is_readable, wants_answers
from pytest_audiobench.evaluation.comparable_eval import ComparableEval
from pytest_audiobench.evaluation.scoring import are_unreadable
from pytest_audiobench.gate.baseline.contents import Contents
from pytest_audiobench.gate.baseline.decoding import decode_baseline, read_bounded
from pytest_audiobench.gate.baseline.encoding import encode_baseline
from pytest_audiobench.report.atomic_files import write_bytes
from pytest_audiobench.stats.intervals import exact

_NAMED = 3


class BaselineOptions(NamedTuple):
    """``scorers``: scorers to keep in addition to the headline's ("all": every one); ``texts``: keep the answers;
    ``partial``: take a run that is not whole; ``unreadable``: take evals most of whose answers could not be read.
    """

    scorers: Sequence[str] = ()
    texts: bool = False
    partial: bool = False
    unreadable: bool = False


class BaselineUpdate(NamedTuple):
    """The new baseline, its size, and the one that lay there before."""

    contents: Contents
    size_bytes: int
    before: Contents | None


def write_baseline(run: Baseline, out: Path, wanted: BaselineOptions, keeps_evals: bool = False) -> BaselineUpdate:
    """Write what ``run`` measured to ``out``, whole or not at all; ``keeps_evals``: no eval that is there may go.

    Raises UsageError for one that would, for several models, for a run that is not whole unless ``wanted.partial``, for
    one with evals most of whose answers could not be parsed, and shown to be fewer than in the baseline at ``out``,
    unless ``wanted.unreadable``, for what is at ``out`` and is no baseline, and for a baseline that would be too large.
    """
    if (contents := run.only) is None:
        raise UsageError(
            f"{run.source} has the models {', '.join(sorted(run.models))}, "
            "and a baseline holds one: give --model PATTERN"
        )
    if contents.head.missing and not wanted.partial:
        listed = "".join(f"\n  {part}" for part in contents.head.missing)
        raise UsageError(
            f"{run.source} is incomplete, so a gate would check less than it seems to: run again (stored "
            f"answers are not asked again), or write it anyway with --allow-partial; it lacks:{listed}"
        )
    before = decode_baseline(read_bounded(out), str(out)) if out.exists() else None
    if (unreadable := _unreadable_evals(contents, before)) and not wanted.unreadable:
        alias = contents.head.model.alias
        raise UsageError(
            f"most answers of {alias} in {', '.join(unreadable)} could not be parsed, so a gate would compare "
            "later runs with a meaningless number: see the alarm in the run's report, and correct the prompt or "
            "the labels or choose another scorer; or write it anyway with --allow-unreadable"
        )
    reduced = contents.reduced(wanted.scorers, wanted.texts)
    gone = sorted(set(before.sides) - set(reduced.sides)) if keeps_evals and before is not None else []
    if gone:
        raise UsageError(
            f"{out.name} holds {', '.join(gone[:_NAMED])}{' and others' * (len(gone) > _NAMED)}, which this run did "
            "not measure: run them too, name another file, or take audiobench baseline update"
        )
    content = encode_baseline(reduced)
    decode_baseline(content, str(out))
    out.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(out, content)
    return BaselineUpdate(reduced, len(content), before)


def _unreadable_evals(contents: Contents, before: Contents | None) -> list[str]:
    """The evals of which most answers could not be parsed, unless about as many could not in the present baseline."""
    evals = []
    for name, side in sorted(contents.sides.items()):
        readable, answered = _parsed(side)
        if not wants_answers(side.perturbation) or not are_unreadable(readable, answered):
            continue
        told = f"{name} ({readable} of {answered} parsed"
        if before is not None and (was := before.sides.get(name)) is not None:
            first, of = _parsed(was)
            upper = exact(readable, answered).upper if answered else None
            if of and upper is not None and upper >= first / of:
                continue
            told += f", {first} of {of} in {before.head.model.alias}"
        evals.append(f"{told})")
    return evals


def _parsed(side: ComparableEval) -> tuple[int, int]:
    """How many answers the headline scorer parsed, of how many."""
    rows = [(row.statuses[side.headline], row.scores[side.headline]) for row in side.rows]
    answered = [row for row in rows if row[0] != "error"]
    return sum(is_readable(*row) for row in answered), len(answered)
