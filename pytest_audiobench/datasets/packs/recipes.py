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
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from pytest_audiobench.audio.clip import Clip, FileSource
from pytest_audiobench.datasets.packs.labels import nearest, slug
from pytest_audiobench.datasets.places import CONTROL
from pytest_audiobench.errors import UsageError
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

    Its name is what it says, so that the same mixture is paired over runs whatever stands beside it.
    Raises UsageError for what is none.
    """
    where = f"the mixture {text[:200]!r}"
    pack, colon, parts = text.rpartition(":")
    labels, levels = [], []
    for part in parts.split("+"):
        match = _PART.fullmatch(part.strip())
        if match is None:
            raise UsageError(f"{where}: {part.strip()!r} is no label with a level in dB; write siren+rain@-6")
        labels.append(match["label"])
        levels.append(float(match["level"] or 0))
    slugs = _slugs(where, labels)
    name = "+".join(label if not level else f"{label}@{level:g}" for label, level in zip(slugs, levels, strict=True))
    chosen = pack.strip() if colon else ""
    return Recipe(f"{chosen}:{name}" if chosen else name, slugs, _levels(where, levels), where, pack=chosen or None)


def read_recipes(path: Path) -> list[Recipe]:
    """The mixtures of a recipe file. Raises UsageError naming the file, the mixture, the field and the remedy."""
    content = read_document(path)
    mixtures = content.get("mixtures") if isinstance(content, dict) else None
    if not isinstance(mixtures, list) or not mixtures or len(mixtures) > _MOST_MIXTURES:
        raise UsageError(f"{path} has no list of 'mixtures' (1 to {_MOST_MIXTURES}); write one")
    if unknown := [name for name in content if name != "mixtures"]:
        raise UsageError(f"{path} has {unknown[0][:80]!r} beside its 'mixtures'; put it into one of them, or remove it")
    recipes: dict[str, Recipe] = {}
    for number, entry in enumerate(mixtures, 1):
        recipe = _recipe(path, number, entry)
        if recipe.name in recipes:
            raise UsageError(f"{path} has two mixtures named {recipe.name!r}; rename one")
        recipes[recipe.name] = recipe
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


def _recipe(path: Path, number: int, entry: Any) -> Recipe:
    if not isinstance(entry, dict):
        raise UsageError(f"{path}, mixture {number} is no object; write its name and labels")
    where = f"{path}, mixture {number}"
    name = _text(where, entry, "name") or f"recipe-{number}"
    if CONTROL.search(name) or "/" in name:
        raise UsageError(f"{where}: its 'name' {name[:80]!r} holds a slash or a control character; remove it")
    where = f"{path}, mixture {name!r}"
    for key in entry:
        if key not in _FIELDS:
            raise UsageError(f"{where} has a field {key[:80]!r} that recipes do not have; {nearest(key, _FIELDS)}")
    written_levels = _object(where, entry, "label_levels")
    written = entry.get("labels", list(written_levels))
    if not isinstance(written, list) or not all(isinstance(label, str) for label in written):
        raise UsageError(f"{where}: its 'labels' are no list of texts; list what is to be heard")
    labels = _slugs(where, written)
    levels = {
        label: _number(f"{where}: its 'label_levels' of {label}", level)
        for label, level in _by_label(where, "label_levels", written_levels, labels).items()
    }
    others = _number(f"{where}: its 'snr_db'", entry.get("snr_db", 0))
    pins = _by_label(where, "pin", _object(where, entry, "pin"), labels)
    for label, value in pins.items():
        if not isinstance(value, (str, int)) or isinstance(value, bool):
            raise UsageError(f"{where}: its 'pin' of {label} is no text; name one of its clips")
    return Recipe(
        name,
        labels,
        _levels(where, [levels.get(label, others if i else 0.0) for i, label in enumerate(labels)]),
        where,
        {label: str(value) for label, value in pins.items()},
        _text(where, entry, "pack") or None,
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


def _by_label(where: str, name: str, written: Mapping[str, Any], labels: Sequence[str]) -> Mapping[str, Any]:
    values = {}
    for key, value in written.items():
        label = slug(key)
        if label not in labels:
            raise UsageError(f"{where}: its {name!r} names {key[:80]!r}, which is not in it; {nearest(label, labels)}")
        values[label] = value
    return values


def _object(where: str, entry: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = entry.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise UsageError(f"{where}: its {name!r} is no object; write {{label: value}}")
    return value


def _text(where: str, entry: Mapping[str, Any], name: str) -> str:
    value = entry.get(name)
    if value is None:
        return ""
    if not isinstance(value, str) or len(value) > 200:
        raise UsageError(f"{where}: its {name!r} is no text of at most 200 characters; write it in quotes")
    return value.strip()


def _number(what: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
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
        raise UsageError(f"{recipe.where}: its 'pin' of {label} is {value[:80]!r}, which is none of its clips; {known}")
    return int(hashlib.sha256(value.encode()).hexdigest()[:8], 16) % len(clips)
