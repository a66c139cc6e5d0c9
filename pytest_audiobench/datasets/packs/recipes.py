"""Mixtures that a user asks for: by a recipe file, or in a line (``siren+rain@-6``).

A recipe file is YAML or JSON, as published by github THENIROCK/audiobench::

    mixtures:
      - name: street
        labels: [siren, dog_bark, rain]
        label_levels: {rain: -6}        # dB against the first label; snr_db is every other's
        pin: {siren: siren-01.wav}      # this clip; any other text stands for one by its SHA-256
        pack: city                      # else the data set's
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from pytest_audiobench.audio.clip import Clip, FileSource
from pytest_audiobench.datasets.packs.labels import slug
from pytest_audiobench.datasets.places import CONTROL
from pytest_audiobench.errors import UsageError
from pytest_audiobench.io.mistakes import Mistakes, nearest
from pytest_audiobench.io.user_documents import SUFFIXES, read_document

MOST_SOURCES = 16
_LOUDEST_DB = 60.0
_MOST_MIXTURES = 10_000
_FIELDS = ("name", "labels", "snr_db", "label_levels", "pin", "pack")
_PART = re.compile(r"(?P<label>[^@]*)(?:@(?P<level>[+-]?\d+(?:\.\d+)?))?")


@dataclass(frozen=True)
class Recipe:
    """A mixture by name."""

    name: str
    labels: tuple[str, ...]
    """Slugs."""
    levels_db: tuple[float, ...]
    """Each label's against the first one's, which is 0."""
    where: str
    """For messages."""
    pins: Mapping[str, str] = field(default_factory=dict)
    """Which clip of a label is taken."""
    pack: str | None = None
    """Whose clips; None for the data set's."""


def inline_recipe(text: str) -> Recipe:
    """The recipe of ``siren+rain@-6`` or ``city:siren+rain@-6``: labels, levels in dB, perhaps the pack.

    Its name is what it says, so that the same mixture is paired over runs whatever is next to it.
    Raises UsageError for what is none.
    """
    where = f"the mixture {text[:200]!r}"
    pack, colon, parts = text.rpartition(":")
    labels, levels = [], []
    for part in parts.split("+"):
        match = _PART.fullmatch(part.strip())
        if match is None:
            raise UsageError(f"{where}: {part.strip()!r} is not a label with a level in dB; write siren+rain@-6")
        labels.append(match["label"])
        levels.append(float(match["level"] or 0))
    slugs = _slugs(where, labels)
    name = "+".join(label if not level else f"{label}@{level:g}" for label, level in zip(slugs, levels, strict=True))
    chosen = pack.strip() if colon else ""
    return Recipe(f"{chosen}:{name}" if chosen else name, slugs, _levels(where, levels), where, pack=chosen or None)


def read_recipes(path: Path) -> list[Recipe]:
    """The mixtures of a recipe file. Raises UsageError with the mixture, the field and the remedy of each mistake."""
    content = read_document(path)
    mixtures = content.get("mixtures") if isinstance(content, dict) else None
    if not isinstance(mixtures, list) or not mixtures or len(mixtures) > _MOST_MIXTURES:
        raise UsageError(f"{path} has no list of 'mixtures' (1 to {_MOST_MIXTURES}); write one")
    mistakes = Mistakes()
    for name in content:
        if name != "mixtures":
            mistakes.add(f"{path} has {name[:80]!r} beside its 'mixtures'; put it into one of them, or remove it")
    recipes: dict[str, Recipe] = {}
    for number, entry in enumerate(mixtures, 1):
        if (recipe := _recipe(path, number, entry, mistakes)) is not None:
            if recipe.name in recipes:
                mistakes.add(f"{path} has two mixtures named {recipe.name!r}; rename one")
            recipes[recipe.name] = recipe
    mistakes.check()
    return list(recipes.values())


def absolute_mixes(folder: Path, mixes: Sequence[str]) -> tuple[str, ...]:
    """``mixes`` with the files among them as paths from ``folder``, where the user stands."""
    return tuple(str(folder / Path(text).expanduser()) if _is_file(text) else text for text in mixes)


def mix_recipes(mixes: Sequence[str]) -> list[Recipe]:
    """The recipes that ``--ab-mix`` names, in a line or by file. Raises UsageError for a mixture named twice."""
    recipes: dict[str, Recipe] = {}
    for text in mixes:
        for recipe in read_recipes(Path(text)) if _is_file(text) else [inline_recipe(text)]:
            if recipe.name in recipes:
                raise UsageError(f"{recipe.where} is named {recipe.name!r} as another mixture is; leave one away")
            recipes[recipe.name] = recipe
    return list(recipes.values())


def _is_file(text: str) -> bool:
    return text.lower().endswith(SUFFIXES)


def _recipe(path: Path, number: int, entry: Any, mistakes: Mistakes) -> Recipe | None:
    """One mixture of a file; None, or one with stand-ins, where it adds to ``mistakes``."""
    where = f"{path}, mixture {number}"
    if not isinstance(entry, dict):
        mistakes.add(f"{where} is not an object; write its name and labels")
        return None
    name = mistakes.attempt("", _text, where, entry, "name") or f"recipe-{number}"
    if CONTROL.search(name) or "/" in name:
        mistakes.add(f"{where}: its 'name' {name[:80]!r} holds a slash or a control character; remove it")
    else:
        where = f"{path}, mixture {name!r}"
    likely_keys = mistakes.check_keys(where, entry, _FIELDS)
    written_levels = mistakes.attempt({}, _object, where, entry, "label_levels")
    written_pins = mistakes.attempt({}, _object, where, entry, "pin")
    others = mistakes.attempt(0.0, _number, f"{where}: its 'snr_db'", entry.get("snr_db", 0))
    written = entry.get("labels", list(written_levels))
    labels: tuple[str, ...] = ()
    if not isinstance(written, list) or not all(isinstance(label, str) for label in written):
        mistakes.add(f"{where}: its 'labels' are not a list of texts; list what is to be heard")
    elif "labels" not in likely_keys:
        labels = mistakes.attempt((), _slugs, where, written)
    if not labels:
        return None
    levels = {
        label: mistakes.attempt(0.0, _number, f"{where}: its 'label_levels' of {label}", level)
        for label, level in _by_label(where, "label_levels", written_levels, labels, mistakes).items()
    }
    pins = _by_label(where, "pin", written_pins, labels, mistakes)
    for label, value in pins.items():
        if not isinstance(value, (str, int)) or isinstance(value, bool):
            mistakes.add(f"{where}: its 'pin' of {label} is not text; name one of its clips")
    levels_db = [levels.get(label, others if i else 0.0) for i, label in enumerate(labels)]
    return Recipe(
        name,
        labels,
        mistakes.attempt((), _levels, where, levels_db),
        where,
        {label: str(value) for label, value in pins.items()},
        mistakes.attempt("", _text, where, entry, "pack") or None,
    )


def _slugs(where: str, written: Sequence[str]) -> tuple[str, ...]:
    slugs = tuple(slug(label) for label in written)
    if not slugs or "" in slugs:
        raise UsageError(f"{where} has no label, or an empty one; name what is to be heard")
    if len(set(slugs)) < len(slugs):
        twice = next(label for label in slugs if slugs.count(label) > 1)
        raise UsageError(f"{where} has the label {twice!r} twice; a mixture holds each sound once")
    if len(slugs) > MOST_SOURCES:
        raise UsageError(f"{where} has {len(slugs)} labels; a mixture has at most {MOST_SOURCES}")
    return slugs


def _levels(where: str, levels: Sequence[float]) -> tuple[float, ...]:
    against_first = tuple(round(level - levels[0], 6) for level in levels)
    if loud := [level for level in (*levels, *against_first) if abs(level) > _LOUDEST_DB]:
        raise UsageError(f"{where} has a level of {loud[0]:g} dB; keep within {_LOUDEST_DB:g} dB of its first sound's")
    return against_first


def _by_label(
    where: str, name: str, written: Mapping[str, Any], labels: Sequence[str], mistakes: Mistakes
) -> Mapping[str, Any]:
    values = {}
    for key, value in written.items():
        label = slug(key)
        if label in labels:
            values[label] = value
        else:
            mistakes.add(f"{where}: its {name!r} names {key[:80]!r}, which is not in it", label, labels)
    return values


def _object(where: str, entry: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = entry.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise UsageError(f"{where}: its {name!r} is not an object; write {{label: value}}")
    return value


def _text(where: str, entry: Mapping[str, Any], name: str) -> str:
    value = entry.get(name)
    if value is None:
        return ""
    if not isinstance(value, str) or len(value) > 200:
        raise UsageError(f"{where}: its {name!r} is not a text of at most 200 characters; write it in quotes")
    return value.strip()


def _number(what: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) <= sys.float_info.max:
        raise UsageError(f"{what} is {str(value)[:80]!r}; write a number of dB")
    return float(value)


def pinned_clip(recipe: Recipe, label: str, clips: Sequence[Clip]) -> int:
    """The number of the clip that ``recipe`` pins for ``label``: the one of that path or file name.

    Any other text stands for one of them by the first eight digits of its SHA-256 modulo their number, as published
    (github THENIROCK/audiobench, suites/sound_id.py). Raises UsageError for a path that none of them has, and for a
    file name that several have.
    """
    value = recipe.pins[label]
    paths = [PurePosixPath(clip.source.path if isinstance(clip.source, FileSource) else "") for clip in clips]
    matches = [n for n, path in enumerate(paths) if value in (str(path), path.name)]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise UsageError(
            f"{recipe.where}: its 'pin' of {label} is {value!r}, as {len(matches)} clips are; give the path"
        )
    if "/" in value or PurePosixPath(value).suffix:
        known = nearest(value, [path.name for path in paths])
        raise UsageError(f"{recipe.where}: its 'pin' of {label} is {value[:80]!r}, not one of its clips; {known}")
    return int(hashlib.sha256(value.encode()).hexdigest()[:8], 16) % len(clips)
