"""Suspect items of the data over several runs: what answers and clips say against references. No score changes by it.

Four checks of every eval: item-rest correlations, answers that models agree on against the reference, one clip with
several references, and what is right without the audio.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from pytest_audiobench.audio.clip_record import Recipe
from pytest_audiobench.errors import UsageError
from pytest_audiobench.evaluation.perturbation_series import CLEAN, unperturbed
from pytest_audiobench.gate.config import Patterns, chosen
from pytest_audiobench.metrics.metric import is_right
from pytest_audiobench.metrics.registry import is_known, metric_kind
from pytest_audiobench.protocols.protocol import gives_letters
from pytest_audiobench.records.lines import SampleRecord
from pytest_audiobench.records.run import ItemRecord
from pytest_audiobench.report.joined_samples import Joined, joined, played, sample_record
from pytest_audiobench.report.page.rows import own_score, value_words
from pytest_audiobench.report.run_reader import Run, load_run
from pytest_audiobench.stats.intervals import proportion
from pytest_audiobench.stats.item_rest import FEWEST, distinct_abilities, item_rest, negative_by_chance

CheckName: TypeAlias = Literal["correlation", "agreement", "duplicates", "text alone"]

TEXT = "text"
"""The perturbation that leaves a question without its clips."""
NOTHING_COMPARED = 5
_BLIND = "baseline:"
_FEWEST_VOICES = 2


class AuditedClip(NamedTuple):
    """A clip as a run recorded it."""

    source: str
    key: str | None
    recipe: Recipe
    """What it can be made of again."""


class Suspect(NamedTuple):
    """An item that one check points at."""

    eval: str
    id: str
    check: CheckName
    reason: str
    reference: str
    answers: str
    """What models said."""
    strength: float
    """From 0 to 1: the correlation without its sign, or the share of models that agree, or of copies that differ."""


@dataclass(frozen=True)
class Check:
    """One check of one eval: how many items it could look at, or what it needs."""

    eval: str
    name: CheckName
    items: int
    summary: str


@dataclass
class Item:
    """A sample of an eval, without what models said."""

    id: str
    question: str
    choices: tuple[str, ...]
    references: tuple[str, ...]
    clips: tuple[AuditedClip, ...]


@dataclass(frozen=True)
class Audit:
    """What several runs say of their data."""

    sides: Sequence[str]
    """Who answered: models by run."""
    checks: Sequence[Check]
    suspects: Sequence[Suspect]
    """By eval and check, the strongest first."""
    items: Mapping[tuple[str, str], Item]
    """Those that are suspect, by eval and id."""
    notes: Sequence[str]

    def exit_status(self) -> int:
        """0; 5 where no check could look at any item."""
        return 0 if any(check.items for check in self.checks) else NOTHING_COMPARED


class Side(NamedTuple):
    """One model in one run."""

    run: str
    model: str
    spec: str
    is_blind: bool

    @property
    def name(self) -> str:
        return f"{self.model} ({self.run})"


@dataclass
class _Answers:
    """What one side said of one item, over its epochs."""

    scores: list[float] = field(default_factory=list)
    values: list[str] = field(default_factory=list)
    """Those that could be read, as people read them."""
    rights: list[bool] = field(default_factory=list)

    @property
    def value(self) -> str | None:
        return Counter(self.values).most_common(1)[0][0] if self.values else None

    @property
    def is_right(self) -> bool | None:
        return sum(self.rights) * 2 > len(self.rights) if self.rights else None


@dataclass
class _Eval:
    """All that runs hold of one eval."""

    name: str
    protocol: str
    dataset: str
    items: dict[str, Item] = field(default_factory=dict)
    answers: dict[Side, dict[str, _Answers]] = field(default_factory=lambda: defaultdict(dict))
    without_audio: dict[Side, dict[str, _Answers]] = field(default_factory=lambda: defaultdict(dict))
    otherwise: set[str] = field(default_factory=set)
    """Items with another truth in another run, which are not compared with those."""


def audit(named: Sequence[str], reports: Path = Path("reports"), evals: Patterns = "*", model: Patterns = "*") -> Audit:
    """The suspect items of the runs ``named``, by what the models that ``model`` chooses said in those of ``evals``.

    Raises UsageError for what is no finished run, for a run that is named twice, and where nothing matches.
    """
    runs = [load_run(name, reports) for name in named]
    folders = Counter(run.folder.resolve() for run in runs)
    if twice := [folder for folder, count in folders.items() if count > 1]:
        raise UsageError(f"{twice[0]} is named twice, and would agree with itself: name each run once")
    by_name: dict[str, _Eval] = {}
    sides: dict[Side, None] = {}
    items = [item for run in runs for item in run.record.items if item.scorers and item.metrics]
    where = ", ".join(named)
    aliases = chosen(model, (item.model for item in items), f"model of {where}")
    names = (item.eval for item in items if item.model in aliases and _is_audited(item))
    wanted = chosen(evals, names, f"eval of {where}")
    for run in runs:
        for side in _read(run, by_name, wanted, aliases):
            sides.setdefault(side)
    checks: list[Check] = []
    suspects: list[Suspect] = []
    notes = []
    for each in by_name.values():
        for check, pointed_at in (_correlation(each), _agreement(each), _duplicates(each), _text_alone(each)):
            checks.append(check)
            suspects += sorted(pointed_at, key=lambda suspect: (-suspect.strength, suspect.id))
        if each.otherwise:
            notes.append(
                f"{each.name}: {len(each.otherwise)} items have another question, options or reference in another run, "
                f"such as {min(each.otherwise)!r}, whose answers there were left out"
            )
    by_id = {(each.eval, each.id): by_name[each.eval].items[each.id] for each in suspects}
    return Audit([side.name for side in sides], checks, suspects, by_id, notes)


def _read(run: Run, evals: dict[str, _Eval], names: Collection[str], aliases: Collection[str]) -> Iterator[Side]:
    """Take in the samples of a run; yields who answered."""
    models = {each.alias: each for each in run.record.models}
    parts: dict[tuple[str, str], tuple[ItemRecord, _Eval, bool, Side]] = {}
    by_data: dict[tuple[str, str], str] = {}
    wanted = [item for item in run.record.items if item.scorers and item.metrics and item.model in aliases]
    for item in wanted:
        if item.eval in names and _is_audited(item):
            by_data.setdefault((item.dataset, item.protocol), item.eval)
            evals.setdefault(item.eval, _Eval(item.eval, item.protocol, item.dataset))
    for item in wanted:
        is_text = _is_text(item)
        data = unperturbed(item.dataset, item.perturbation).removesuffix(f"+{TEXT}") if is_text else item.dataset
        name = by_data.get((data, item.protocol)) if is_text else item.eval
        if name in evals and (is_text or _is_audited(item)):
            about = models.get(item.model)
            spec = item.model if about is None else about.spec
            is_blind = spec.startswith(_BLIND) and about is not None and about.hearing is None
            side = Side(str(run.folder), item.model, spec, is_blind)
            parts[item.eval, item.model] = item, evals[name], is_text or is_blind, side
            yield side
    for sample in joined(run.folder):
        first = sample.predictions[0]
        if part := parts.get((first.eval, first.model)):
            _take(sample, *part)


def _is_audited(item: ItemRecord) -> bool:
    return not item.control and (item.perturbation is None or item.perturbation.name == CLEAN)


def _is_text(item: ItemRecord) -> bool:
    if item.perturbation is not None:
        return item.perturbation.name == TEXT
    return item.dataset.endswith(f"+{TEXT}")


def _take(sample: Joined, item: ItemRecord, eval_: _Eval, without_audio: bool, side: Side) -> None:
    record = sample_record(sample)
    scorer = item.scorers[0]
    answer = record.scorers.get(scorer.name)
    if record.error is not None or answer is None:
        return
    about = Item(record.sample_id, record.question, tuple(record.choices), _truths(record), _clips(sample))
    item_ = eval_.items.get(about.id)
    if item_ is None:
        eval_.items[about.id] = item_ = about
    elif (item_.question, item_.choices, item_.references) != (about.question, about.choices, about.references):
        eval_.otherwise.add(about.id)
        return
    elif not item_.clips:
        item_.clips = about.clips
    table = eval_.without_audio if without_audio else eval_.answers
    answers = table[side].setdefault(about.id, _Answers())
    if (score := _score(item.metrics[0].name, answer.scores)) is not None:
        answers.scores.append(score)
    correct = is_right(answer.scores)
    if correct is not None:
        answers.rights.append(correct)
    if answer.status == "parsed" and answer.value:
        answers.values.append(_words(answer.value, about.choices, gives_letters(scorer.signature)))


def _truths(record: SampleRecord) -> tuple[str, ...]:
    return tuple(record.references) or ((record.reference,) if record.reference else ())


def _clips(sample: Joined) -> tuple[AuditedClip, ...]:
    row = played(sample)
    recipes = row.recipes or [None] * len(row.audio)
    pairs = zip(row.audio, recipes, strict=True)
    return tuple(
        AuditedClip(clip.source, clip.key, clip.source if recipe is None else recipe) for clip, recipe in pairs
    )


def _score(metric: str, scores: Mapping[str, float]) -> float | None:
    """A sample's own score by the eval's first metric, higher where it is better."""
    own = own_score(metric, tuple(sorted(scores.items())))
    if own is None:
        return scores.get("correct")
    return -own if is_known(metric) and metric_kind(metric).direction == "lower" else own


def _words(value: str, choices: Sequence[str], is_letter: bool) -> str:
    """What was read: an option by its text."""
    place = ord(value) - ord("A") if is_letter and len(value) == 1 else -1
    return choices[place] if 0 <= place < len(choices) else value_words(value) or value


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def _correlation(eval_: _Eval) -> tuple[Check, list[Suspect]]:
    """Items on which those do worse who do better on all others."""
    sides = {side: answers for side, answers in eval_.answers.items() if any(each.scores for each in answers.values())}
    ids = [id_ for id_ in eval_.items if all(id_ in each and each[id_].scores for each in sides.values())]
    if len(sides) < FEWEST or len(ids) < 2:
        needs = f"needs {FEWEST} runs or models that were played the audio; of these it has {len(sides)}"
        return Check(eval_.name, "correlation", 0, needs if len(sides) < FEWEST else "no two items in all runs"), []
    table = np.array([[float(np.mean(each[id_].scores)) for each in sides.values()] for id_ in ids])
    if (count := distinct_abilities(table)) < FEWEST:
        needs = f"needs {FEWEST} runs or models with different overall scores; of these it has {count}"
        return Check(eval_.name, "correlation", 0, needs), []
    correlations = item_rest(table)
    varied = int(np.count_nonzero(~np.isnan(correlations)))
    suspects = [
        Suspect(
            eval_.name,
            ids[place],
            "correlation",
            f"better models score lower here (r {correlations[place]:.2f} over {len(sides)})",
            _reference(eval_.items[ids[place]]),
            _answers_text(eval_, ids[place]),
            -float(correlations[place]),
        )
        for place in np.flatnonzero(correlations < -1e-9).tolist()
    ]
    chance = negative_by_chance(table)
    summary = f"{len(suspects)} of {varied} items that scores differ on; some {chance:.0f} by chance"
    return Check(eval_.name, "correlation", varied, summary), suspects


def _voices(eval_: _Eval, id_: str) -> dict[str, tuple[str, bool | None]]:
    """What each model reads, and whether it is right: seeds of one model are one voice."""
    values: dict[str, list[tuple[str, bool | None]]] = defaultdict(list)
    for side, answers in eval_.answers.items():
        each = answers.get(id_)
        if each is not None and each.value is not None:
            values[side.spec].append((each.value, each.is_right))
    return {spec: Counter(said).most_common(1)[0][0] for spec, said in values.items()}


def _agreement(eval_: _Eval) -> tuple[Check, list[Suspect]]:
    """Items on which most models give one answer, which is not the reference."""
    suspects, items = [], 0
    for id_, item in eval_.items.items():
        voices = _voices(eval_, id_)
        if len(voices) < _FEWEST_VOICES or not item.references:
            continue
        items += 1
        truths = {_plain(reference) for reference in item.references}
        plain, count = Counter(_plain(value) for value, _ in voices.values()).most_common(1)[0]
        wrong = [is_right is False for value, is_right in voices.values() if _plain(value) == plain]
        if count >= _FEWEST_VOICES and count * 2 > len(voices) and plain not in truths and all(wrong):
            reason = f"{count} of {len(voices)} models agree on another answer"
            value = next(value for value, _ in voices.values() if _plain(value) == plain)
            share = count / len(voices)
            suspects.append(Suspect(eval_.name, id_, "agreement", reason, _reference(item), value, share))
    if not items:
        models = len({side.spec for side in eval_.answers})
        needs = f"needs readable answers of {_FEWEST_VOICES} models that were played the audio, and references; "
        return Check(eval_.name, "agreement", 0, f"{needs}it has {models} of these models"), []
    return Check(eval_.name, "agreement", items, f"{len(suspects)} of {items} items"), suspects


def _duplicates(eval_: _Eval) -> tuple[Check, list[Suspect]]:
    """Items of one clip, one question and the same options with different references."""
    groups: dict[object, list[Item]] = defaultdict(list)
    for item in eval_.items.values():
        if item.references and item.clips and all(clip.key for clip in item.clips):
            keys = tuple(clip.key for clip in item.clips)
            groups[keys, _plain(item.question), tuple(sorted(map(_plain, item.choices)))].append(item)
    items = sum(map(len, groups.values()))
    if not items:
        return Check(eval_.name, "duplicates", 0, "needs clips with keys, and references"), []
    suspects = []
    for copies in groups.values():
        for item in copies:
            others = [copy for copy in copies if _plain_truths(copy) != _plain_truths(item)]
            if others:
                reason = f"the same clip as {others[0].id}, there {_reference(others[0])}"
                strength = len(others) / (len(copies) - 1)
                answers = _answers_text(eval_, item.id)
                suspects.append(Suspect(eval_.name, item.id, "duplicates", reason, _reference(item), answers, strength))
    return Check(eval_.name, "duplicates", items, f"{len(suspects)} of {items} items"), suspects


def _plain_truths(item: Item) -> frozenset[str]:
    return frozenset(map(_plain, item.references))


def _text_alone(eval_: _Eval) -> tuple[Check, list[Suspect]]:
    """The share that is right without the audio, and the items on which all models are that were asked so."""
    rights = {
        side: {id_: each.is_right for id_, each in answers.items() if each.is_right is not None}
        for side, answers in eval_.without_audio.items()
    }
    rights = {side: marks for side, marks in rights.items() if marks}
    if not rights:
        how = f"needs a run with --ab-perturbations={TEXT}, or of a baseline that hears nothing"
        return Check(eval_.name, "text alone", 0, how), []
    shares = []
    for side, marks in rights.items():
        interval = proportion([float(mark) for mark in marks.values()])
        between = "" if interval.lower is None or interval.upper is None else _between(interval.lower, interval.upper)
        shares.append(f"{side.model} {100.0 * sum(marks.values()) / len(marks):.1f} %{between}")
    specs = {side.spec for side in rights}
    ids = {id_ for marks in rights.values() for id_ in marks}
    suspects = []
    for id_ in ids if len(specs) >= _FEWEST_VOICES else ():
        votes = [marks[id_] for marks in rights.values() if id_ in marks]
        if len(votes) == len(rights) and all(votes):
            reason = f"right without the audio by {len(votes)} of {len(votes)}"
            reference = _reference(eval_.items[id_])
            suspects.append(Suspect(eval_.name, id_, "text alone", reason, reference, reference, 1.0))
    options = [1.0 / len(item.choices) for item in eval_.items.values() if item.choices]
    guess = f"; a guess is {100.0 * sum(options) / len(options):.1f} %" if options else ""
    return Check(eval_.name, "text alone", len(ids), f"right without the audio: {', '.join(shares)}{guess}"), suspects


def _between(lower: float, upper: float) -> str:
    return f" [{100.0 * lower:.1f} to {100.0 * upper:.1f}]"


def _reference(item: Item) -> str:
    return " | ".join(item.references)


def _answers_text(eval_: _Eval, id_: str) -> str:
    """``two ×3, one``: what models that were played the audio said, the most frequent first."""
    return _counts(value for value, _ in _voices(eval_, id_).values())


def _counts(values: Iterable[str]) -> str:
    counts = Counter(values).most_common()
    return ", ".join(value if count == 1 else f"{value} ×{count}" for value, count in counts)
