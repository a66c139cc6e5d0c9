"""Questions about clips as a run would put them to a model, for verbs that ask one by itself. Nothing is stored."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_audiobench.datasets.bundled import Task as BundledTask
    from pytest_audiobench.datasets.dataset import Dataset
    from pytest_audiobench.datasets.sample import Sample
    from pytest_audiobench.models.messages import Ask, Task
    from pytest_audiobench.models.model import Model

_ASKED: dict[Task, tuple[BundledTask, str]] = {
    "choice": ("sounds", "multiple_choice"),
    "transcription": ("transcription", "transcription"),
    "open": ("sounds", "captioning"),
    "events": ("sounds", "soundscape"),
}
"""The bundled data and the protocol that a task is asked by, the first that the model does."""


def questions(model: Model, purpose: str, data: Dataset | None = None, tokens: int | None = None) -> Iterator[Ask]:
    """A question about each clip of ``data``, or of bundled audio, of a task that the model does, decoded.

    ``purpose`` enters the requests' keys; ``tokens`` are the most of an answer, if not the protocol's own number.
    """
    from dataclasses import replace

    from pytest_audiobench.audio.decode import decode
    from pytest_audiobench.datasets.bundled import bundled
    from pytest_audiobench.datasets.places import Places
    from pytest_audiobench.identity import digest
    from pytest_audiobench.models.messages import Ask, Request
    from pytest_audiobench.protocols.catalogue import protocol

    limits = model.limits
    samples = data.read(Places(Path())) if data else ()
    task = next(task for task in _ASKED if task in limits.tasks and (not data or _can_be_asked(task, samples)))
    name, family = _ASKED[task]
    stage = protocol(family).stages[0]
    settings = stage.settings if tokens is None else replace(stage.settings, max_new_tokens=tokens)
    for sample in samples or bundled(name).read(Places(Path())):
        played = tuple(decode(clip, limits.rate_hz, limits.window_s(task)) for clip in sample.clips)
        request = Request(
            key=digest([purpose, sample.id, [sound.pcm_digest for sound in played]]),
            dataset=data.name if data else f"bundled/{name}",
            sample_id=sample.id,
            stage=stage.name,
            task=task,
            messages=stage.messages(sample, {}),
            clips=sample.clips,
            choices=stage.choices(sample),
            settings=settings,
        )
        yield Ask(request, played if model.listens else ())


def _can_be_asked(task: Task, samples: Sequence[Sample]) -> bool:
    return task != "choice" or bool(samples and samples[0].choices)
