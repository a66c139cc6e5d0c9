"""Packs of tones in a temporary folder."""

import json

import numpy as np
import pytest
import soundfile

from pytest_audiobench.datasets.places import Places


def write_tone(path, hz=440, rate_hz=16_000, seconds=0.2):
    path.parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(path, 0.3 * np.sin(2 * np.pi * hz * np.arange(int(rate_hz * seconds)) / rate_hz), rate_hz)


@pytest.fixture
def tone():
    return write_tone


@pytest.fixture
def shelf(tmp_path):
    """A folder of packs, with one pack ``home`` of four labels and two clips each; a function that adds manifests."""
    packs = tmp_path / "packs"
    for number, label in enumerate(("cat", "dog bark", "rain", "tap")):
        for take in range(2):
            write_tone(packs / "home" / label / f"{take}.wav", 300 + 100 * number + 20 * take)
    return packs


@pytest.fixture
def places(shelf, tmp_path):
    return Places(tmp_path, {"packs": shelf})


@pytest.fixture
def manifest(shelf):
    def write(pack="home", **fields):
        (shelf / pack).mkdir(exist_ok=True)
        (shelf / pack / "pack.json").write_text(json.dumps({"id": pack, **fields}))

    return write
