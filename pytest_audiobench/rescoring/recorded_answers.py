"""What every layout of recorded answers is read into, one row at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from pytest_audiobench.audio.clip import Clip, DataRoot
from pytest_audiobench.audio.clip_record import Recipe, RecordedSource
from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.models.messages import Message, Response


class Played(NamedTuple):
    """Clips with their keys, where these are known, and lengths."""

    clips: tuple[Clip, ...]
    keys: tuple[str, ...] | None
    durations_s: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class RecordedRow:
    """One sample in one epoch, as it was recorded. A layout's reader yields an eval's rows one after the other.

    ``responses`` are by stage ("answer" where a layout knows no stages); a sample whose asking failed has an ``error``.
    ``family`` is the family of protocols that the question belongs to, as ``--family`` names it, and empty where the
    layout does not say. ``groups`` and ``cluster`` name metadata fields as a :class:`Dataset` does. ``stored`` is what
    the file itself says of how the answer was read and scored. ``note`` is what a reader of the numbers must know of
    the layout, the same for all its rows. ``verdicts`` are what judges said of the answer, by stage; ``messages`` is
    what each stage was asked, where the layout keeps it. ``recording`` is the key of the recording that a perturbation
    changed, where the layout knows of one, ``unchanged`` what a stage was played that was asked about the clips as they
    were before; ``options`` are those that the family was called with; ``rewritten`` are the texts of rewriters, by
    stage.
    """

    sample: Sample
    responses: Mapping[str, Response]
    epoch: int
    error: str | None
    eval: str
    dataset: str
    model: str
    stored: Mapping[str, Any] = field(default_factory=dict)
    family: str = ""
    groups: tuple[str, ...] | None = None
    cluster: str | None = None
    clip_keys: tuple[str, ...] | None = None
    durations_s: tuple[float | None, ...] = ()
    note: str = ""
    verdicts: Mapping[str, Response] = field(default_factory=dict)
    messages: Mapping[str, tuple[Message, ...]] = field(default_factory=dict)
    recording: str | None = None
    unchanged: Played | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    rewritten: Mapping[str, Response] = field(default_factory=dict)


def clip_named(source: str, recipe: Recipe = None) -> Clip:
    """A clip that is known by its recorded name, and its recipe where it has one, and never decoded."""
    return Clip(RecordedSource(_NOWHERE, source, recipe))


_NOWHERE = DataRoot("recorded", Path())
