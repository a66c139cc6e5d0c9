"""Mismatches of two runs of an eval: what they were not asked alike, and the first place where it differs.

What must agree are the hashes of all that goes into an eval but the model, and its scorers. Where two hashes differ,
the recorded texts say where; two runs of which one was limited are compared on what both took.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from pytest_audiobench.comparison.contenders import Contender
from pytest_audiobench.evaluation.comparable_eval import ComparableEval, other_encoders
from pytest_audiobench.evaluation.hashes import ABSENT
from pytest_audiobench.models.messages import Settings
from pytest_audiobench.records.lines import LINE_FILES, PredictionRow, Prompt
from pytest_audiobench.records.reading import read_lines
from pytest_audiobench.report.run_reader import load_run
from pytest_audiobench.verifier.differences import MISSING, Difference, first_difference, json_excerpt

Samples: TypeAlias = dict[str, dict[str, Any]]
"""By sample id, what the hashes of an eval cover of it."""

_DATA = ("question", "choices", "reference", "references", "metadata")

ENCODER = "encoder"
"""A component that no user can allow to differ."""
COMPONENTS = ("data", "audio", "prompts", "settings", "seeds", "protocols")
"""In the order in which they are looked at."""

_OF_SAMPLES: Mapping[str, tuple[str, ...]] = {"data": _DATA, "audio": ("audio",), "prompts": ("prompt",)}
_NO_FIELD = "no recorded field of a sample shows where"
_UNKNOWN_SETTINGS = "settings of generation are kept as a digest only"
_NO_TEXTS = "the texts are not kept in both runs, so the field is unknown"


class Mismatch(NamedTuple):
    """A component of an eval in which two runs differ."""

    eval: str
    component: str
    difference: Difference | None
    """The first; None where only the digests are known to differ."""
    why: str = ""

    def says(self, first: str, other: str) -> str:
        """``bundled/digits: hashes.prompts: samples["digits-017"].prompt[0].parts[1].text is "…" in A and …``."""
        head = f"{self.eval}: hashes.{self.component}"
        if self.difference is None:
            return f"{head} differs; {self.why}"
        path, before, after = self.difference
        if self.component == ENCODER:
            return f"{self.eval}: the encoder of {path} is {before} in {first} and {after} in {other}"
        return (
            f"{head}: {path} is {json_excerpt(before, after)} in {first} and {json_excerpt(after, before)} in {other}"
        )


def mismatches(first: Contender, other: Contender, scorers: Mapping[str, Sequence[str]]) -> list[Mismatch]:
    """All components in which evals of both differ, by eval; ``scorers`` are those of each that count."""
    common = [eval_ for eval_ in first.sides if eval_ in other.sides]
    suspects = {eval_: _suspects(first.sides[eval_], other.sides[eval_]) for eval_ in common}
    unclear = [eval_ for eval_, components in suspects.items() if not components.isdisjoint(_OF_SAMPLES)]
    texts, settings = {}, {}
    if first.folder is not None and other.folder is not None:
        sources = [(first.folder, first.model), (other.folder, other.model)]
        if unclear:
            samples_before, samples_after = (recorded_samples(*source, unclear) for source in sources)
            texts = {eval_: (samples_before[eval_], samples_after[eval_]) for eval_ in unclear}
        if any("settings" in components for components in suspects.values()):
            before, after = (recorded_settings(*source) for source in sources)
            both = [eval_ for eval_ in before if eval_ in after]
            settings = {eval_: first_difference(before[eval_], after[eval_], "settings") for eval_ in both}
    differing: list[Mismatch] = []
    for eval_ in common:
        sides = (first.sides[eval_], other.sides[eval_])
        samples = texts.get(eval_)
        for component in COMPONENTS:
            if component == "settings" and component in suspects[eval_]:
                differing.append(Mismatch(eval_, component, settings.get(eval_), _UNKNOWN_SETTINGS))
            elif component in suspects[eval_]:
                differing += filter(None, [_mismatch(eval_, component, sides, samples)])
        differing += _scorer_mismatch(*sides, scorers.get(eval_, ()))
    return differing


def _suspects(before: ComparableEval, after: ComparableEval) -> set[str]:
    """The components whose hashes differ where both are known; of limited runs they say nothing of each sample."""
    components = {name for name in COMPONENTS[:-1] if differ(before.hashes.get(name), after.hashes.get(name))}
    return components | ({"data"} if before.dataset != after.dataset else set())


def differ(before: str | None, after: str | None) -> bool:
    """Whether two hashes are both known, and not the same."""
    return before != after and not {before, after} & {None, ABSENT}


def _mismatch(
    eval_: str, component: str, sides: tuple[ComparableEval, ComparableEval], samples: tuple[Samples, Samples] | None
) -> Mismatch | None:
    before, after = sides
    if component == "seeds":
        return Mismatch(eval_, component, first_difference(before.epochs, after.epochs, "epochs"), _NO_FIELD)
    if component == "data" and before.dataset != after.dataset:
        return Mismatch(eval_, component, Difference("dataset", before.dataset, after.dataset))
    if samples is not None and (difference := _sample_difference(component, *samples)) is not None:
        return Mismatch(eval_, component, difference)
    limited = before.limited or after.limited
    if component == "data" and not limited and (difference := _unshared_sample(before, after)) is not None:
        return Mismatch(eval_, component, difference)
    if component == "data":
        return None if limited else Mismatch(eval_, component, None, _NO_FIELD if samples else _NO_TEXTS)
    return _digest_mismatch(eval_, component, before, after)


def _sample_difference(component: str, before: Samples, after: Samples) -> Difference | None:
    for sample_id in (name for name in before if name in after):
        for field in _OF_SAMPLES[component]:
            values = before[sample_id][field], after[sample_id][field]
            if component == "data" or None not in values:
                path = f"{_sample_path(sample_id)}.{field}"
                if (difference := first_difference(*values, path)) is not None:
                    return difference
    return None


def _digest_mismatch(eval_: str, component: str, before: ComparableEval, after: ComparableEval) -> Mismatch | None:
    """Audio and prompts are known by digests of each sample, whether texts are kept or not."""
    field = "audio" if component == "audio" else "prompt"
    rows, others = (side.columns.where(side.columns.of_kinds(lambda kind: kind.epoch == 0)) for side in (before, after))
    places = rows.places_in(others)
    both = np.flatnonzero(places >= 0)
    digests = [rows.digests(field)[both], others.digests(field)[places[both]]]
    known = (digests[0] != 0) & (digests[1] != 0)
    for place in both[known & (digests[0] != digests[1])][:1].tolist():
        row, other = rows[place], others[int(places[place])]
        path = f"{_sample_path(row.sample_id)}.{field}"
        return Mismatch(eval_, component, Difference(path, getattr(row, field), getattr(other, field)))
    # The hash is over all samples: those on one side only are the data's difference, a failed asking is none.
    return None if known.any() else Mismatch(eval_, component, None, _NO_TEXTS)


def _unshared_sample(before: ComparableEval, after: ComparableEval) -> Difference | None:
    sides = (before.columns, after.columns)
    for own, other in (sides, sides[::-1]):
        for place in np.flatnonzero(~np.isin(own.ids, other.ids))[:1].tolist():
            there = ["there" if each is own else MISSING for each in sides]
            return Difference(_sample_path(own[place].sample_id), *there)
    return None


def _scorer_mismatch(before: ComparableEval, after: ComparableEval, scorers: Sequence[str]) -> Iterator[Mismatch]:
    for name in scorers:
        if encoders := other_encoders(before.scorers.get(name, ""), after.scorers.get(name, "")):
            yield Mismatch(before.eval, ENCODER, Difference(name, *encoders))
            return
    signatures = [{name: side.scorers[name] for name in scorers if name in side.scorers} for side in (before, after)]
    if (difference := first_difference(signatures[0], signatures[1], "protocols")) is not None:
        yield Mismatch(before.eval, "protocols", difference)


def _sample_path(sample_id: str) -> str:
    return f"samples[{json_excerpt(sample_id, sample_id)}]"


def recorded_samples(folder: Path, model: str, evals: Collection[str]) -> dict[str, Samples]:
    """By eval, the samples that ``model`` was asked: first epoch, first stage under the eval's own perturbation.

    ``prompt`` and ``audio`` are None where the run does not know them. Raises FatalError for a file that was cut or
    edited.
    """
    samples: dict[str, Samples] = {eval_: {} for eval_ in evals}
    for row in read_lines(folder / LINE_FILES["predictions"], PredictionRow):
        if row.unchanged:
            continue  # Clips before a perturbation say nothing of what it made of them.
        if row.eval in samples and row.model == model and row.epoch == 0 and row.role == "subject":
            samples[row.eval].setdefault(row.sample_id, _recorded_sample(row))
    return samples


def recorded_settings(folder: Path, model: str) -> dict[str, dict[str, Any]]:
    """By eval, how answers were generated, as far as the options of its protocol say: settings are hashed, not kept."""
    names = [field.name for field in fields(Settings)]
    return {
        item.eval: {name: item.options[name] for name in names if name in item.options}
        for item in load_run(folder).record.items
        if item.model == model
    }


def _recorded_sample(row: PredictionRow) -> dict[str, Any]:
    clips = [{"key": clip.key, "source": clip.source} for clip in row.audio]
    return {
        **{name: getattr(row, name) for name in _DATA},
        "audio": None if any(clip.key is None for clip in row.audio) else clips,
        "prompt": _messages(row.prompt),
    }


def _messages(prompt: Prompt | None) -> list[dict[str, Any]] | None:
    """A prompt with names in it, so that a place in it can be read: ``prompt[1].parts[0].text``."""
    if prompt is None:
        return None
    return [
        {"role": role, "parts": [{"text": part} if isinstance(part, str) else {"clip": part} for part in parts]}
        for role, parts in prompt
    ]
