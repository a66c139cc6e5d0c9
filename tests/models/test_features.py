import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pytest_audiobench.models.bundled.features import GROUPS, columns, features
from pytest_audiobench.models.bundled.trained import Network

TIME = np.arange(16_000) / 16_000


def _group(vector, name):
    return vector[columns((name,))]


@settings(deadline=None, max_examples=40)
@given(arrays(np.float32, st.integers(1, 3_000), elements=st.floats(-1, 1, width=32)))
def test_any_clip_has_finite_features_of_one_length(samples):
    vector = features(samples)
    assert vector.shape == (sum(GROUPS.values()),)
    assert np.isfinite(vector).all()


def test_a_louder_copy_differs_in_its_level_alone():
    sound = np.random.RandomState(0).standard_normal(16_000) * np.hanning(16_000) * 0.1
    soft, loud = features(sound.astype(np.float32)), features((4 * sound).astype(np.float32))
    differing = np.flatnonzero(np.abs(soft - loud) > 1e-3)
    assert differing.tolist() == [columns(("prosody",))[0]]
    assert loud[differing[0]] - soft[differing[0]] == pytest.approx(1.204, abs=0.01)


@pytest.mark.parametrize("pitch_hz", [80, 120, 200, 320])
def test_the_pitch_of_a_voice_is_found_in_its_own_octave(pitch_hz):
    pulses = sum(np.sin(2 * np.pi * k * pitch_hz * TIME) / k for k in range(1, 12))
    octaves = _group(features(pulses.astype(np.float32)), "prosody")[2]
    assert octaves == pytest.approx(np.log2(pitch_hz), abs=0.08)


def test_noise_is_flat_and_a_tone_is_not():
    noise = features(np.random.RandomState(0).standard_normal(16_000).astype(np.float32))
    tone = features(np.sin(2 * np.pi * 440 * TIME).astype(np.float32))
    assert _group(noise, "texture")[0] > 10 * _group(tone, "texture")[0]


def test_scores_are_rounded_so_that_the_last_bits_of_a_sum_decide_nothing():
    network = Network(np.zeros(3), np.ones(3), np.eye(3), np.zeros(3), np.eye(3)[:, :2], np.zeros(2))
    scores = network.scores(np.array([[1.0, 1.0 + 1e-9, 0.0], [2.0, 1.0, 0.0]]))
    assert scores.tolist() == [[1.0, 1.0], [2.0, 1.0]]
