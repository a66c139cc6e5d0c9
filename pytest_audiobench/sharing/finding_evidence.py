"""The findings of a submission, checked against the samples' statistics, and the way to the first one's evidence."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from pytest_audiobench.errors import UsageError
from pytest_audiobench.evaluation.comparable_eval import ComparableEval, statistics_of
from pytest_audiobench.gate.baseline.contents import Contents
from pytest_audiobench.sharing.evidence import other_versions
from pytest_audiobench.sharing.submission import decimals
from pytest_audiobench.studies.findings import METRIC, STATISTIC, Trial, tested

Json = Mapping[str, Any]

_HALVES = ("discovery", "holdout")
_CUT = re.compile(r"[0-9a-f]{16}")
_NOTHING = object()


def findings_of(items: Sequence[Json]) -> list[dict[str, Any]]:
    """What was found of each item. The phrases that a model made up are texts, and stay in the run."""
    findings = [(item["eval"], item["findings"]) for item in items if item.get("findings")]
    return [
        {"eval": eval_, **decimals({name: value for name, value in record.items() if name != "phrases"})}
        for eval_, record in findings
    ]


def top_of(findings: Sequence[Json], evidence: Contents) -> dict[str, Any] | None:
    """The top finding of the first item that has one, and the ids of the samples that it is about."""
    for entry in findings:
        top = next((finding for finding in entry["findings"] if finding.get("id") == entry["top_finding"]), None)
        if entry["top_finding"] and top is not None:
            samples = _samples(top, evidence.sides[entry["eval"]])
            return {"eval": entry["eval"], "id": str(top["id"]), "finding": top, "samples": samples}
    return None


def same_findings(payload: Json, evidence: Contents) -> tuple[bool, str] | None:
    """Whether all that was found follows from the samples' statistics, and what to say; None where nothing was found.

    The split, the tests and the intervals are made anew, as ``studies/findings.py`` makes them.
    """
    try:
        expected = top_of(payload["findings"], evidence)
        if payload["top_finding"] != expected:
            return False, "it is not the first that stands, or is of other samples than those of its part"
        # What cannot be told in words is none of a run's findings either.
        list(finding_lines(payload))
        return _checked(payload, evidence)
    except (KeyError, TypeError, AttributeError, ValueError, StopIteration):
        return False, "the findings are not as a run records them"


def _checked(payload: Json, evidence: Contents) -> tuple[bool, str] | None:
    evals = [entry["eval"] for entry in payload["findings"]]
    if len(set(evals)) < len(evals):
        return False, "an eval has findings twice"
    names = ("findings", "findings_methods", "top_finding")
    whole = [entry for entry in payload["findings"] if any(entry[name] for name in names)]
    if not whole:
        return None
    unknown = []
    for entry in whole:
        by, seed = (entry["findings_methods"][name] for name in ("by", "split"))
        trials = _trials(evidence.sides[entry["eval"]], str(by))
        if isinstance(trials, str):
            unknown.append(f"those of {entry['eval']} are as the signer states them: {trials}")
            continue
        try:
            recomputed = asdict(tested(trials, str(by), int(seed["seed"])))
        except UsageError as error:
            return False, str(error)
        del recomputed["phrases"]
        recorded = {name: value for name, value in entry.items() if name != "eval"}
        if (place := _difference(recorded, decimals(recomputed), "")) is not None:
            if not (made_by := other_versions(payload)):
                return False, f"{place[1:]} of {entry['eval']} is another than its samples give"
            unknown.append(
                f"{place[1:]} of {entry['eval']} is another made anew, and other versions made it: {made_by}"
            )
    count = sum(len(entry["findings"]) for entry in whole)
    right = [] if len(unknown) == len(whole) else [f"{count} are what their samples give, split and tested anew"]
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
    alone = len(set(first)) == len(first)
    if not alone and any(_CUT.fullmatch(name) for name in first):
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
    """Where two records differ; decimals may in their last digits, since libraries sum in other orders."""
    if isinstance(recorded, dict) and isinstance(recomputed, dict):
        names = {**recomputed, **recorded}
        each = ((recorded.get(name, _NOTHING), recomputed.get(name, _NOTHING), f"{place}.{name}") for name in names)
    elif isinstance(recorded, list) and isinstance(recomputed, list) and len(recorded) == len(recomputed):
        each = ((*pair, f"{place}[{at}]") for at, pair in enumerate(zip(recorded, recomputed, strict=True)))
    else:
        return None if _alike(recorded, recomputed) else place
    return next((odd for arguments in each if (odd := _difference(*arguments)) is not None), None)


def _alike(recorded: object, recomputed: object) -> bool:
    if type(recorded) is not type(recomputed) or recorded == recomputed or not isinstance(recorded, str):
        return type(recorded) is type(recomputed) and recorded == recomputed
    try:
        return math.isclose(float(recorded), float(str(recomputed)), rel_tol=1e-9, abs_tol=1e-12)
    except ValueError:
        return False


def _samples(finding: Json, side: ComparableEval) -> list[str]:
    """The samples of the part that the finding is about: those it names, else those of its group."""
    named = [finding[half].get("clips") for half in _HALVES]
    if None not in named:
        return sorted({str(name) for names in named for name in names})
    part = {str(name): str(value) for name, value in finding["slice"].items()}
    return sorted({row.sample_id for row in side.rows if row.is_in(part)})


def finding_lines(payload: Json) -> Iterator[str]:
    """The top finding of a payload that holds and the way to its evidence, a line each; nothing where there is none."""
    top = payload["top_finding"]
    if top is None:
        return
    finding, samples = top["finding"], top["samples"]
    effect = _number(finding.get("effect_size"))
    yield f"top finding: {top['id']} in {top['eval']}, {finding.get('status')}: effect {effect}"
    for half in _HALVES:
        numbers = finding.get(half, {})
        clips = numbers.get("clips")
        named = "" if clips is None else f": {', '.join(map(str, clips))}"
        rates = f"{_number(numbers.get('domain_rate'))} against {_number(numbers.get('other_rate'))} of the others"
        yield f"{half}: {rates}, p {_number(numbers.get('p_value'))}, {numbers.get('clip_count_domain')} samples{named}"
    methods = (entry["findings_methods"] for entry in payload["findings"] if entry["eval"] == top["eval"])
    if split := next(methods).get("split"):
        yield f"split by seed {split.get('seed')}: {split.get('rule')}"
    part = ", ".join(f"{name} {value}" for name, value in finding["slice"].items())
    yield f"evidence: payload.evidence, eval {top['eval']}, the lines of the {len(samples)} samples of {part}"


def _number(value: object) -> str:
    """A decimal as people read it; what is none, as it is."""
    try:
        return f"{float(str(value)):.4g}"
    except ValueError:
        return str(value)
