"""The recipe of a clip as JSON values: what its key is rebuilt from where its files are available.

A file is ``"NAME:path"``; other sources, and what is done to any, are objects. A plain file needs no recipe: its name
says all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from pytest_audiobench.audio.clip import (
    ArraySource,
    CellSource,
    Clip,
    CombinedSource,
    Edit,
    FileSource,
    Parameters,
    Source,
    SynthesisSource,
)

Recipe: TypeAlias = Any
"""JSON values: a text, or an object with ``edits`` and ``source``, or one of a source."""

_DEEPEST = 16
_MOST_PARTS = 256


@dataclass(frozen=True, slots=True)
class RecordedSource(FileSource):
    """An audio source of which only its recorded name is left, and its recipe where there was one."""

    recipe: Recipe = None

    def __str__(self) -> str:
        return self.path


def recipe_of(clip: Clip) -> Recipe:
    """The recipe of ``clip``; None for a plain file, and for a clip that was recorded without one."""
    if isinstance(clip.source, RecordedSource):
        return clip.source.recipe
    return None if isinstance(clip.source, FileSource) and not clip.edits else _recipe(clip)


def _recipe(clip: Clip) -> Recipe:
    source = _source(clip.source)
    return {"source": source, "edits": [edit.payload for edit in clip.edits]} if clip.edits else source


def _source(source: Source) -> Recipe:
    if isinstance(source, FileSource):
        return str(source)
    if isinstance(source, CellSource):
        place = {"column": source.column, "row_group": source.row_group, "row": source.row}
        rate = {} if source.rate_hz is None else {"rate_hz": source.rate_hz}
        return {"file": str(source.file), **place, **rate}
    if isinstance(source, ArraySource):
        return {"array": source.digest}
    if isinstance(source, SynthesisSource):
        return source.payload
    return source.payload([_recipe(clip) for clip in source.clips])


def clip_of(recipe: Recipe, file: Callable[[str], FileSource]) -> Clip:
    """The clip of a ``recipe`` that anyone may have written; ``file`` finds a file's source by its name.

    An array comes back without its samples: what it is called by is all that a key needs. Raises ValueError, which
    says what is wrong, for what is no recipe, and whatever ``file`` raises.
    """
    return _clip(recipe, file, 0)


def _clip(recipe: Recipe, file: Callable[[str], FileSource], depth: int) -> Clip:
    if depth > _DEEPEST:
        raise ValueError(f"a recipe is more than {_DEEPEST} levels deep")
    if isinstance(recipe, str):
        return Clip(file(recipe))
    if not isinstance(recipe, Mapping):
        raise ValueError("a recipe must be a text or an object")
    if "edits" in recipe:
        return _clip(recipe.get("source"), file, depth + 1).edited(*(_edit(edit) for edit in _list(recipe, "edits")))
    if "array" in recipe:
        return Clip(ArraySource("array", 1, _text(recipe, "array"), np.zeros(0, dtype=np.float32)))
    if "file" in recipe:
        return Clip(_cell(recipe, file))
    version, parameters = _whole_number(recipe, "version"), _parameters(recipe)
    if "rule" in recipe:
        clips = tuple(_clip(part, file, depth + 1) for part in _list(recipe, "clips"))
        rule, rate_hz = _text(recipe, "rule"), _whole_number(recipe, "rate_hz")
        return Clip(CombinedSource(rule, version, rate_hz, clips, parameters, _seed(recipe)))
    return Clip(SynthesisSource(_text(recipe, "recipe"), version, parameters))


def _cell(recipe: Mapping[str, Any], file: Callable[[str], FileSource]) -> CellSource:
    row_group, row = _whole_number(recipe, "row_group"), _whole_number(recipe, "row")
    rate_hz = None if recipe.get("rate_hz") is None else _whole_number(recipe, "rate_hz")
    return CellSource(file(_text(recipe, "file")), _text(recipe, "column"), row_group, row, rate_hz)


def _edit(edit: Recipe) -> Edit:
    if not isinstance(edit, Mapping):
        raise ValueError("an edit must be an object")
    return Edit(_text(edit, "name"), _whole_number(edit, "version"), _parameters(edit), _seed(edit))


def _parameters(recipe: Mapping[str, Any]) -> Parameters:
    parameters = []
    for pair in _list(recipe, "parameters"):
        if not isinstance(pair, list) or len(pair) != 2 or not all(isinstance(text, str) for text in pair):
            raise ValueError("the parameters of a recipe must be pairs of texts")
        parameters.append((pair[0], pair[1]))
    return tuple(parameters)


def _list(recipe: Mapping[str, Any], name: str) -> list[Any]:
    value = recipe.get(name)
    if not isinstance(value, list) or len(value) > _MOST_PARTS:
        raise ValueError(f"{name} of a recipe must be a list of at most {_MOST_PARTS}")
    return value


def _text(recipe: Mapping[str, Any], name: str) -> str:
    value = recipe.get(name)
    if not isinstance(value, str):
        raise ValueError(f"{name} of a recipe must be a text")
    return value


def _whole_number(recipe: Mapping[str, Any], name: str) -> int:
    value = recipe.get(name)
    if type(value) is not int:
        raise ValueError(f"{name} of a recipe must be a whole number")
    return value


def _seed(recipe: Mapping[str, Any]) -> str | None:
    return None if recipe.get("seed") is None else _text(recipe, "seed")
