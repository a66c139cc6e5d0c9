"""The file of a pipeline: which parts there are, in which order, and what each is asked about."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_audiobench.errors import UsageError
from pytest_audiobench.io.mistakes import Mistakes, nearest
from pytest_audiobench.models.spec import parse_spec

STEPS = ("segment", "transcribe", "describe", "fuse")
"""In the order in which they run."""

PLACES = ("clip", "speech", "overlaps", "gaps", "music")
"""Where a part is asked: the whole clip, each segment, each that another voice overlaps, what lies between segments,
and what an earlier report calls music."""

SEGMENTERS = ("energy", "silero", "pyannote", "sortformer")
SHORT = {"sphinx": "baseline:listener", "listener": "baseline:listener"}
"""Names of parts that come with the package, and the models that they are."""
TEMPLATE = "template"
PYTHON = "python:"

_KEYS = {
    "segment": ("use", "name", "model", "voices"),
    "transcribe": ("use", "name", "only", "window_s", "prompt"),
    "describe": ("use", "name", "only", "window_s", "prompt", "task", "type"),
    "fuse": ("use", "name", "prompt"),
}
_TYPES = ("sound_event", "music", "vocal_burst")
_TASKS = ("open", "events")
_VALUES = {"only": PLACES, "task": _TASKS, "type": _TYPES}


@dataclass(frozen=True, slots=True)
class PartDeclaration:
    """One table of the file."""

    step: str
    use: str
    name: str
    only: str = "clip"
    window_s: float | None = None
    prompt: str = ""
    task: str = "open"
    type: str = "sound_event"
    """What a description that lists no events is taken to be of."""
    model: str = ""
    """The checkpoint of a segmenter that has several."""
    voices: str = ""
    """The folder of weights that tell the segments' voices apart; "" leaves the segmenter's own labels."""

    @property
    def spec(self) -> str:
        """The model that it is; "" for a segmenter, a function or the template."""
        is_model = self.step != "segment" and self.use != TEMPLATE and not self.use.startswith(PYTHON)
        return SHORT.get(self.use, self.use) if is_model else ""


def read_pipeline(path: Path, mistakes: Mistakes) -> tuple[PartDeclaration, ...]:
    """The parts that ``path`` declares, step by step; what is wrong with it is added to ``mistakes``.

    Raises UsageError for what is no TOML.
    """
    try:
        table = tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise UsageError(f"the pipeline {path} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"the pipeline {path} is not TOML in UTF-8: {error}") from None
    likely = mistakes.check_keys(path.name, table, STEPS)
    parts = [part for step in STEPS for part in _parts(path.name, step, table.get(step, []), mistakes)]
    steps = {part.step for part in parts}
    if "fuse" not in table and "fuse" not in likely:
        mistakes.add(
            f'{path.name} has no [fuse], which makes the list of events: use = "{TEMPLATE}" or a model of texts'
        )
    if steps.isdisjoint({"segment", "describe"}) and not mistakes:
        mistakes.add(f"{path.name} has neither [segment] nor [describe], so that nothing would be reported")
    if sum(part.step == "fuse" for part in parts) > 1:
        mistakes.add(f"{path.name} has several [fuse]; keep one")
    for part in parts:
        if part.step == "transcribe" and "segment" not in table and part.only != "clip":
            mistakes.add(f"{path.name}, {part.name}: only = {part.only!r} needs a [segment] that says where that is")
    return tuple(parts)


def _parts(where: str, step: str, value: object, mistakes: Mistakes) -> Iterator[PartDeclaration]:
    tables = value if isinstance(value, list) else [value]
    for number, table in enumerate(tables, start=1):
        place = f"{where}, {step}{f' {number}' if len(tables) > 1 else ''}"
        if isinstance(table, dict):
            with mistakes.catching(f"{place}: "):
                yield _part(place, step, number, table, mistakes)
        else:
            mistakes.add(f"{place} is not a table; write [{step}] and below it use = …")


def _part(place: str, step: str, number: int, table: Mapping[str, Any], mistakes: Mistakes) -> PartDeclaration:
    mistakes.check_keys(place, table, _KEYS[step])
    for key, value in table.items():
        if key == "window_s":
            if not isinstance(value, int | float) or isinstance(value, bool) or not 0.1 <= value <= 3600:
                mistakes.add(f"{place}: window_s = {value!r} is not a number of seconds from 0.1 to 3600")
        elif not isinstance(value, str):
            mistakes.add(f"{place}: {key} = {str(value)[:80]} is not text")
        elif value not in _VALUES.get(key, (value,)):
            mistakes.add(f"{place}: {key} = {value[:80]!r} is unknown", value, _VALUES[key])
    given = {key: value for key, value in table.items() if key in _KEYS[step]}
    use = str(given.get("use", ""))
    if not use:
        raise UsageError("it has no use = …, which says what the part is")
    _check_use(step, use)
    defaults = {
        "name": f"{step} {number}",
        "only": "speech" if step == "transcribe" else "clip",
        "task": "transcription" if step == "transcribe" else "events" if use == "listener" else "open",
    }
    return PartDeclaration(step, **{**defaults, **given})


def _check_use(step: str, use: str) -> None:
    if use.startswith(PYTHON):
        if use.count(":") != 2 or not all(use.split(":")):
            raise UsageError(f"{use!r} names no function; write {PYTHON}MODULE:FUNCTION")
    elif step == "segment":
        if use not in SEGMENTERS:
            raise UsageError(
                f"there is no segmenter {use!r}; {nearest(use, (*SEGMENTERS, f'{PYTHON}MODULE:FUNCTION'))}"
            )
    elif not (step == "fuse" and use == TEMPLATE):
        short = (TEMPLATE,) if step == "fuse" else tuple(SHORT)
        if ":" not in use and use not in SHORT:
            forms = ", ".join((*short, "KIND:TARGET of a model", f"{PYTHON}MODULE:FUNCTION"))
            raise UsageError(f"there is no part {use!r}; {nearest(use, short, f'write one of {forms}')}")
        spec = parse_spec(SHORT.get(use, use))
        if spec.kind == "pipeline":
            raise UsageError("a pipeline is not part of another")
