"""The comparison of ``audiobench compare``: whether its contenders may be compared, and its lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pytest_audiobench.comparison import comparison_lines
from pytest_audiobench.comparison.alignment import aligned
from pytest_audiobench.comparison.contenders import Contender
from pytest_audiobench.comparison.curve_comparison import CurveLine, curve_lines
from pytest_audiobench.comparison.finding_comparison import FindingLine, finding_lines
from pytest_audiobench.comparison.mismatches import COMPONENTS, ENCODER, Mismatch, mismatches
from pytest_audiobench.compat.thenirock_audiobench.artifact import run_hash
from pytest_audiobench.compat.thenirock_audiobench.comparison import asking_differences, caution
from pytest_audiobench.compat.thenirock_audiobench.figures import figure_notes
from pytest_audiobench.errors import UsageError
from pytest_audiobench.evaluation.comparable_eval import NEVER_COMPARED
from pytest_audiobench.gate.thresholds import ALPHA, MARGIN
from pytest_audiobench.io.mistakes import listed
from pytest_audiobench.verifier.differences import Difference

_NAMED = 5


class Rules(NamedTuple):
    """How strict a comparison is: the level, the largest drop that is none, the components that may differ."""

    alpha: float = ALPHA
    max_drop: str = MARGIN
    allow: Collection[str] = ()


@dataclass(frozen=True)
class Comparison:
    """Lines of numbers, the first contender's and the others'."""

    contenders: Sequence[Contender]
    lines: Sequence[comparison_lines.ComparedLine]
    rules: Rules
    heading: Sequence[str]
    """What the reader must know before any number."""
    notes: Sequence[str]
    curves: Sequence[CurveLine] = ()
    """How figures over perturbations differ; these have no verdict."""
    findings: Sequence[FindingLine] = ()
    """The top findings; these have no verdict either."""

    @property
    def comparisons(self) -> int:
        """Among how many alpha is divided."""
        return max(1, sum(line.plan.comparisons for line in self.lines))

    def exit_status(self) -> int:
        """1 when a line regressed; 6 where none did and something could not be read or compared; else 0."""
        statuses = {
            regression.status for line in self.lines for regression in line.regressions if regression is not None
        }
        if "regressed" in statuses:
            return 1
        missing = any(line.plan.sides[0] is not None and None in line.plan.sides for line in self.lines)
        unread = any(contender.passed_over for contender in self.contenders)
        return 6 if "not_comparable" in statuses or missing or unread else 0


def compare(contenders: Sequence[Contender], chosen: comparison_lines.Selection, rules: Rules) -> Comparison:
    """The comparison of every other contender with the first.

    Raises UsageError where no eval is common, where what went in differs in a component that is not allowed to, and
    for choices that fit nothing.
    """
    first, others = contenders[0], contenders[1:]
    for other in others:
        if first.sides.keys().isdisjoint(other.sides):
            evals = [f"{each.letter} has {', '.join([*each.sides][:_NAMED]) or 'none'}" for each in (first, other)]
            raise UsageError(f"{first.name} and {other.name} have no eval in common: {'; '.join(evals)}")
    scorers = {eval_: comparison_lines.selected_scorers(side, chosen.scorers) for eval_, side in first.sides.items()}
    differing = [
        (other, mismatch)
        for other in others
        for mismatch in (*_artifact_mismatches(first, other), *mismatches(first, other, scorers))
    ]
    if refused := [pair for pair in differing if pair[1].component not in rules.allow]:
        raise UsageError(_refusal(first, refused))
    limited = {
        eval_
        for contender in contenders
        for eval_, side in contender.sides.items()
        if side.limited and sum(eval_ in other.sides for other in contenders) > 1
    }.difference(*(evals for _, _, evals in _contenders_without_pairs(contenders)))
    components: dict[str, set[str]] = {}
    for _, mismatch in differing:
        components.setdefault(mismatch.eval, set()).add(mismatch.component)
    fitted = aligned(contenders, limited, components)
    lines, notes = comparison_lines.planned_lines(fitted, chosen)
    only = [_unshared_evals(first, others), *(_unshared_evals(other, [first]) for other in others)]
    known = [] if chosen.groups else comparison_lines.group_choices(lines)
    pairs = [(first.artifact, other.artifact, (first.letter, other.letter)) for other in others]
    figures = [note for a, b, names in pairs if a and b and a.suite == b.suite for note in figure_notes(a, b, names)]
    hint = [f"--groups FIELD compares groups too: {', '.join(known[:_NAMED])}"] if known else []
    return Comparison(
        contenders=fitted,
        lines=comparison_lines.compared_lines(lines, rules.alpha, rules.max_drop),
        rules=rules,
        heading=[
            *_artifact_warnings(contenders),
            *_allowed_mismatches(first, differing),
            *_reduced_samples(contenders, fitted, limited),
            *(f"{each.name} is not whole: {'; '.join(each.missing[:_NAMED])}" for each in contenders if each.missing),
            *dict.fromkeys(note for each in contenders for note in (*each.passed_over, *each.notes)),
        ],
        curves=curve_lines(lines),
        findings=finding_lines(contenders),
        notes=[*filter(None, only), *notes, *hint, *figures],
    )


def _artifact_mismatches(first: Contender, other: Contender) -> Iterator[Mismatch]:
    if first.artifact is not None and other.artifact is not None:
        for component, name, before, after in asking_differences(first.artifact, other.artifact):
            for eval_ in (name for name in first.sides if name in other.sides):
                yield Mismatch(eval_, component, Difference(name, before, after))


def _artifact_warnings(contenders: Sequence[Contender]) -> Iterator[str]:
    theirs = [(contender, contender.artifact) for contender in contenders if contender.artifact is not None]
    if theirs:
        yield caution([contender.name for contender, _ in theirs])
    for contender, artifact in theirs:
        if run_hash(artifact) not in (None, artifact.content["run_hash"]):
            name, source = contender.name, contender.source
            yield f"EDITED: the run_hash of {name} is not that of its answers: audiobench verify {source}"
    for contender, other, evals in _contenders_without_pairs(contenders):
        yield (
            f"NOT PAIRED: {contender.name} and {other.name} have no sample in common in {_count(evals)}; their numbers "
            "are listed side by side, and no difference is tested"
        )


def _contenders_without_pairs(contenders: Sequence[Contender]) -> Iterator[tuple[Contender, Contender, list[str]]]:
    """Each artifact and run of ours with the evals of which they have no sample in common."""
    for contender in contenders:
        for other in contenders:
            if contender.artifact is not None and other.artifact is None:
                common = [name for name in contender.sides if name in other.sides]
                if apart := [name for name in common if _ids(contender, name).isdisjoint(_ids(other, name))]:
                    yield contender, other, apart


def _ids(contender: Contender, eval_: str) -> set[str]:
    return {row.sample_id for row in contender.sides[eval_].rows}


def _refusal(first: Contender, refused: Sequence[tuple[Contender, Mismatch]]) -> str:
    for other, mismatch in refused:
        if mismatch.component == ENCODER:
            return f"{mismatch.says(first.name, other.name)}, and {NEVER_COMPARED}"
    other, mismatch = refused[0]
    components = [name for name in COMPONENTS if any(name == each.component for _, each in refused)]
    counts = Counter(each.component for _, each in refused)
    listed = ", ".join(f"{name} ({counts[name]})" for name in components)
    return (
        f"{first.name} and {other.name} were not asked the same: {mismatch.says(first.letter, other.letter)}. "
        f"What differs, in how many evals: {listed}. {' '.join(f'--allow-mismatch {name}' for name in components)} "
        "compares anyway, on the samples that pair"
    )


def _allowed_mismatches(first: Contender, differing: Sequence[tuple[Contender, Mismatch]]) -> list[str]:
    lines: list[str] = []
    for component in COMPONENTS:
        if pairs := [(other, mismatch) for other, mismatch in differing if mismatch.component == component]:
            other, mismatch = pairs[0]
            evals = len({each.eval for _, each in pairs})
            lines.append(
                f"NOT THE SAME {component.upper()}, compared anyway (--allow-mismatch {component}; {evals} "
                f"eval{'s' * (evals > 1)}): {mismatch.says(first.letter, other.letter)}"
            )
    return lines


def _reduced_samples(
    contenders: Sequence[Contender], fitted: Sequence[Contender], limited: Collection[str]
) -> list[str]:
    lines = []
    for contender, reduced in zip(contenders, fitted, strict=True):
        sides = contender.sides
        if changed := [eval_ for eval_ in sides if len(reduced.sides[eval_].rows) < len(sides[eval_].rows)]:
            before, after = (sum(len(side.sides[eval_].rows) for eval_ in changed) for side in (contender, reduced))
            lines.append(f"{contender.name} is compared on {after} of {before} answers in {_count(changed)}")
    short = [contender.name for contender in contenders if any(side.limited for side in contender.sides.values())]
    if limited and short:
        lines.insert(0, f"LIMITED: {', '.join(short)} took part of the samples; compared on those that all took")
    return lines


def _count(evals: Sequence[str]) -> str:
    return f"{len(evals)} eval{'s' * (len(evals) != 1)}"


def _unshared_evals(contender: Contender, others: Sequence[Contender]) -> str:
    lacking = {eval_: [other.letter for other in others if eval_ not in other.sides] for eval_ in contender.sides}
    named = [f"{eval_} (not in {', '.join(letters)})" for eval_, letters in lacking.items() if letters]
    return f"only in {contender.name}: {listed(named, _NAMED)}" if named else ""
