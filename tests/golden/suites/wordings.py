"""One question in several wordings, by vote."""

import numpy as np

from pytest_audiobench import Dataset, Sample, with_prompt_variants
from pytest_audiobench.audio.clip import ArraySource, Clip
from pytest_audiobench.protocols.presence.task import presence


def read(places):
    samples = []
    for number in range(12):
        level = 0.5 if number % 2 else 0.01
        wave = np.round(level * np.sin(np.arange(8000) * (0.1 + 0.01 * number)), 3)
        metadata = {"label": "alarm", "condition": "quad" if number % 3 else "solo", "mixture": f"m{number // 2}"}
        clip = Clip(ArraySource.of(wave.tolist(), 16_000))
        samples.append(Sample(f"s{number}", (clip,), "", reference="yes" if number % 2 else "no", metadata=metadata))
    return samples


PROBES = Dataset("probes", read, cluster="mixture", groups=("condition",))


def test_probes(evaluate):
    evaluate(PROBES, with_prompt_variants(presence(), "yesno", 3))
