"""Recorded answers scored again: by the code that scored them first, one eval after the other, without asking.

Answers are read, scored and written as they come; of each only its scores are kept, so that the memory does not grow
with the texts. A protocol that must see a whole set at once (a corpus metric) is the exception: it is given one eval.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from dataclasses import replace as replaced
from itertools import chain, groupby, islice
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import msgspec
from msgspec.structs import replace

from pytest_audiobench.errors import UnsuitableModel, UsageError
from pytest_audiobench.evaluation.answer_alarms import (
    RepeatedAnswers,
    UnreadableAnswers,
    is_unreadable_alarm,
    wants_answers,
)
from pytest_audiobench.evaluation.garbage_collection import collector_paused
from pytest_audiobench.evaluation.hashes import ABSENT, INPUTS, scored_hashes
from pytest_audiobench.evaluation.human_labels import EvalLabels, HumanLabels
from pytest_audiobench.evaluation.judging import with_judges
from pytest_audiobench.evaluation.scoring import scored_rows, scores_from_rows
from pytest_audiobench.evaluation.suites import Pool, is_pooled
from pytest_audiobench.identity import digest
from pytest_audiobench.io.mistakes import listed
from pytest_audiobench.protocols.catalogue import check_options
from pytest_audiobench.protocols.judged.task import judged
from pytest_audiobench.protocols.prompt_variants import ON_RECORD, recorded_protocol
from pytest_audiobench.protocols.protocol import ALL, WEIGHING, WITHHELD, Option, Protocol
from pytest_audiobench.records.lines import ScoredRow
from pytest_audiobench.records.run import ItemRecord, MetricRecord, SuiteRecord
from pytest_audiobench.report import run_writer
from pytest_audiobench.report.formatting import counted
from pytest_audiobench.report.item_lines import ItemLines, scorer_details, unchanged_stages
from pytest_audiobench.report.json_lines import encode_line
from pytest_audiobench.report.run_writer import Lines
from pytest_audiobench.report.scorer_comparison import of_judge
from pytest_audiobench.rescoring.judge_pass import Judge, recorded_judges, rubric_for, with_verdicts
from pytest_audiobench.rescoring.layouts import Source, sentences_of
from pytest_audiobench.rescoring.majority import ConstantAnswers, Majority, below_majority
from pytest_audiobench.rescoring.own_figures import OwnFigures
from pytest_audiobench.rescoring.own_run import items_of
from pytest_audiobench.rescoring.recorded_answers import RecordedRow, valid_row
from pytest_audiobench.rescoring.recorded_rows import ScoredRows, sample_answers
from pytest_audiobench.rescoring.recorded_sounds import RecordedSounds

_CHUNK = 200
"""Answers held with their texts at a time: few enough for the processor's cache, 7 % faster than 1,000."""
_NAMED = 5


@dataclass(frozen=True)
class ScoringOptions:
    """How to read the answers: ``scorers`` by name or "all" (none: those of the run), ``family`` where it is unknown.

    ``family`` is a name with options, such as ``translation,target=zh``, and replaces what a file says.
    """

    scorers: tuple[str, ...] = ()
    family: str = ""
    judges: tuple[Judge, ...] = ()
    """Who is asked about the answers, and what; their verdicts are kept for as long as these options."""
    human_labels: HumanLabels | None = None
    audio: Path | None = None
    """The folder with the audio that the answers are about, where the page is to play it."""


@dataclass(frozen=True)
class RescoredEval:
    """The records of what was scored, as run.json holds them, and what could not be."""

    items: list[ItemRecord]
    suites: list[SuiteRecord]
    notes: list[str]
    majorities: dict[tuple[str, str], Majority]
    """What always answering the most common label would score, by eval and model, where references are labels."""
    left_out: list[str] = field(default_factory=list)
    """What could not be read or scored, of all that was named; these are among the notes."""


def rescore(source: Source, wanted: ScoringOptions, folder: Path | None = None) -> RescoredEval:
    """Score all evals of ``source``; with ``folder`` their parts are written there, to be merged as a run's.

    Raises UsageError where nothing can be scored, for an unknown scorer, and for rows of two runs in one file.
    """
    with collector_paused():
        return _rescore_source(source, wanted, folder)


def _rescore_source(source: Source, wanted: ScoringOptions, folder: Path | None) -> RescoredEval:
    recorded = items_of(source.run)
    results = RescoredEval([], [], [], {}, sentences_of(source.passed_over))
    pools: dict[tuple[str, str], Pool] = {}
    seen: set[tuple[str, str]] = set()
    unscored: dict[tuple[str, bool], dict[str, None]] = {}
    changed: Counter[tuple[str, str]] = Counter()
    members = Counter(item.suite for item in recorded.values())
    audio = wanted.audio if folder is not None else None
    if audio is not None and not source.plays_files:
        results.notes.append(
            f"of {source.layout} nothing is played: its sounds were changed before they were played to a model"
        )
        audio = None
    for (eval_, model), rows in groupby(_valid_rows(source, wanted, changed), lambda row: (row.eval, row.model)):
        if (eval_, model) in seen:
            raise UsageError(f"the rows of {eval_} by {model} do not lie together: sort the file by eval and model")
        seen.add((eval_, model))
        first = next(rows)
        old = recorded.get((eval_, model))
        asked = wanted if wanted.judges else replaced(wanted, judges=recorded_judges(first, wanted.scorers))
        try:
            protocol = _protocol(first, old, asked)
            if not protocol.fits_any_sample:
                rows = iter(rest := list(rows))
                protocol = _fitting(protocol, [first, *rest])
            protocol = _weighed(protocol, first, old, asked)
        except _NotScorable as error:
            unscored.setdefault((str(error), isinstance(error, _NotWanted)), {})[eval_] = None
            continue
        labels = _labels_of(first, old, wanted)
        protocol = protocol if labels is None else labels.beside(protocol)
        sounds = None if audio is None else RecordedSounds(audio)
        pooled = _PooledLines() if folder is None and old is not None and members[old.suite] > 1 else None
        item = _Item(len(results.items), first, old, protocol, source, folder, labels, sounds)
        record = item.scored(chain([first], rows), pooled)
        if item.majority is not None:
            results.majorities[eval_, model] = item.majority
        if not item.answered:
            results.left_out.append(f"{eval_} by {model} was not measured: it holds no answer ({first.error})")
        results.notes.extend(item.figures.findings(record))
        if sounds is not None and folder is not None:
            results.notes.extend(sounds.write(folder, record))
        if texts := changed[eval_, model]:
            results.notes.append(f"{eval_}: {texts} texts had invalid characters or were cut")
        results.items.append(record)
        if pooled is not None and is_pooled(record):
            pool = pools.setdefault((record.suite, model), Pool(record.suite, model))
            pool.add(record, pooled)
    for (why, is_choice), (eval_, *others) in unscored.items():
        also = f"; nor were {len(others)} more: {listed(others, _NAMED)}" if others else ""
        (results.notes if is_choice else results.left_out).append(f"{eval_} was not scored: {why}{also}")
    results.notes.extend(results.left_out)
    if source.others:
        names = ", ".join(file.name for file in source.others[:_NAMED])
        results.notes.append(f"{counted(len(source.others), 'file')} of no kind that holds answers ({names})")
    if source.deeper:
        names = listed([f"{file.parent.name}/{file.name}" for file in source.deeper], _NAMED)
        results.notes.append(f"not read, since they are in folders of their own: {names}")
    if without := sorted({f"{eval_} by {model}" for eval_, model in recorded.keys() - seen}):
        results.notes.append(f"the run holds no answers of {listed(without, _NAMED)}")
    if not results.items:
        raise UsageError("\n".join(results.notes) or "there is no answer to score")
    used = {ALL, *(scorer.name for item in results.items for scorer in item.scorers)}
    if unknown := [name for name in wanted.scorers if name not in used]:
        families = ", ".join(dict.fromkeys(item.protocol for item in results.items))
        raise UsageError(f"none of what was scored ({families}) has a scorer {unknown[0]!r}")
    results.suites.extend(pool.record() for pool in pools.values() if not all(item.control for item in pool.items))
    return results


def _labels_of(first: RecordedRow, old: ItemRecord | None, wanted: ScoringOptions) -> EvalLabels | None:
    if wanted.human_labels is None or (old is not None and old.control):
        return None
    return wanted.human_labels.of((first.eval, old.suite if old else first.eval), first.model)


def _valid_rows(source: Source, wanted: ScoringOptions, changed: Counter[tuple[str, str]]) -> Iterator[RecordedRow]:
    rows = with_verdicts(source.rows(), wanted.judges) if wanted.judges else source.rows()
    for row in rows:
        repaired_row, texts = valid_row(row)
        if texts:
            changed[repaired_row.eval, repaired_row.model] += texts
        yield repaired_row


def _fitting(protocol: Protocol, rows: Sequence[RecordedRow]) -> Protocol:
    try:
        return protocol.fitting([row.sample for row in rows])
    except UsageError as error:
        raise _NotScorable("; ".join(filter(None, (str(error), rows[0].note)))) from None


class _NotScorable(Exception):
    """Why one eval's answers cannot be read by any scorer; the others still can."""


class _NotWanted(_NotScorable):
    """The same of scorers that the user chose."""


def _protocol(first: RecordedRow, old: ItemRecord | None, wanted: ScoringOptions) -> Protocol:
    name, options = _family(first, old, wanted)
    try:
        protocol = protocol_of(name, options)
    except UsageError as error:
        if wanted.family:
            raise
        raise _NotScorable(f"{error}; name its family with --family NAME, or replay the run with pytest") from None
    names = wanted.scorers or (tuple(scorer.name for scorer in old.scorers) if old else first.scorers or (ALL,))
    if not protocol.available.keys() >= set(names):
        protocol = protocol.extended()
    chosen = [scorer_name for scorer_name in names if scorer_name == ALL or scorer_name in protocol.available]
    if not chosen:
        raise _NotWanted(f"{name} has no scorer {', '.join(names)}; it has {', '.join(protocol.available)}")
    try:
        # A run's own verdicts are read again where its judge is known: by pytest, which replays them.
        return with_judges(protocol.with_scorers(*chosen), {}).protocol
    except UnsuitableModel:
        if not any(judge.scorers_for(first) for judge in wanted.judges):
            why = (
                f"only a judge can score the family {first.family or name}: name one with --judge-url URL; {_REPLAYED}"
            )
            raise _NotScorable(why) from None
        return judged(None)
    except UsageError as error:
        if wanted.scorers:
            raise
        raise _NotScorable(str(error)) from None


def _weighed(protocol: Protocol, first: RecordedRow, old: ItemRecord | None, wanted: ScoringOptions) -> Protocol:
    """``protocol``, whose scorers fit, with the judges; without references where those of its run were withheld."""
    if judges := [judge for judge in wanted.judges if judge.scorers_for(first)]:
        rules = protocol if any(not scorer.judge for scorer in protocol.scorers) else None
        verdicts = [name for judge in judges for name in judge.scorers]
        # A protocol that was judged in its run knows the judgings already.
        if rules is not None and rules.judgings:
            weighed = rules.with_scorers(*(scorer.name for scorer in rules.scorers), *verdicts)
        else:
            weighed = judged(rules, *verdicts, rubric=rubric_for(first))
        bound = with_judges(weighed, {judge.handle.alias: judge.handle for judge in judges}).protocol
        protocol = replaced(bound, notes=protocol.notes)
    withheld = old is not None and any(scorer.signature.endswith(WITHHELD) for scorer in old.scorers)
    return protocol.without_references() if withheld else protocol


_REPLAYED = (
    "what judges said is scored again by pytest: --ab-model=replay:reports/RUN --ab-judge=ALIAS=replay:reports/RUN"
)


def _family(first: RecordedRow, old: ItemRecord | None, wanted: ScoringOptions) -> tuple[str, Mapping[str, Option]]:
    if wanted.family:
        return parse_family(wanted.family)
    if not first.family:
        raise _NotScorable("its file does not say what was asked; name the family of protocols with --family NAME")
    if old is not None:
        return first.family, old.options
    name, options = parse_family(first.family)
    return name, {**options, **first.options}


class _PooledLines:
    """The scored lines of an eval that its suite is pooled from, in a file without a name."""

    def __init__(self) -> None:
        self._file = TemporaryFile()  # noqa: SIM115 - it lasts as long as the suite is not pooled

    def add(self, rows: Iterable[ScoredRow]) -> None:
        self._file.writelines(map(encode_line, rows))

    def __iter__(self) -> Iterator[ScoredRow]:
        self._file.seek(0)
        return map(msgspec.json.Decoder(ScoredRow).decode, self._file)


class _Item:
    def __init__(
        self,
        index: int,
        first: RecordedRow,
        old: ItemRecord | None,
        protocol: Protocol,
        source: Source,
        folder: Path | None,
        labels: EvalLabels | None,
        sounds: RecordedSounds | None,
    ) -> None:
        self._labels = labels
        self._first, self._old, self._protocol, self._source = first, old, protocol, source
        self._folder, self._sounds = folder, sounds
        self._kept = ScoredRows(first, protocol.scorers, keeps=labels is not None)
        self._unreadable, self._repeated = UnreadableAnswers(protocol), RepeatedAnswers(protocol)
        self._record = self._new_record(index)
        self._constant = ConstantAnswers(protocol)
        self.figures = OwnFigures(first)
        self.majority: Majority | None = None
        self._lines = ItemLines(
            head={"eval": first.eval, "model": first.model, "dataset": first.dataset},
            stages=first.roles or {stage.name: stage.role for stage in protocol.stages},
            unchanged=unchanged_stages(protocol),
            groups=first.groups or (),
            cluster=first.cluster,
            details=scorer_details(protocol),
        )

    def scored(self, rows: Iterator[RecordedRow], pooled: _PooledLines | None) -> ItemRecord:
        """Read and score ``rows``; returns the record, which is written with its lines where there is a folder."""
        stem = run_writer.stem(self._record)
        whole = any(scorer.together is not None for scorer in self._protocol.scorers)
        with run_writer.adding_lines(self._folder, stem) if self._folder else nullcontext(None) as add:
            while chunk := list(islice(rows, None if whole else _CHUNK)):
                self._add(chunk, add, pooled)
        self._draw()
        self.majority = self._constant.majority()
        if self.majority is not None and self._old is None:
            below = below_majority(self._record, self.majority)
            self._record = replace(self._record, warnings=[*self._record.warnings, *below])
        if self._folder:
            run_writer.write_record(self._folder, self._record)
        return self._record

    @property
    def answered(self) -> bool:
        """Whether any sample could be asked."""
        return self._kept.answered

    def _add(
        self, chunk: Sequence[RecordedRow], add: Callable[[Lines], None] | None, pooled: _PooledLines | None
    ) -> None:
        answered = [sample_answers(row) for row in chunk]
        rows = scored_rows(self._protocol, answered, self._kept.note(chunk, answered))
        if add is not None:
            add(self._lines.lines(answered, rows))
        if pooled is not None:
            pooled.add(self._lines.scored(rows))
        self._kept.keep(rows)
        self._constant.add(chunk)
        self.figures.add(chunk, rows)
        headline = rows[self._protocol.scorers[0].name]
        self._unreadable.add(headline)
        self._repeated.add(headline)
        if self._sounds is not None:
            self._sounds.add(chunk, headline)

    def _draw(self) -> None:
        scored_rows, record, scorers = self._kept, self._record, self._protocol.scorers
        scored_rows.check_epochs(record.eval)
        if self._labels is not None and scored_rows.epochs > 1:
            raise UsageError(f"{record.eval} has {scored_rows.epochs} answers to each sample, and people labelled one")
        clustered, epochs = scored_rows.clustered, scored_rows.epochs
        sheet = scores_from_rows(scorers, scored_rows.rows, record.groups, clustered, epochs, scored_rows.columns)
        self._record = replace(
            record,
            n=scored_rows.samples,
            epochs=scored_rows.epochs,
            scorers=sheet.scorers,
            metrics=sheet.metrics,
            agreement=sheet.agreement,
            errors=scored_rows.errors,
            hashes=scored_hashes(record.dataset, self._asking_hashes(), scored_rows.answers.hexdigest(), scorers),
        )
        warnings = [text for text in record.warnings if not is_unreadable_alarm(text)]
        if not record.control and wants_answers(record.perturbation):
            warnings += self._unreadable.alarm()
            # The run itself knew whether its model listens.
            warnings += self._repeated.alarm() if self._old is None else []
        if self._labels is not None:
            warnings += self._labels.notes(sheet.metrics, scored_rows.rows, scorers)
        notes = [*warnings, *self._protocol.notes, self._first.note, *self._differences()]
        self._record = replace(self._record, warnings=list(dict.fromkeys(filter(None, notes))))

    def _asking_hashes(self) -> dict[str, str]:
        """What is known of the asking; the questions themselves are hashed again, so that an edited file shows."""
        known = self._old.hashes if self._old else {}
        epochs = digest({"epochs": self._kept.epochs})
        model = digest({"fingerprint": {**self._source.fingerprint, "model": self._first.model}})
        hashes = dict.fromkeys(INPUTS, ABSENT) | {"audio": self._kept.audio(), "seeds": epochs, "model": model}
        hashes |= {name: known[name] for name in INPUTS if name in known}
        return hashes | {"data": self._kept.data.hexdigest()}

    def _differences(self) -> Iterator[str]:
        if self._old is None:
            return
        # A rewriter's texts are part of the answers.
        weighing = {stage.judge for stage in self._old.stages if stage.role in WEIGHING}
        if judges := [alias for alias in self._old.judges if alias in weighing]:
            yield f"the scorers of {', '.join(judges)} are left out; {_REPLAYED}"
        for name, what in (("data", "questions"), ("answers", "answers")):
            if self._record.hashes[name] != self._old.hashes.get(name):
                yield f"the {what} are not those of run.json: another version wrote them, or the file was edited since"
        signatures = {scorer.name: scorer.signature for scorer in self._old.scorers}
        unknown = [name for name in signatures if name not in self._protocol.available]
        if lost := [name for name in unknown if not of_judge(signatures[name])]:
            yield f"the run was also read by {', '.join(lost)}, which only its tests know: replay it with pytest"
        for scorer in self._record.scorers:
            if signatures.get(scorer.name, scorer.signature) != scorer.signature:
                rules = f"{scorer.signature} here, {signatures[scorer.name]} there"
                yield f"{scorer.name} is another rule than the run's: {rules}"
        values = {metric_identity(metric): metric.value for metric in self._old.metrics}
        for metric in self._record.metrics:
            before = values.get(metric_identity(metric), metric.value)
            if before != metric.value:
                yield f"{metric.name} by {metric.scorer} was {before} in the run and is {metric.value} now"

    def _new_record(self, index: int) -> ItemRecord:
        first, old = self._first, self._old
        new = ItemRecord(
            index=index,
            nodeid=first.eval,
            eval=first.eval,
            suite=first.eval,
            model=first.model,
            dataset=first.dataset,
            protocol=self._protocol.name,
            options=self._protocol.options,
            groups=first.groups or (),
            cluster=first.cluster,
        )
        return new if old is None else replace(new, **{name: getattr(old, name) for name in _OF_RUN})


_OF_RUN = ("index", "nodeid", "suite", "limited", "part", "control", "stages", "perturbation", "asking", "warnings")
"""What scoring again cannot change."""


def metric_identity(metric: MetricRecord) -> tuple[object, ...]:
    """What one metric of an item or a suite differs from all others in."""
    return metric.name, metric.scorer, metric.signature, *sorted(metric.group.items())


_WORDS: Mapping[str, Option] = {"true": True, "false": False, "none": None}


def parse_family(written: str) -> tuple[str, dict[str, Option]]:
    """``translation,target=zh`` as a family's name and its options. Raises UsageError for what cannot be read."""
    name, *pairs = (part.strip() for part in written.split(","))
    options: dict[str, Option] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise UsageError(f"--family {written!r}: {pair!r} is not a KEY=VALUE")
        text = value.strip()
        plain = int(text) if text.removeprefix("-").isdecimal() else text
        options[key.strip()] = _WORDS.get(text.lower(), plain)
    return name, options


def protocol_of(name: str, options: Mapping[str, Any]) -> Protocol:
    """The family ``name`` called with ``options``. Raises UsageError for a family or an option that there is not."""
    check_options(name, {option: value for option, value in options.items() if option not in ON_RECORD})
    return recorded_protocol(name, options)
