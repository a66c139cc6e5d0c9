"""The checks of a run's lines, numbers and findings, by scoring its answers again."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TypeAlias, TypeVar

from pytest_audiobench.errors import AudiobenchError
from pytest_audiobench.evaluation.answer_collection import SampleAnswers
from pytest_audiobench.evaluation.human_labels import is_by_people
from pytest_audiobench.evaluation.perturbation_series import NEEDS
from pytest_audiobench.evaluation.robustness import figures_beside
from pytest_audiobench.evaluation.scoring import WITHOUT, ScoredSample, metric_record, scored_rows
from pytest_audiobench.metrics.definitions.human_labels import METRICS as BY_PEOPLE
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.protocols.judged.people import AGAINST
from pytest_audiobench.records import run as records
from pytest_audiobench.records.fields import plain
from pytest_audiobench.records.lines import LINE_FILES, ProcessedRow, ScoredRow
from pytest_audiobench.records.reading import as_read, numbered_lines, read_lines
from pytest_audiobench.report import run_writer
from pytest_audiobench.report.formatting import group_text
from pytest_audiobench.report.run_writer import runtime
from pytest_audiobench.rescoring import own_run
from pytest_audiobench.rescoring.layouts import Source
from pytest_audiobench.rescoring.recorded_rows import sample_answers
from pytest_audiobench.rescoring.rescore import ScoringOptions, metric_identity, protocol_of, rescore
from pytest_audiobench.studies.findings import METRIC, found_of
from pytest_audiobench.verifier.checks import Check, fails, not_recomputed, ok
from pytest_audiobench.verifier.differences import Difference, first_difference, json_excerpt

Key: TypeAlias = tuple[str, str]
"""An item's eval and model."""

_PACKAGES = ("pytest-audiobench", "numpy", "scipy", "jiwer", "sacrebleu")
_CLOSE = 1e-9
"""Relative. Another release of a library may sum in another order, which is not a finding."""


@dataclass(frozen=True)
class Numbers:
    """The comparison of recorded numbers with recomputed ones: exact where the same versions made both."""

    changed: str

    @classmethod
    def of(cls, record: records.RunRecord) -> Numbers:
        """For a run whose run.json is ``record``."""
        there, here = record.runtime, runtime()
        changed = [
            f"{name} {there.packages.get(name, 'unknown')} there, {here.packages.get(name, 'none')} here"
            for name in _PACKAGES
            if there.packages.get(name) != here.packages.get(name)
        ]
        if there.python != here.python:
            changed.append(f"Python {there.python} there, {here.python} here")
        return cls(", ".join(changed))

    @property
    def but(self) -> str:
        """What a reader of a difference must know."""
        return f" (other versions: {self.changed})" if self.changed else ""

    def differ(self, recorded: object, recomputed: object) -> bool:
        """Whether two values are not the same number, text or object."""
        if self.changed and type(recorded) in (int, float) and type(recomputed) in (int, float):
            return not math.isclose(float(str(recorded)), float(str(recomputed)), rel_tol=_CLOSE, abs_tol=_CLOSE)
        if isinstance(recorded, dict) and isinstance(recomputed, dict):
            return recorded.keys() != recomputed.keys() or any(
                self.differ(recorded[name], recomputed[name]) for name in recomputed
            )
        if isinstance(recorded, list) and isinstance(recomputed, list):
            return len(recorded) != len(recomputed) or any(map(self.differ, recorded, recomputed))
        return type(recorded) is not type(recomputed) or recorded != recomputed

    def metrics_check(
        self, recorded: Sequence[records.MetricRecord], recomputed: Sequence[records.MetricRecord]
    ) -> Check:
        """Whether recomputed metrics are as recorded; the first that is not, and how."""
        before, after = ({metric_identity(metric): metric for metric in metrics} for metrics in (recorded, recomputed))
        for about, metric in after.items():
            if about not in before:
                return fails("metrics", f"{_metric_name(metric)} is not in run.json{self.but}")
            values = plain(before[about])
            for name, value in plain(metric).items():
                if self.differ(values[name], value):
                    old, what = values[name], "" if name == "value" else f": its {name}"
                    texts = f"{json_excerpt(old, value)} in run.json and {json_excerpt(value, old)} recomputed"
                    return fails("metrics", f"{_metric_name(metric)}{what} is {texts}{self.but}")
        for about, metric in before.items():
            if about not in after:
                name = _metric_name(metric)
                return fails("metrics", f"{name} in run.json is none that the answers give{self.but}")
        return ok("metrics")


def check_scores(
    folder: Path, record: records.RunRecord, wanted: Mapping[Key, records.ItemRecord]
) -> dict[Key, list[Check]]:
    """By item, whether scoring its answers again gives what the run holds. Raises FatalError for unreadable lines."""
    numbers = Numbers.of(record)
    with tempfile.TemporaryDirectory() as place:
        rescored, why = _scored_again(folder, record, list(wanted), Path(place))
        checks: dict[Key, list[Check]] = {}
        alike: dict[Key, set[str]] = {}
        for key, item in wanted.items():
            if key not in rescored:
                status = fails if key in why and why[key].startswith(_BROKEN) else not_recomputed
                checks[key] = [status("metrics", why.get(key, "its answers could not be scored again"))]
                continue
            same, left = _same_scorers(item, rescored[key].item)
            alike[key] = same
            checks[key] = [not_recomputed("scorers", left)] if left else []
        parts = {key: rescored[key] for key in alike}
        lines = {
            "processed": _line_differences(folder, "processed", ProcessedRow, parts, alike, numbers),
            "scored": _line_differences(folder, "scored", ScoredRow, parts, alike, numbers),
        }
        for key, same in alike.items():
            checks[key] += _human_label_checks(folder, wanted[key], numbers)
            if same:
                for kind, differences in lines.items():
                    checks[key].append(fails(kind, differences[key]) if key in differences else ok(kind))
                checks[key] += _number_checks(wanted[key], rescored[key].item, same, numbers)
    return checks


_LABELS = "human labels"


def _human_label_checks(folder: Path, item: records.ItemRecord, numbers: Numbers) -> Iterator[Check]:
    """Whether the figures by human labels are those of the labels and verdicts in the scored lines, if there are any;
    the verdicts are read there, and no judge is asked again.
    """
    signatures = {scorer.name: scorer.signature for scorer in item.scorers if is_by_people(scorer.signature)}
    if not signatures:
        return
    lines: dict[str, list[ScoredRow]] = {}
    for row in read_lines(folder / LINE_FILES["scored"], ScoredRow):
        if (row.eval, row.model) == (item.eval, item.model):
            lines.setdefault(row.scorer, []).append(row)
    for name, signature in signatures.items():
        judge = {row.sample_id: _figure(row) for row in lines.get(name.removesuffix(AGAINST), ())}
        for row in lines.get(name, ()):
            if row.scores is not None and judge.get(row.sample_id, row.scores["figure"]) != row.scores["figure"]:
                yield fails(_LABELS, f"the judge's figure of {row.sample_id!r} is another by {name}{numbers.but}")
                return
        for metric in item.metrics:
            if metric.scorer == name and metric.name in BY_PEOPLE:
                rows = [row for row in lines.get(name, ()) if row.scores is not None and _is_of(row, metric.group)]
                clusters = [row.sample_id if row.cluster is None else row.cluster for row in rows]
                estimate = metric_kind(metric.name).estimate([row.scores or {} for row in rows], clusters)
                again = metric_record(metric_kind(metric.name), estimate, name, signature, metric.group)
                if any(numbers.differ(getattr(metric, each), getattr(again, each)) for each in _OF_FIGURES):
                    yield fails(_LABELS, f"{_metric_name(metric)} is another recomputed than in run.json{numbers.but}")
                    return
    yield ok(_LABELS)


def _figure(row: ScoredRow) -> float | None:
    return None if row.scores is None else row.scores.get("points", row.scores.get("correct"))


def _is_of(row: ScoredRow, group: Mapping[str, str]) -> bool:
    without = group.get(WITHOUT)
    if without is not None and without in row.failures:
        return False
    return all(row.groups.get(name) == value for name, value in group.items() if name != WITHOUT)


_BROKEN = "its lines cannot be scored: "


def _scored_again(
    folder: Path, record: records.RunRecord, wanted: Sequence[Key], place: Path
) -> tuple[dict[Key, run_writer.Part], dict[Key, str]]:
    if not wanted:
        return {}, {}
    file = folder / LINE_FILES["predictions"]
    try:
        source = Source("run", (file,), partial(own_run.read, file, set(wanted)), record)
        part_folder = place / str(len(list(place.iterdir())))
        part_folder.mkdir()
        results = rescore(source, ScoringOptions(), part_folder)
    except AudiobenchError as error:
        if len(wanted) == 1:
            unreadable = " was not scored: " in str(error)
            return {}, {wanted[0]: str(error) if unreadable else f"{_BROKEN}{error}"}
        # One item's lines must not keep the others from being looked at.
        done: dict[Key, run_writer.Part] = {}
        why: dict[Key, str] = {}
        for key in wanted:
            parts, reasons = _scored_again(folder, record, [key], place)
            done.update(parts)
            why.update(reasons)
        return done, why
    done = {(part.item.eval, part.item.model): part for part in run_writer.whole_parts(part_folder)}
    left = [key for key in wanted if key not in done]
    return done, {key: note for key in left for note in results.notes if note.startswith(f"{key[0]} was ")}


def _same_scorers(item: records.ItemRecord, rescored: records.ItemRecord) -> tuple[set[str], str]:
    here = {scorer.name: scorer.signature for scorer in rescored.scorers}
    there = {scorer.name: scorer.signature for scorer in item.scorers}
    missing = [name for name in there if name not in here]
    other = [name for name in there if name in here and here[name] != there[name]]
    reasons = [f"{', '.join(missing)}: read by a judge, or by a protocol of the test's own"] if missing else []
    reasons += [f"{name} is another rule here ({here[name]}) than in the run ({there[name]})" for name in other[:1]]
    return {name for name in there if here.get(name) == there[name]}, "; ".join(reasons)


def _number_checks(
    item: records.ItemRecord, rescored: records.ItemRecord, same: Collection[str], numbers: Numbers
) -> Iterator[Check]:
    before, after = (
        {scorer.name: scorer.coverage for scorer in each.scorers if scorer.name in same} for each in (item, rescored)
    )
    odd = [name for name in after if before[name] != after[name]]
    if numbers.differ(plain(item.agreement), plain(rescored.agreement)) and item.scorers[0].name in same:
        odd.append("the agreement of epochs")
    if odd:
        yield fails("scorers", f"the counts of {odd[0]} are others recomputed than in run.json{numbers.but}")
    elif len(same) == len(item.scorers):
        yield ok("scorers")
    recorded = [metric for metric in item.metrics if metric.scorer in same]
    yield numbers.metrics_check(recorded, [metric for metric in rescored.metrics if metric.scorer in same])


_Row = TypeVar("_Row", ProcessedRow, ScoredRow)


def _line_differences(
    folder: Path,
    kind: str,
    row_type: type[_Row],
    rescored: Mapping[Key, run_writer.Part],
    alike: Mapping[Key, Collection[str]],
    numbers: Numbers,
) -> dict[Key, str]:
    file = folder / LINE_FILES[kind]
    differences: dict[Key, str] = {}
    seen: set[Key] = set()
    for key, lines in groupby(numbered_lines(file, row_type), lambda numbered: (numbered[1].eval, numbered[1].model)):
        if key not in rescored or key in differences:
            continue
        if key in seen:
            differences[key] = f"{file.name}, line {next(lines)[0]}: the lines of one eval do not lie together"
            continue
        seen.add(key)
        again = read_lines(rescored[key].lines(kind), row_type)
        expected = (row for row in again if row.scorer in alike[key])
        for number, row in lines:
            if row.scorer in alike[key] and (why := _row_difference(row, next(expected, None), numbers)) is not None:
                differences[key] = f"{file.name}, line {number}: {why}"
                break
        else:
            if (missing := next(expected, None)) is not None:
                differences[key] = f"{file.name} lacks {missing.sample_id!r} (epoch {missing.epoch})"
    unseen = [key for key in rescored if key not in seen and alike[key]]
    return differences | dict.fromkeys(unseen, f"{file.name} holds no line of it")


def _row_difference(row: _Row, expected: _Row | None, numbers: Numbers) -> str | None:
    if row == expected:
        return None
    if expected is None:
        return f"{row.sample_id!r} is one line too many"
    names = ("sample_id", "epoch", "scorer")
    if any(getattr(row, name) != getattr(expected, name) for name in names):
        present, other = (" ".join(str(getattr(each, name)) for name in names) for each in (row, expected))
        return f"{present!r} stands where {other!r} is expected: a line was removed, doubled or moved"
    values, expected_values = plain(row), plain(expected)
    for name in {**expected_values, **values}:
        value, other_value = values.get(name), expected_values.get(name)
        if numbers.differ(value, other_value):
            path, before, after = first_difference(value, other_value, name) or Difference(name, None, None)
            texts = f"{json_excerpt(before, after)} in the file and {json_excerpt(after, before)} recomputed"
            return f"{path} of {row.sample_id!r} is {texts}{numbers.but}"
    return None


def _metric_name(metric: records.MetricRecord) -> str:
    group = f" [{group_text(metric.group)}]" if metric.group else ""
    return f"{metric.name} by {metric.scorer}{group}"


def count_checks(recorded: records.SuiteRecord, recomputed: records.SuiteRecord, sound: bool) -> Check:
    """How many samples and evals there are, and how they were answered; ``sound`` where the evals' counts hold."""
    if not sound:
        return not_recomputed("counts", "they rest on an eval's counts, which fail")
    names = ("n", "evals", "limited", "scorers")
    odd = [name for name in names if getattr(recorded, name) != getattr(recomputed, name)]
    return fails("counts", f"{', '.join(odd)} are not those of the suite's evals") if odd else ok("counts")


_OF_FIGURES = ("value", "lower", "upper", "n")


def perturbation_checks(
    recorded: records.SuiteRecord, recomputed: records.SuiteRecord, sound: bool, numbers: Numbers
) -> Iterator[Check]:
    """What a suite says of its perturbations, where it has any; ``sound`` where the evals' metrics hold."""
    for name in ("curves", "perturbations", "orders", "aspects"):
        before, after = plain(getattr(recorded, name)), plain(getattr(recomputed, name))
        if before or after:
            if not sound:
                yield not_recomputed(name, "they rest on an eval's metrics, which fail")
            elif numbers.differ(before, after):
                yield fails(name, f"they are others recomputed than in run.json{numbers.but}")
            else:
                yield ok(name)


_ROBUSTNESS = "robustness"


def figure_check(
    items: Sequence[records.ItemRecord], recomputed: records.SuiteRecord, numbers: Numbers
) -> Iterator[Check]:
    """What evals record of themselves asked otherwise (lift, worst order), compared with their suite's figures;
    no check where none has any.
    """
    odd, missing = dict[str, None](), dict[str, None]()
    for item in items:
        expected = {metric.name: metric for metric in figures_beside(item, recomputed)}
        for metric in item.metrics:
            if item.perturbation is None or metric.scorer is not None or metric.name not in NEEDS:
                continue
            again = expected.get(metric.name)
            if again is None or again.method != metric.method:
                missing[f"{metric.name} of {item.eval}"] = None
            elif any(numbers.differ(getattr(metric, name), getattr(again, name)) for name in _OF_FIGURES):
                odd[f"{metric.name} of {item.eval}"] = None
    if odd:
        yield fails(_ROBUSTNESS, f"{', '.join(odd)} are others recomputed than in run.json{numbers.but}")
    elif missing:
        yield not_recomputed(_ROBUSTNESS, f"{', '.join(missing)}: what it was compared with is not in this run")
    elif any(metric.name in NEEDS and item.perturbation for item in items for metric in item.metrics):
        yield ok(_ROBUSTNESS)


def pooled_metric_checks(
    recorded: records.SuiteRecord, recomputed: records.SuiteRecord, numbers: Numbers
) -> Iterator[Check]:
    """The pooled metrics; those that only a test registers are not known here."""
    metrics = [metric for metric in recorded.metrics if metric.scorer is not None]
    known = {metric.name for metric in recomputed.metrics}
    yield numbers.metrics_check([metric for metric in metrics if metric.name in known], recomputed.metrics)
    if left := sorted({metric.name for metric in metrics} - known):
        yield not_recomputed("further metrics", f"{', '.join(left)}: they are registered by a test, or not pooled")


_FINDINGS = "findings"


def check_findings(file: Path, key: Key, item: records.ItemRecord, numbers: Numbers) -> Check | None:
    """Whether the findings of an item are those of its answers in ``file``; None for an item that has none."""
    if (findings := item.findings) is None or not (findings.findings or findings.findings_methods):
        return None
    if findings.findings_methods is None:
        return not_recomputed(_FINDINGS, "run.json does not say how they were found")
    try:
        recomputed = _found_again(file, key, item, findings.findings_methods)
    except (AudiobenchError, LookupError, TypeError, ValueError, StopIteration) as error:
        return not_recomputed(_FINDINGS, f"they cannot be drawn again here ({type(error).__name__}: {error})")
    before, after = plain(findings), plain(recomputed)
    if (difference := first_difference(before, after, _FINDINGS)) is None or not numbers.differ(before, after):
        return ok(_FINDINGS)
    excerpts = json_excerpt(difference.before, difference.after), json_excerpt(difference.after, difference.before)
    return fails(_FINDINGS, f"{difference.path} is {excerpts[0]} in run.json and {excerpts[1]} recomputed{numbers.but}")


def _found_again(
    file: Path, key: Key, item: records.ItemRecord, methods: records.FindingMethodsRecord
) -> records.FindingsRecord:
    return as_read(found_of(_finding_rows(file, key, item), methods.by, int(methods.split.seed)))


def _finding_rows(file: Path, key: Key, item: records.ItemRecord) -> list[ScoredSample]:
    answered = [sample_answers(row) for row in own_run.read(file, {key})]
    protocol = protocol_of(item.protocol, item.options)
    names = [scorer.name for scorer in item.scorers if scorer.name in protocol.available]
    scorer = next(name for name in names if METRIC in protocol.available[name].metrics)
    return list(scored_rows(protocol.with_scorers(scorer), answered, _clusters(answered, item.cluster))[scorer])


def _clusters(answered: Sequence[SampleAnswers], field: str | None) -> list[str]:
    """Each row's cluster as the eval had it: where none holds two samples, the samples themselves."""
    clusters = [
        (answers.selected.recording or answers.sample_id)
        if field is None
        else str(answers.selected.sample.metadata.get(field, answers.sample_id))
        for answers in answered
    ]
    first = [cluster for cluster, answers in zip(clusters, answered, strict=True) if answers.epoch == 0]
    return clusters if len(set(first)) < len(first) else [answers.sample_id for answers in answered]
