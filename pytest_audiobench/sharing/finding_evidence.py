"""The findings of a submission, checked against the samples' statistics, and the way to the first one's evidence."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

from pytest_audiobench.errors import UsageError
from pytest_audiobench.evaluation.comparable_eval import ComparableEval
from pytest_audiobench.evaluation.comparable_samples import statistics_of
from pytest_audiobench.gate.baseline.contents import Contents
from pytest_audiobench.records.fields import plain
from pytest_audiobench.records.run import FindingRecord, ItemRecord
from pytest_audiobench.records.submission import Payload, SubmittedFindings, TopFinding
from pytest_audiobench.sharing.evidence import other_versions
from pytest_audiobench.studies.findings import METRIC, STATISTIC, Trial, tested

_CUT = re.compile(r"[0-9a-f]{16}")
_NOTHING = object()


def findings_of(items: Sequence[ItemRecord]) -> list[SubmittedFindings]:
    """What was found of each item. The phrases that a model made up are texts, and stay in the run."""
    return [
        SubmittedFindings(
            eval=item.eval,
            findings=item.findings.findings,
            top_finding=item.findings.top_finding,
            validation_summary=item.findings.validation_summary,
            findings_methods=item.findings.findings_methods,
        )
        for item in items
        if item.findings is not None
    ]


def top_of(findings: Sequence[SubmittedFindings], evidence: Contents) -> TopFinding | None:
    """The top finding of the first item that has one, and the ids of the samples that it is about."""
    for entry in findings:
        top = next((finding for finding in entry.findings if finding.id == entry.top_finding), None)
        if entry.top_finding and top is not None:
            return TopFinding(entry.eval, top.id, top, _samples(top, evidence.sides[entry.eval]))
    return None


def same_findings(payload: Payload, evidence: Contents) -> tuple[bool, str] | None:
    """Whether all that was found follows from the samples' statistics, and what to say; None where nothing was found.

    The split, the tests and the intervals are made again, as ``studies/findings.py`` makes them.
    """
    if not {entry.eval for entry in payload.findings} <= evidence.sides.keys():
        return False, "there are findings of an eval that is not one of the suite's"
    if payload.top_finding != top_of(payload.findings, evidence):
        return False, "it is not the first that stands, or is of other samples than those of its part"
    try:
        return _checked(payload, evidence)
    except (LookupError, ValueError):
        return False, "the findings are not as a run records them"


def _checked(payload: Payload, evidence: Contents) -> tuple[bool, str] | None:
    evals = [entry.eval for entry in payload.findings]
    if len(set(evals)) < len(evals):
        return False, "an eval has findings twice"
    whole = [entry for entry in payload.findings if entry.findings or entry.findings_methods or entry.top_finding]
    if not whole:
        return None
    unknown = []
    for entry in whole:
        if (methods := entry.findings_methods) is None:
            return False, f"the findings of {entry.eval} do not say how they were found"
        trials = _trials(evidence.sides[entry.eval], methods.by)
        if isinstance(trials, str):
            unknown.append(f"those of {entry.eval} are as the signer states them: {trials}")
            continue
        try:
            recomputed = tested(trials, methods.by, int(methods.split.seed))
        except UsageError as error:
            return False, str(error)
        expected = {name: plain(getattr(recomputed, name)) for name in SubmittedFindings.__struct_fields__[1:]}
        recorded = {name: plain(getattr(entry, name)) for name in expected}
        if (place := _difference(recorded, expected, "")) is not None:
            if not (made_by := other_versions(payload)):
                return False, f"{place[1:]} of {entry.eval} is another than its samples give"
            unknown.append(f"{place[1:]} of {entry.eval} is another made again, and other versions made it: {made_by}")
    count = sum(len(entry.findings) for entry in whole)
    right = [] if len(unknown) == len(whole) else [f"{count} are what their samples give, split and tested again"]
    return True, "; ".join([*right, *unknown])


def _trials(side: ComparableEval, by: str) -> list[Trial] | str:
    """What was tested of an eval, of its samples' statistics; or why these do not tell it."""
    scorer = next((name for name, metric_names in side.metrics.items() if METRIC in metric_names), None)
    if scorer is None:
        return f"the evidence lacks the statistics of {METRIC}"
    if not all(by in row.groups for row in side.rows):
        return f"the evidence does not name the {by} of each sample"
    first = [row.cluster or row.sample_id for row in side.rows if row.epoch == 0]
    # As an eval has it: where no cluster holds two samples, these are named by the samples.
    if not (alone := len(set(first)) == len(first)) and any(_CUT.fullmatch(name) for name in first):
        return "the evidence names the clusters by the beginnings of clips' keys only"
    return [
        Trial(
            row.sample_id,
            row.sample_id if alone else row.cluster or row.sample_id,
            row.groups[by],
            None if (scores := statistics_of(row, scorer, METRIC)) is None else bool(round(scores[STATISTIC])),
        )
        for row in side.rows
    ]


def _difference(recorded: Any, recomputed: Any, place: str) -> str | None:
    """Where two records differ; numbers may in their last digits, since libraries sum in other orders."""
    if isinstance(recorded, dict) and isinstance(recomputed, dict):
        names = {**recomputed, **recorded}
        each = ((recorded.get(name, _NOTHING), recomputed.get(name, _NOTHING), f"{place}.{name}") for name in names)
    elif isinstance(recorded, (list, tuple)) and isinstance(recomputed, (list, tuple)):
        if len(recorded) != len(recomputed):
            return place
        each = ((*pair, f"{place}[{at}]") for at, pair in enumerate(zip(recorded, recomputed, strict=True)))
    elif isinstance(recorded, float) and isinstance(recomputed, float):
        return None if math.isclose(recorded, recomputed, rel_tol=1e-9, abs_tol=1e-12) else place
    else:
        return None if recorded == recomputed else place
    return next((odd for arguments in each if (odd := _difference(*arguments)) is not None), None)


def _samples(finding: FindingRecord, side: ComparableEval) -> list[str]:
    """The samples of the part that the finding is about: those it names, else those of its group."""
    discovery, holdout = finding.discovery.clips, finding.holdout.clips
    if discovery is not None and holdout is not None:
        return sorted({*discovery, *holdout})
    return sorted({row.sample_id for row in side.rows if row.is_in(finding.slice)})


def finding_lines(payload: Payload) -> Iterator[str]:
    """The top finding of a payload that holds and the way to its evidence, a line each; nothing where there is none."""
    if (top := payload.top_finding) is None:
        return
    finding = top.finding
    yield f"top finding: {top.id} in {top.eval}, {finding.status}: effect {_number(finding.effect_size)}"
    for half, side in (("discovery", finding.discovery), ("holdout", finding.holdout)):
        named = "" if side.clips is None else f": {', '.join(side.clips)}"
        rates = f"{_number(side.domain_rate)} against {_number(side.other_rate)} of the others"
        yield f"{half}: {rates}, p {_number(side.p_value)}, {side.clip_count_domain} samples{named}"
    methods = next(entry.findings_methods for entry in payload.findings if entry.eval == top.eval)
    if methods is not None:
        yield f"split by seed {methods.split.seed}: {methods.split.rule}"
    part = ", ".join(f"{name} {value}" for name, value in finding.slice.items())
    yield f"evidence: payload.evidence, eval {top.eval}, the lines of the {len(top.samples)} samples of {part}"


def _number(value: float | None) -> str:
    return "None" if value is None else f"{value:.4g}"
