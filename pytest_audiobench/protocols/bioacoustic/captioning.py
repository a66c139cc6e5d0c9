"""A recording of animals in a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pytest_audiobench.protocols.bioacoustic.family import bioacoustic
from pytest_audiobench.protocols.protocol import Protocol, Scorer, remembered


@remembered
def bioacoustic_captioning(
    *scorers: str | Scorer,
    labels: Sequence[str] | str | None = None,
    prompt: str | None = None,
    system: str | None = None,
    max_new_tokens: int = 256,
) -> Protocol:
    """:func:`bioacoustic` with the task "captioning"."""
    asked = bioacoustic(
        *scorers, task="captioning", labels=labels, prompt=prompt, system=system, max_new_tokens=max_new_tokens
    )
    return replace(asked, name="bioacoustic_captioning")
