"""One thing to ask about: clips, a question, perhaps choices, and a reference that no model sees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from pytest_audiobench.audio.clip import Clip

Field: TypeAlias = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Sample:
    """A sample of a data set. ``reference`` is one option's text for a choice question, else the true text.

    ``references`` are all texts that are true, the first of them ``reference``, where there are several: captions of
    one clip, the labels of a clip, the talkers of a mixture, accepted answers. ``recordings`` are the clips as they
    were before any perturbation changed them (``datasets/perturbations/perturbation.py``), None where none did: samples of one recording
    belong together, whatever they were put under. ``before`` are those before the last perturbation, where one is put upon
    another. ``doubt`` says, where something is known, why its answer may mean
    less than the others'; samples are counted by it beside the numbers.
    """

    id: str
    clips: tuple[Clip, ...]
    question: str
    choices: tuple[str, ...] = ()
    reference: str = ""
    metadata: Mapping[str, Field] = field(default_factory=dict)
    references: tuple[str, ...] = ()
    recordings: tuple[Clip, ...] | None = None
    doubt: str = ""
    before: tuple[Clip, ...] | None = None

    @property
    def truths(self) -> tuple[str, ...]:
        """All references, where there is one only that one."""
        return self.references or (self.reference,)
