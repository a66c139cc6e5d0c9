"""What a model was really played."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_audiobench.audio.clip import Samples


@dataclass(frozen=True, slots=True)
class PlayedAudio:
    """What a model was really played: mono samples at the model's rate.

    ``pcm_digest`` is the SHA-256 of the float32 little-endian bytes; ``frames`` the source's frames at its
    own rate: counted where the whole source was read, else what its header promises; ``truncated_s`` how
    much of the clip's end was cut off for the model's window.
    """

    samples: Samples
    rate_hz: int
    pcm_digest: str
    source_rate_hz: int
    frames: int
    decoder: str
    truncated_s: float = 0.0

    @property
    def duration_s(self) -> float:
        return len(self.samples) / self.rate_hz
