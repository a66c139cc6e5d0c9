"""Qwen2.5-Omni with its talker: a tiny checkpoint in the published format writes an answer and says it."""

import io
import runpy
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile

from pytest_audiobench.errors import FatalError, UsageError
from pytest_audiobench.models.hf.model import HfModel

CONVERT = Path(__file__).parents[2] / "fixtures" / "convert_speakers.py"


@pytest.fixture(scope="module")
def talking(built, tmp_path_factory):
    """The checkpoint with its speakers converted; the first is as published."""
    folder = shutil.copytree(built("qwen25_omni_talker"), tmp_path_factory.mktemp("omni") / "talking")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sys, "argv", ["convert_speakers.py", str(folder)])
        runpy.run_path(str(CONVERT), run_name="__main__")
    return folder


@pytest.fixture(scope="module")
def model(talking):
    model = HfModel(str(talking), {"voice": "Chelsie", "device": "cpu"})
    yield model
    model.close()


def test_speech_is_said_where_it_is_wanted_and_the_text_is_the_thinkers(model, built, ask_about, heard):
    tone = heard(np.sin(np.arange(8_000) * 0.1))
    spoken = [ask_about("What?", tone, task="open", key=key, speech=True, max_new_tokens=3) for key in ("a", "b")]
    plain = ask_about("What?", tone, task="open", key="c", max_new_tokens=3)
    first, second, silent = model.ask([*spoken, plain])
    assert first.text == second.text == silent.text
    assert first.usage == silent.usage
    assert not silent.sounds
    samples, rate_hz = soundfile.read(io.BytesIO(first.sounds[0].data))
    assert rate_hz == 24_000
    assert np.abs(samples).max() > 0.01
    # Its own seed is of the request: another one is sampled again, the same one comes out the same in any company.
    assert first.audio != second.audio
    assert model.ask(spoken[:1])[0].audio == first.audio
    thinker = HfModel(str(built("qwen25_omni")), {"device": "cpu"})
    assert thinker.ask([plain])[0].text == silent.text
    thinker.close()


def test_it_speaks_by_its_voice_which_is_part_of_what_it_is(model, talking, tmp_path):
    assert model.limits.speaks
    plain = HfModel(str(talking), {"device": "cpu"})
    assert not plain.limits.speaks
    prints = model.fingerprint(), plain.fingerprint()
    assert "speakers" not in prints[1]
    assert prints[0]["chosen"] == "voice=Chelsie"
    other = shutil.copytree(talking, tmp_path / "other")
    (other / "spk_dict.safetensors").write_bytes(b"others")
    assert HfModel(str(other), {"voice": "Chelsie", "device": "cpu"}).fingerprint() != prints[0]


def test_a_pickle_of_speakers_is_not_read(built):
    model = HfModel(str(built("qwen25_omni_talker")), {"voice": "Chelsie", "device": "cpu"})
    with pytest.raises(FatalError, match=r"spk_dict.pt is a pickle, which is not read here; fixtures/convert_speakers"):
        model.load()


def test_a_voice_that_is_not_there_and_a_beam_search_are_refused(talking):
    with pytest.raises(FatalError, match="no speaker 'Nobody'; it has Chelsie, Ethan"):
        HfModel(str(talking), {"voice": "Nobody", "device": "cpu"}).load()
    with pytest.raises(UsageError, match="cannot speak what was written by beams="):
        _ = HfModel(str(talking), {"voice": "Chelsie", "beams": "3"}).limits
