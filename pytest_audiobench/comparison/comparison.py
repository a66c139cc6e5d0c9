"""``audiobench compare``: who, what, whether it may be compared, and the lines that came of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pytest_audiobench.comparison.alignment import aligned
from pytest_audiobench.comparison.contenders import Contender
from pytest_audiobench.comparison.curves import CurveLine, curve_lines
from pytest_audiobench.comparison.differences import Difference
from pytest_audiobench.comparison.mismatches import COMPONENTS, Mismatch, mismatches
from pytest_audiobench.comparison.rows import Chosen, Compared, chosen_scorers, compared, fields, planned
from pytest_audiobench.compat.audiobench.comparison import asked_otherwise, caution
from pytest_audiobench.compat.audiobench.comparison_figures import figure_notes
from pytest_audiobench.compat.audiobench.hashing import run_hash
from pytest_audiobench.errors import UsageError
from pytest_audiobench.gate.thresholds import ALPHA, MARGIN

_NAMED = 5


class Rules(NamedTuple):
    """How strict a comparison is: the level, the largest drop that is none, the components that may differ."""

    alpha: float = ALPHA
    max_drop: str = MARGIN
    allow: Collection[str] = ()


@dataclass(frozen=True)
class Comparison:
    """Lines of numbers, the first contender's beside the others'.

    ``heading`` says what the reader must know before any number, ``notes`` what is left out, ``curves`` how figures
    over perturbations differ; these have no verdict.
    """

    contenders: Sequence[Contender]
    lines: Sequence[Compared]
    rules: Rules
    heading: Sequence[str]
    notes: Sequence[str]
    curves: Sequence[CurveLine] = ()

    @property
    def comparisons(self) -> int:
        """Among how many alpha is divided."""
        return max(1, sum(line.plan.comparisons for line in self.lines))

    def exit_status(self) -> int:
        """1 when a line regressed; 6 where none did and one of the first's could not be compared; else 0."""
        statuses = {held.status for line in self.lines for held in line.held if held is not None}
        if "regressed" in statuses:
            return 1
        missing = any(line.plan.sides[0] is not None and None in line.plan.sides for line in self.lines)
        return 6 if "not_comparable" in statuses or missing else 0


def compare(found: Sequence[Contender], chosen: Chosen, rules: Rules) -> Comparison:
    """Hold every other contender against the first.

    Raises UsageError where no eval is common, where what went in differs in a component that is not allowed to, and
    for choices that fit nothing.
    """
    first, others = found[0], found[1:]
    for other in others:
        if first.sides.keys().isdisjoint(other.sides):
            raise UsageError(f"{called(first)} and {called(other)} have no eval in common: {_evals(first, other)}")
    scorers = {eval_: chosen_scorers(side, chosen.scorers) for eval_, side in first.sides.items()}
    differing = [
        (other, one) for other in others for one in (*_otherwise(first, other), *mismatches(first, other, scorers))
    ]
    if refused := [pair for pair in differing if pair[1].component not in rules.allow]:
        raise UsageError(_refusal(first, refused))
    limited = _limited(found).difference(*(evals for _, _, evals in _apart(found)))
    made = aligned(found, limited, _by_eval([one for _, one in differing]))
    lines, notes = planned(made, chosen)
    only = [_only(first, others), *(_only(one, [first]) for one in others)]
    return Comparison(
        contenders=made,
        lines=compared(lines, rules.alpha, rules.max_drop),
        rules=rules,
        heading=[
            *_of_artifacts(found),
            *_allowed(first, differing),
            *_common(found, made, limited),
            *_lacking(found),
        ],
        curves=curve_lines(lines),
        notes=[*filter(None, only), *notes, *_grouping(made, chosen), *_by_artifacts(first, others)],
    )


def _otherwise(first: Contender, other: Contender) -> Iterator[Mismatch]:
    """Where two run files of the audiobench tool were asked otherwise, by that tool's own rule."""
    if first.artifact is not None and other.artifact is not None:
        for component, name, before, after in asked_otherwise(first.artifact, other.artifact):
            for eval_ in (name for name in first.sides if name in other.sides):
                yield Mismatch(eval_, component, Difference(name, before, after))


def _of_artifacts(found: Sequence[Contender]) -> Iterator[str]:
    """What no reader of numbers of the audiobench tool may miss."""
    theirs = [one for one in found if one.artifact is not None]
    if theirs:
        yield caution([called(one) for one in theirs])
    for one in theirs:
        if one.artifact is not None and run_hash(one.artifact) not in (None, one.artifact.content["run_hash"]):
            yield f"EDITED: the run_hash of {called(one)} is not that of its answers: audiobench verify {one.source}"
    for one, other, evals in _apart(found):
        yield (
            f"NOT PAIRED: {called(one)} and {called(other)} have no sample in common in {_count(evals)}; their numbers "
            "stand side by side, and no difference is claimed"
        )


def _apart(found: Sequence[Contender]) -> Iterator[tuple[Contender, Contender, list[str]]]:
    """Each artifact and run of ours with the evals of which they have no sample in common."""
    for one in found:
        for other in found:
            if one.artifact is not None and other.artifact is None:
                common = [name for name in one.sides if name in other.sides]
                if apart := [name for name in common if _ids(one, name).isdisjoint(_ids(other, name))]:
                    yield one, other, apart


def _ids(one: Contender, eval_: str) -> set[str]:
    return {row.sample_id for row in one.sides[eval_].rows}


def _by_artifacts(first: Contender, others: Sequence[Contender]) -> Iterator[str]:
    for other in others:
        if first.artifact is not None and other.artifact is not None and first.artifact.suite == other.artifact.suite:
            yield from figure_notes(first.artifact, other.artifact, (first.letter, other.letter))


def called(one: Contender) -> str:
    """``A (reports/main)``."""
    return f"{one.letter} ({one.source})"


def _evals(first: Contender, other: Contender) -> str:
    return "; ".join(f"{one.letter} has {', '.join(list(one.sides)[:_NAMED]) or 'none'}" for one in (first, other))


def _refusal(first: Contender, refused: Sequence[tuple[Contender, Mismatch]]) -> str:
    other, one = refused[0]
    components = [name for name in COMPONENTS if any(name == each.component for _, each in refused)]
    counts = Counter(each.component for _, each in refused)
    told = ", ".join(f"{name} ({counts[name]})" for name in components)
    return (
        f"{called(first)} and {called(other)} were not asked the same: {one.says(first.letter, other.letter)}. "
        f"What differs, in how many evals: {told}. {' '.join(f'--allow-mismatch {name}' for name in components)} "
        "compares all the same, on the samples that pair"
    )


def _by_eval(found: Sequence[Mismatch]) -> dict[str, set[str]]:
    components: dict[str, set[str]] = {}
    for one in found:
        components.setdefault(one.eval, set()).add(one.component)
    return components


def _allowed(first: Contender, differing: Sequence[tuple[Contender, Mismatch]]) -> list[str]:
    """A line for each component that differs and may, with the first place."""
    told: list[str] = []
    for component in COMPONENTS:
        own = [(other, one) for other, one in differing if one.component == component]
        if own:
            other, one = own[0]
            evals = len({each.eval for _, each in own})
            told.append(
                f"NOT THE SAME {component.upper()}, compared all the same (--allow-mismatch {component}; {evals} "
                f"eval{'s' * (evals > 1)}): {one.says(first.letter, other.letter)}"
            )
    return told


def _limited(found: Sequence[Contender]) -> set[str]:
    return {
        eval_
        for one in found
        for eval_, side in one.sides.items()
        if side.limited and sum(eval_ in other.sides for other in found) > 1
    }


def _common(found: Sequence[Contender], made: Sequence[Contender], limited: Collection[str]) -> list[str]:
    told = []
    for one, own in zip(found, made, strict=True):
        changed = [eval_ for eval_ in one.sides if len(own.sides[eval_].rows) < len(one.sides[eval_].rows)]
        if changed:
            before, after = (sum(len(side.sides[eval_].rows) for eval_ in changed) for side in (one, own))
            told.append(f"{called(one)} is compared on {after} of {before} answers in {_count(changed)}")
    short = [called(one) for one in found if any(side.limited for side in one.sides.values())]
    if limited and short:
        told.insert(0, f"LIMITED: {', '.join(short)} took part of the samples; compared on those that all took")
    return told


def _lacking(found: Sequence[Contender]) -> list[str]:
    """What keeps a run from being whole; that it was limited is said elsewhere."""
    return [f"{called(one)} is not whole: {'; '.join(one.missing[:_NAMED])}" for one in found if one.missing]


def _count(evals: Sequence[str]) -> str:
    return f"{len(evals)} eval{'s' * (len(evals) != 1)}"


def _only(one: Contender, others: Sequence[Contender]) -> str:
    """Names the evals of ``one`` that some of ``others`` lacks."""
    lacking = {eval_: [other.letter for other in others if eval_ not in other.sides] for eval_ in one.sides}
    found = [f"{eval_} (not in {', '.join(letters)})" for eval_, letters in lacking.items() if letters]
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    return f"only in {called(one)}: {', '.join(found[:_NAMED])}{more}" if found else ""


def _grouping(made: Sequence[Contender], chosen: Chosen) -> list[str]:
    known = fields(made)
    return [f"samples can be grouped by {', '.join(known)}: --groups"] if known and not chosen.groups else []
