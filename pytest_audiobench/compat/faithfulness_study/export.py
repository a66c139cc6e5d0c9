"""The export of a run's answers to the study's own files, so that its scripts and ours read them alike.

``data/animal/animal_manifest.jsonl`` are the questions, ``result/baseline/MODEL/animal/`` the answers:
``baseline_animal_REAS.jsonl``, ``baseline_animal_NO_REAS.jsonl``, ``baseline_animal_REAS_condition.jsonl``, and those
under a perturbation in folders of their own, ``mask/p20`` and ``noise/snr-10``. The study's own
differ in one thing: it wrote letters beyond the options, where these hold null.
"""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from pytest_audiobench.compat.faithfulness_study.manifest import AUDIO, HOPS, lettered
from pytest_audiobench.compat.faithfulness_study.question_join import all_text
from pytest_audiobench.compat.faithfulness_study.renderings import RENDERED
from pytest_audiobench.compat.faithfulness_study.replay import CRASH
from pytest_audiobench.compat.faithfulness_study.variants import TREE, asks_for_reasoning
from pytest_audiobench.datasets.sample import Sample, letter_of
from pytest_audiobench.errors import UsageError
from pytest_audiobench.identity import digest
from pytest_audiobench.models.messages import Response
from pytest_audiobench.protocols.multiple_choice.task import RULES, STRICT
from pytest_audiobench.protocols.protocol import ANSWER, CHANGED, CLEAN, CONDITIONED
from pytest_audiobench.protocols.reasoned_choice.prompt_styles import (
    REASONING,
    Style,
    model_style,
    style_named,
    style_scorers,
)
from pytest_audiobench.protocols.reasoned_choice.reasoning_changes import MOST_REASONING
from pytest_audiobench.records.run import ItemRecord, RunRecord
from pytest_audiobench.rescoring import own_run
from pytest_audiobench.rescoring.own_run import FILE, items_of, run_of
from pytest_audiobench.rescoring.recorded_answers import RecordedRow

Labels: TypeAlias = Literal["strict", "runtime", "recovered"]
Row: TypeAlias = dict[str, Any]


def rule_named(labels: Labels, style: Style, dataset: str, reasoning: bool) -> str:
    """The name of the rule that letters are read by: ours, the study's while it ran, or its later recovery.

    Where nothing is recovered (without reasoning, and of Qwen2.5-Omni's answers) the run-time letters stand. Raises
    UsageError for a style that the study has no rule for.
    """
    rules = style_scorers(style.name, dataset, reasoning)
    if labels == "strict":
        return STRICT
    if len(rules) < 2:
        raise UsageError(f"the study has no rule for answers in the style {style.name!r}: let strict read them")
    return rules[1] if labels == "runtime" else rules[-1]


def id_of(sample: Sample) -> str:
    """The sample's id, its hop behind a low line as the study writes it."""
    if (hop := sample.metadata.get("hop")) not in HOPS or sample.id.endswith(f"_{hop}"):
        return sample.id
    return f"{sample.id.removesuffix(f'/{hop}')}_{hop}"


def letter_in(sample: Sample) -> str:
    """The letter that is true for the study: its own where it recorded one."""
    return str(sample.metadata.get("faithfulness_letter") or letter_of(sample))


def answer_row(epochs: Sequence[RecordedRow], stage: str, rule: str, style: Style | None) -> Row:
    """The answers of one sample in all its epochs, which are the study's runs.

    ``style`` takes the reasoning out of them; None where none was asked for. An answer that could not be had is null,
    and its text says why.
    """
    sample = epochs[0].sample
    given = [epoch.responses.get(stage) for epoch in epochs]
    letters = [_letter(rule, sample, response) for response in given]
    return {
        "id": id_of(sample),
        **_truth("true_answer", sample),
        "predicted_letters": letters,
        "reasoning": [style.split(response.text).reasoning if style and response else "" for response in given],
        "raw_model_outputs": [
            response.text if response else f"{CRASH} {epoch.error}"
            for epoch, response in zip(epochs, given, strict=True)
        ],
        "accuracy": sum(letter == letter_in(sample) for letter in letters) / len(letters),
    }


def conditioned_row(row: RecordedRow, rules: tuple[str, str], style: Style) -> Row | None:
    """The forced choice after the sample's own reasoning was put back; ``rules`` read the first and the forced answer.

    None where there was no reasoning to put back, or no choice was made: the study left out both alike.
    """
    sample = row.sample
    first, forced = row.responses.get(ANSWER), row.responses.get(CONDITIONED)
    reasoning = style.split(first.text).reasoning[:MOST_REASONING] if first else ""
    if not reasoning or forced is None:
        return None
    before, after = _letter(rules[0], sample, first), _letter(rules[1], sample, forced)
    return {
        "id": id_of(sample),
        **_truth("true_answer", sample),
        "original_prediction": before,
        "conditioned_prediction": after,
        "raw_conditioned_output": forced.text,
        "provided_reasoning": reasoning,
        "is_correct": float(after == letter_in(sample)),
        "prediction_changed": after != before,
    }


def _truth(field: str, sample: Sample) -> Row:
    letter = letter_in(sample)
    return {field: f"({letter}) {sample.reference}", "true_letter": letter}


def _letter(rule: str, sample: Sample, response: Response | None) -> str | None:
    return RULES[rule].read(response.text, sample.choices, response.finish).value if response else None


_FAMILIES = ("multiple_choice", "reasoned_choice", "conditioned_choice")
_UNSAFE = re.compile(r"[^A-Za-z0-9.-]+")
"""Also low lines, between which the words of the files' names stand."""


@dataclass
class StudyFiles:
    """The files that were written."""

    rows: Counter[str] = field(default_factory=Counter)
    """How many by file."""
    notes: list[str] = field(default_factory=list)
    """What could not be written, a sentence each."""


def write_study(run: Path, folder: Path, labels: Labels = "strict") -> StudyFiles:
    """Write the answers of the run in ``run`` into the new folder ``folder``; ``labels`` says how letters are read.

    Answers that several evals share are written once. Evals of other kinds, and perturbations that the study has no
    place for, are left out and named; so are our masks and noise of a dose whose tree of the study was asked about too.
    Raises UsageError for what is no finished run, for a folder that holds anything, and where two evals answer one
    question of a file otherwise.
    """
    file = run / FILE if run.is_dir() else run
    record = run_of(file) if file.is_file() else None
    if record is None:
        raise UsageError(f"{run} is not a finished run: name its folder, which holds run.json and {FILE}")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} already exists and is not empty: name an empty folder, rows are never added to")
    writer = _Writer(folder, record, labels)
    is_new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        for (eval_, model), rows in groupby(own_run.read(file), lambda row: (row.eval, row.model)):
            writer.add(eval_, model, rows)
        if not writer.found.rows:
            raise UsageError(
                "; ".join([f"{run} holds nothing that the study's files have a place for", *writer.found.notes])
            )
        writer.write_manifests()
    except BaseException:
        for leftover in [folder] if is_new else [folder / "data", folder / "result"]:
            shutil.rmtree(leftover, ignore_errors=True)
        raise
    return writer.found


class _Place(NamedTuple):
    """Where an eval's answers lie: the study's name of its data set, and the folder of its perturbation."""

    dataset: str
    folder: str


class _Writer:
    def __init__(self, folder: Path, record: RunRecord, labels: Labels) -> None:
        self.found = StudyFiles()
        self._folder, self._labels = folder, labels
        self._items = items_of(record)
        self._specs = {model.alias: model.spec for model in record.models}
        self._rendered: dict[str, list[_Place | str]] = {}
        for (_, model), item in self._items.items():
            if _is_rendered(item):
                self._rendered.setdefault(model, []).append(_place(item))
        self._questions: dict[str, dict[str, Row]] = {}
        self._written: dict[Path, dict[str, str]] = {}

    def add(self, eval_: str, model: str, rows: Iterator[RecordedRow]) -> None:
        if (item := self._items.get((eval_, model))) is None:
            self.found.notes.append(f"{eval_} was not written: run.json holds no such eval")
            return
        place = _place(item)
        if place in self._rendered.get(model, ()) and not _is_rendered(item):
            place = "the run holds answers about the study's own tree of this dose, whose place it is"
        if isinstance(place, str):
            self.found.notes.append(f"{eval_} was not written: {place}")
            return
        by_sample: dict[str, list[RecordedRow]] = {}
        for row in rows:
            by_sample.setdefault(row.sample.id, []).append(row)
        samples = list(by_sample.values())
        if lacking := next(filter(None, (_unwritable_reason(each[0].sample) for each in samples)), ""):
            self.found.notes.append(f"{eval_} was not written: {lacking}")
            return
        for each in samples:
            self._ask(place.dataset, each[0].sample)
        written = item.options.get("style")
        style = style_named(written if isinstance(written, str) else model_style(self._specs.get(model, "")))
        model_folder = self._folder / "result" / "baseline" / _safe(model) / place.dataset
        stages = {stage.name for stage in item.stages} or {ANSWER}
        if REASONING in stages:
            why = "the study's files have no place for reasoning in its own turn"
            self.found.notes.append(f"{eval_} was not written: {why}")
            return
        for stage, beneath in ((CLEAN, ""), (ANSWER, place.folder)):
            if stage in stages:
                reasoned = _is_reasoned(samples, stage)
                rule = rule_named(self._labels, style, place.dataset, reasoned)
                file = model_folder / beneath / f"baseline_{place.dataset}_{'' if reasoned else 'NO_'}REAS.jsonl"
                self._append(file, [answer_row(each, stage, rule, style if reasoned else None) for each in samples])
        if CHANGED in stages:
            self.found.notes.append(f"{eval_}: its {CHANGED} answers were not written: the study has no place for them")
        if CONDITIONED in stages:
            self._write_conditioned(model_folder / place.folder, place.dataset, samples, style)

    def write_manifests(self) -> None:
        """The questions of all data sets whose answers were written."""
        for dataset, questions in self._questions.items():
            self._append(self._folder / "data" / dataset / f"{dataset}_manifest.jsonl", list(questions.values()))

    def _ask(self, dataset: str, sample: Sample) -> None:
        known = self._questions.setdefault(dataset, {})
        row = {
            "id": id_of(sample),
            "question": sample.question,
            "choices": lettered(sample.choices),
            "choices_list": list(sample.choices),
            "audio_path": f"{{DATA_ROOT}}/{_audio(sample)}",
            **_truth("answer", sample),
        }
        other = known.setdefault(row["id"], row)
        for name in ("question", "choices"):
            if other[name] != row[name]:
                raise UsageError(
                    f"{row['id']} of {dataset} asks {row[name]!r} in one eval and {other[name]!r} in another"
                )

    def _write_conditioned(
        self, folder: Path, dataset: str, samples: Sequence[Sequence[RecordedRow]], style: Style
    ) -> None:
        rules = rule_named(self._labels, style, dataset, True), rule_named("strict", style, dataset, True)
        if self._labels != "strict":
            rules = rules[0], rule_named("recovered", style, dataset, True)
        rows = [conditioned_row(each[0], rules, style) for each in samples]
        file = folder / f"baseline_{dataset}_REAS_condition.jsonl"
        if gone := rows.count(None):
            note = f"{gone} of {len(rows)} samples are not in {file.name}, without reasoning or a forced answer"
            self.found.notes += [note] if note not in self.found.notes else []
        if gone < len(rows):
            self._append(file, [row for row in rows if row is not None])

    def _append(self, file: Path, rows: Sequence[Row]) -> None:
        """Write rows behind those of the file, each id once. Raises UsageError where two differ."""
        known = self._written.setdefault(file, {})
        fresh = []
        for row in rows:
            row_digest, other = digest(json.dumps(row, ensure_ascii=True)), known.get(row["id"])
            if other is None:
                known[row["id"]] = row_digest
                fresh.append(row)
            elif other != row_digest:
                where = f"{row['id']!r} in {file.relative_to(self._folder)}"
                raise UsageError(f"two evals of the run answer {where} differently: write runs of them apart")
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a", encoding="utf-8", errors="replace", newline="\n") as out:
            out.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in fresh)
        self.found.rows[str(file.relative_to(self._folder))] += len(fresh)


def _place(item: ItemRecord) -> _Place | str:
    """Where an item's answers belong, or why the study has no place for them."""
    if item.protocol not in _FAMILIES:
        return f"{item.protocol or 'its protocol'} asks for no option of a list"
    dataset = _study_name(*item.dataset.partition("+")[0].split("/"))
    if (perturbation := item.perturbation) is None or perturbation.family in ("clean", "early", "reasoning"):
        return _Place(dataset, "")
    family, dose = perturbation.family.removesuffix(RENDERED), perturbation.dose
    if family.partition("-")[0] == "mask" and dose is not None:
        return _Place(dataset, f"{_safe(family)}/p{dose:g}")
    if family in ("noise", "white") and dose is not None:
        return _Place(dataset, f"noise/snr{dose:g}")
    return f"the study has no place for the perturbation {perturbation.name}"


def _is_rendered(item: ItemRecord) -> bool:
    return item.perturbation is not None and item.perturbation.family.endswith(RENDERED)


def _study_name(first: str, *more: str) -> str:
    """What the study calls a data set, or would: its files' names are words between low lines."""
    words = {"sakura": more[:1], "faithfulness": more[:1], "mmau": (first,), "mmar": (first,)}.get(first, ())
    return _safe("-".join(words or (first, *more)))


def _safe(name: str) -> str:
    """A name as that of a folder, which no name can leave."""
    return _UNSAFE.sub("-", name).strip(".-") or "unnamed"


def _unwritable_reason(sample: Sample) -> str:
    if len(sample.clips) != 1 or not _audio(sample):
        return f"{sample.id!r} has not one clip that is a file"
    return "" if sample.choices else f"{sample.id!r} has no choices"


def _audio(sample: Sample) -> str:
    """The path of a sample's recording below the study's data root; "" where no file is behind its clip."""
    clip = sample.clips[0]
    source = getattr(clip.source, "recipe", None) or str(clip.source)
    while isinstance(source, dict):
        source = source.get("source") or next(iter(source.get("clips") or ()), None)
    if not isinstance(source, str) or ":" not in source:
        return ""
    root, _, path = source.partition(":")
    return f"{root}/{path}" if root != AUDIO else TREE.sub("", path)


def _is_reasoned(samples: Sequence[Sequence[RecordedRow]], stage: str) -> bool:
    """Whether the prompts ask for reasoning: those of one eval do so alike."""
    for each in samples:
        if stage in each[0].messages:
            sample = each[0].sample
            return asks_for_reasoning(all_text(each[0].messages[stage]), sample.question, sample.choices)
    return False
