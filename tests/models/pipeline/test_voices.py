"""Voices: which segments are put together, and what a voice's vector does not depend on."""

import json

import numpy as np
import pytest

from pytest_audiobench.models.pipeline.voices import Voices, clusters


@pytest.fixture
def voices(tmp_path):
    """An encoder of the published form with few weights, drawn by chance."""
    torch, safetensors = pytest.importorskip("torch"), pytest.importorskip("safetensors.torch")
    pytest.importorskip("transformers")
    torch.manual_seed(0)
    layers = {"lstm": torch.nn.LSTM(40, 8, 1), "linear": torch.nn.Linear(8, 8)}
    state = {f"{layer}.{name}": value for layer in layers for name, value in layers[layer].state_dict().items()}
    safetensors.save_file(state, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text(json.dumps({"bands": 40, "width": 8, "layers": 1}), "utf-8")
    return Voices(tmp_path)


@pytest.mark.parametrize(
    ("degrees", "numbers"),
    [
        ([], []),
        ([7], [0]),
        ([0, 90, 10, 80], [0, 1, 0, 1]),
        ([0, 90, 180], [0, 1, 2]),
        # The last is near the second alone, and its voice is the mean of both.
        ([0, 35, 75], [0, 0, 1]),
    ],
)
def test_segments_are_one_voice_where_all_of_them_are_alike(degrees, numbers):
    angles = np.radians(degrees)
    assert clusters(list(np.stack([np.cos(angles), np.sin(angles)], axis=1)), alike=0.7) == numbers


def test_soft_segments_are_brought_to_one_level(voices):
    noise = np.random.RandomState(0).standard_normal(12_000).astype(np.float32)
    assert voices.vector(noise * 0.002) == pytest.approx(voices.vector(noise * 0.0002), abs=1e-4)


@pytest.mark.parametrize("seconds", [0.0, 0.02, 1.6, 2.9, 7.3])
def test_a_vector_is_of_length_one_whatever_the_segments_length(voices, seconds):
    noise = 0.1 * np.random.RandomState(0).standard_normal(round(16_000 * seconds)).astype(np.float32)
    assert np.linalg.norm(voices.vector(noise)) == pytest.approx(1.0)


def test_the_same_sound_is_the_same_voice_and_the_first_is_number_one(voices):
    noise = 0.1 * np.random.RandomState(0).standard_normal(16_000).astype(np.float32)
    spans = voices.labelled(np.tile(noise, 2), [(1.0, 2.0, "b"), (0.0, 1.0, "a")])
    assert spans == [(0.0, 1.0, "speaker_1"), (1.0, 2.0, "speaker_1")]
