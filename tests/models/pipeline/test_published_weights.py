"""A pipeline with weights that are published: slow, and only where they were fetched."""

import json
import os
from pathlib import Path

import pytest

from pytest_audiobench.audio.decode import decode
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.datasets.soundscape.scenes import soundscape_scenes
from pytest_audiobench.models.registry import make
from pytest_audiobench.models.spec import parse_spec

WEIGHTS = Path(os.environ.get("AUDIOBENCH_WEIGHTS", "weights")) / "whisper-tiny.en"
EXAMPLE = Path(__file__).parents[3] / "examples" / "pipelines" / "whisper.toml"


@pytest.mark.slow
def test_whisper_in_the_bundled_recognisers_place_reads_sentences_that_are_in_no_grammar(tmp_path, ask_about):
    pytest.importorskip("transformers")
    if not WEIGHTS.is_dir():
        pytest.skip(f"{WEIGHTS} is missing: python fixtures/fetch_weights.py {WEIGHTS.parent}")
    file = tmp_path / "whisper.toml"
    file.write_text(
        EXAMPLE.read_text("utf-8").replace("hf:weights/whisper-tiny.en", f"hf:{WEIGHTS.resolve()}"), "utf-8"
    )
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


def _plain(event):
    return event.get("transcription", "").lower().strip(" .!?")
