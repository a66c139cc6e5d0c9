"""``audiobench warmup MODEL``."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_audiobench.cli._text import labelled, say
from pytest_audiobench.errors import InfrastructureError, TransientError

if TYPE_CHECKING:
    from pytest_audiobench.datasets.bundled import Task as BundledTask
    from pytest_audiobench.models.messages import Ask, Task
    from pytest_audiobench.models.model import Model

HELP = (
    "load a model and ask it two short questions, so that files, kernels and a server are warm; says how long it took"
)

_INFRASTRUCTURE = 6
_ASKED: dict[Task, tuple[BundledTask, str]] = {
    "choice": ("sounds", "multiple_choice"),
    "transcription": ("transcription", "transcription"),
    "open": ("sounds", "captioning"),
    "events": ("sounds", "soundscape"),
}
"""The bundled data and the protocol that a task is asked by, the first that the model does."""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "model", metavar="MODEL", help="a model as --ab-model names it, such as hf:checkpoints/step-2000"
    )


def run(args: argparse.Namespace) -> int:
    """0 where both questions were answered, 1 where one was not, 6 where a server is away or breaks.

    Raises UsageError for a spec that is none, FatalError for a model that cannot be loaded.
    """
    from pytest_audiobench.models.registry import make
    from pytest_audiobench.models.spec import parse_spec
    from pytest_audiobench.report.formatting import printable

    model = make(parse_spec(args.model))
    try:
        started = time.perf_counter()
        model.load()
        loaded = time.perf_counter()
        asks = list(_asks(model))
        rows = [("model", model.spec), ("device", model.device), ("loaded in", _seconds(loaded - started))]
        answered = True
        for number, ask in zip(("first", "second"), asks, strict=True):
            began = time.perf_counter()
            (response,) = model.ask([ask])
            took = _seconds(time.perf_counter() - began)
            text = response.outputs[0].text if response.outputs else ""
            answered = answered and response.error is None and bool(response.outputs)
            said = f"no answer: {response.error}" if response.error or not response.outputs else repr(text[:200])
            rows.append((number, f"{took}, {said}"))
        print("\n".join(map(printable, labelled(rows))))
        return 0 if answered else 1
    except (InfrastructureError, TransientError) as error:
        say(f"audiobench: {error}")
        return _INFRASTRUCTURE
    finally:
        model.close()


def _seconds(took_s: float) -> str:
    return f"{took_s:.2f} s"


def _asks(model: Model) -> Iterator[Ask]:
    """Two questions of a task that the model does, about other clips: no cache has the second's answer."""
    from pytest_audiobench.audio.decode import decode
    from pytest_audiobench.datasets.bundled import bundled
    from pytest_audiobench.datasets.places import Places
    from pytest_audiobench.identity import digest
    from pytest_audiobench.models.messages import Ask, Request
    from pytest_audiobench.protocols.catalogue import protocol

    limits = model.limits
    task = next(task for task in _ASKED if task in limits.tasks)
    data, family = _ASKED[task]
    stage = protocol(family).stages[0]
    for sample in bundled(data).read(Places(Path()))[:2]:
        played = tuple(decode(clip, limits.rate_hz, limits.window_s(task)) for clip in sample.clips)
        request = Request(
            key=digest(["warmup", sample.id, [sound.pcm_digest for sound in played]]),
            dataset=f"bundled/{data}",
            sample_id=sample.id,
            stage=stage.name,
            task=task,
            messages=stage.messages(sample, {}),
            clips=sample.clips,
            choices=stage.choices(sample),
            settings=stage.settings,
        )
        yield Ask(request, played if model.listens else ())
