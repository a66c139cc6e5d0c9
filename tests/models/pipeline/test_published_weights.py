"""A pipeline with weights that are published: slow, and only where they were fetched."""

import json
import os
import re
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

from pytest_audiobench.audio.decode import decode
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.datasets.soundscape.bundled_pools import bundled_pools
from pytest_audiobench.datasets.soundscape.scenes import soundscape_scenes
from pytest_audiobench.models.pipeline.voices import Voices
from pytest_audiobench.models.registry import make
from pytest_audiobench.models.spec import parse_spec

WEIGHTS = Path(os.environ.get("AUDIOBENCH_WEIGHTS", "weights")).resolve()
EXAMPLE = Path(__file__).parents[3] / "examples" / "pipelines" / "whisper.toml"


def weights(name):
    if not (WEIGHTS / name).is_dir():
        pytest.skip(f"{WEIGHTS / name} is missing: python fixtures/fetch_weights.py {WEIGHTS}")
    return WEIGHTS / name


@pytest.mark.slow
def test_whisper_in_the_bundled_recognisers_place_reads_sentences_that_are_in_no_grammar(tmp_path, ask_about):
    pytest.importorskip("transformers")
    checkpoint = weights("whisper-tiny.en")
    file = tmp_path / "whisper.toml"
    # Segments by what comes with the package: silero-vad need not be installed.
    text = re.sub(r'use = "silero"\nvoices = .*', 'use = "energy"', EXAMPLE.read_text("utf-8"))
    file.write_text(text.replace("hf:weights/whisper-tiny.en", f"hf:{checkpoint}"), "utf-8")
    pipeline = make(parse_spec(f"pipeline:{file}"))
    pipeline.load()
    right = 0
    for sample in soundscape_scenes(scenes=6, seed="published-weights").read(Places(Path())):
        audio = decode(sample.clips[0], 16_000, None)
        (response,) = pipeline.ask([ask_about("List.", audio, task="events")])
        assert response.error is None
        words = {_plain(event) for event in json.loads(response.text) if event["type"] == "speech"}
        right += len(words & {_plain(event) for event in json.loads(sample.reference) if event["type"] == "speech"})
    pipeline.close()
    assert right >= 2


@pytest.mark.slow
def test_of_three_turns_the_second_is_another_voice():
    pytest.importorskip("transformers")
    encoder, voices = Voices(weights("resemblyzer")), {}
    for piece in bundled_pools().layers["speech"]:
        if piece.language == "en" and len(piece.text.split()) >= 4:
            voices.setdefault(piece.speaker, []).append(decode(piece.clip, 16_000, None).samples)
    right = []
    for first, other in permutations(voices.values(), 2):
        turns = [first[0], other[0], first[1]]
        ends = np.cumsum([len(turn) for turn in turns]) / 16_000
        spans = [(start, end, "") for start, end in zip([0.0, *ends[:-1]], ends, strict=True)]
        labels = [label for *_, label in encoder.labelled(np.concatenate(turns), spans)]
        right.append(labels == ["speaker_1", "speaker_2", "speaker_1"])
    assert len(right) == 56
    assert np.mean(right) > 0.75


def _plain(event):
    return event.get("transcription", "").lower().strip(" .!?")
