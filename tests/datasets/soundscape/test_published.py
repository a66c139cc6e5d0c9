"""Soundscapes on disk: read as they are published, refused by file and field where they are not."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from pytest_audiobench import dataset
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.datasets.soundscape.bundled_pools import bundled_pools
from pytest_audiobench.datasets.soundscape.making import write_scenes
from pytest_audiobench.datasets.soundscape.plans import PROFILES, Planner, plans
from pytest_audiobench.datasets.soundscape.published import SHORT
from pytest_audiobench.datasets.soundscape.scenes import sample_of
from pytest_audiobench.errors import DataNotFound, UsageError

DEMO = Path(__file__).resolve().parents[4] / "shared" / "soundscape" / "demo.json"
SPEECH = {
    "type": "speech",
    "start_time": 0.5,
    "end_time": 1.5,
    "transcription": "guten Tag",
    "speaker_id": "speaker_1",
    "language": "de",
    "emotion": "calm",
    "speaking_style": "even",
}
SOUND = {"type": "sound_event", "start_time": 1.0, "end_time": 2.0, "description": "a meow", "loudness": "quiet"}


def document(
    clip_id: str = "clip_000", duration: Any = 3.0, events: Any = (SPEECH, SOUND), **others: Any
) -> dict[str, Any]:
    events = list(events) if isinstance(events, tuple) else events
    return {
        "clip_id": clip_id,
        "duration": duration,
        "num_speakers": 1,
        "languages": ["de"],
        "events": events,
        **others,
    }


def write_audio(path: Path, duration_s: float) -> None:
    soundfile.write(path, np.random.RandomState(0).uniform(-0.1, 0.1, round(duration_s * 16_000)), 16_000)


def write(folder: Path, *documents: dict[str, Any], audio: str = "flac", duration_s: float = 3.0) -> None:
    for number, content in enumerate(documents):
        stem = folder / f"clip_{number:03d}"
        stem.with_suffix(".json").write_text(json.dumps(content), encoding="utf-8")
        write_audio(stem.with_suffix(f".{audio}"), duration_s)


def read(folder: Path) -> Sequence[Sample]:
    return dataset("soundscape").read(Places(folder, {"soundscape": folder}))


@pytest.mark.parametrize("audio", ["mp3", "wav", "flac", "ogg"])
def test_a_folder_of_documents_beside_their_audio_is_read(tmp_path: Path, audio: str) -> None:
    write(tmp_path, document(), document("clip_b", events=[]), audio=audio)
    first, second = read(tmp_path)
    assert [event["type"] for event in json.loads(first.reference)] == ["speech", "sound_event"]
    assert json.loads(first.reference)[0] == SPEECH
    assert (first.id, second.id, second.reference) == ("clip_000", "clip_b", "[]")
    facts = {name: first.metadata[name] for name in ("duration", "languages", "speakers", "overlap", "bed", "length")}
    assert facts == {"duration": 3, "languages": "de", "speakers": 1, "overlap": "no", "bed": "none", "length": "short"}


def test_a_jsonl_of_documents_is_read(tmp_path: Path) -> None:
    (tmp_path / "audio").mkdir()
    write_audio(tmp_path / "audio" / "a.wav", 3)
    (tmp_path / "all.jsonl").write_text(json.dumps(document(audio="audio/a.wav")) + "\n", encoding="utf-8")
    (sample,) = read(tmp_path)
    assert str(sample.clips[0].source) == "soundscape:audio/a.wav"


def test_what_the_layout_does_not_name_is_kept(tmp_path: Path) -> None:
    write(tmp_path, document(events=[{**SOUND, "label": "cat", "provenance": {"pool": "sfx"}, "mood": 3}]))
    (sample,) = read(tmp_path)
    assert json.loads(str(sample.metadata["pieces"])) == [{"label": "cat", "provenance": {"pool": "sfx"}, "mood": 3}]
    assert "cat" not in sample.reference


def test_music_over_the_whole_clip_is_a_bed(tmp_path: Path) -> None:
    music = {"type": "music", "start_time": 0.0, "end_time": 3.04, "description": "a waltz"}
    hum = {"type": "sound_event", "start_time": 0.0, "end_time": 3.0, "description": "a hum", "bed": True}
    write(
        tmp_path,
        document(events=[music]),
        document("b", events=[hum]),
        document("c", events=[{**music, "end_time": 2}]),
    )
    assert [sample.metadata["bed"] for sample in read(tmp_path)] == ["music", "ambience", "none"]
    assert json.loads(read(tmp_path)[0].reference)[0]["end_time"] == 3


def test_a_clip_that_is_shorter_than_its_answer_key_says_so(tmp_path: Path) -> None:
    write(tmp_path, document(), duration_s=2.5)
    assert [sample.doubt for sample in read(tmp_path)] == [SHORT]


@pytest.mark.parametrize(
    ("change", "mistake"),
    [
        ({"clip_id": 3}, "clip_id is not text"),
        ({"duration": "3"}, "duration is not a number of seconds above 0"),
        ({"duration": -1}, "duration is not a number of seconds above 0"),
        ({"num_speakers": "one"}, "num_speakers is not a whole number"),
        ({"num_speakers": -1}, "num_speakers is not a whole number"),
        ({"languages": "de"}, "languages is not a list of texts"),
        ({"events": {}}, "events is not a list"),
        ({"events": ["a meow"]}, "events[0] is not an object"),
        ({"events": [{**SOUND, "type": "noise"}]}, "events[0].type is 'noise'; write one of speech"),
        ({"events": [SPEECH, {**SOUND, "start_time": "1.0"}]}, "events[1].start_time is not a number of seconds"),
        ({"events": [{**SOUND, "end_time": 3.2}]}, "events[0].end_time: 1 to 3.2 is no time within the 3 s"),
        ({"events": [{**SOUND, "end_time": 1.0}]}, "events[0].end_time: 1 to 1 is no time"),
        ({"events": [{**SPEECH, "transcription": None}]}, "events[0].transcription is not there or no text"),
        ({"events": [{**SPEECH, "emotion": ["calm"]}]}, "events[0].emotion is not text"),
        (
            {"events": [{**SOUND, "loudness": "deafening"}]},
            "events[0].loudness is 'deafening'; write one of very_quiet",
        ),
        ({"events": [{**SPEECH, "age": "old"}]}, "events[0].age is 'old'; write one of baby"),
    ],
)
def test_a_document_that_is_not_as_published_is_refused_by_field(tmp_path: Path, change: dict, mistake: str) -> None:
    write(tmp_path, document(**change))
    with pytest.raises(UsageError) as error:
        read(tmp_path)
    assert f"{tmp_path / 'clip_000.json'}: {mistake}" in str(error.value)


def test_all_mistakes_of_all_documents_are_told_at_once(tmp_path: Path) -> None:
    wrong = document(duration=None, events=[{**SOUND, "type": "noise", "loudness": "deafening"}])
    write(tmp_path, wrong, document("clip_000"), document("clip_000"))
    (tmp_path / "clip_002.flac").rename(tmp_path / "other.flac")
    with pytest.raises(UsageError) as error:
        read(tmp_path)
    assert len(str(error.value).splitlines()) == 4
    (tmp_path / "clip_000.json").write_text("{", encoding="utf-8")
    with pytest.raises(UsageError, match=r"clip_000.json cannot be read as JSON"):
        read(tmp_path)


def test_of_many_mistakes_ten_are_told_and_who_names_the_others(tmp_path: Path) -> None:
    write(tmp_path, *(document(f"clip_{number}", duration=None) for number in range(12)))
    with pytest.raises(UsageError, match=r"\(and 2 more; audiobench soundscape look FOLDER names all\)$"):
        read(tmp_path)


def test_a_name_that_two_clips_have_is_refused_with_both_files(tmp_path: Path) -> None:
    write(tmp_path, document("a"), document("a"))
    with pytest.raises(UsageError, match=r"clip_001.json: its clip_id 'a' is that of \S*clip_000.json, too"):
        read(tmp_path)


def test_a_document_without_audio_is_refused(tmp_path: Path) -> None:
    write(tmp_path, document())
    (tmp_path / "clip_000.flac").unlink()
    with pytest.raises(UsageError, match=r"clip_000.json has no audio beside it"):
        read(tmp_path)


def test_an_eval_is_skipped_where_there_are_none(tmp_path: Path) -> None:
    with pytest.raises(DataNotFound, match="--ab-data=soundscape=FOLDER"):
        read(tmp_path)


@pytest.mark.parametrize("ending", ["flac", "mp3"])
def test_scenes_that_were_written_are_read_with_the_same_references(tmp_path: Path, ending: Any) -> None:
    write_scenes(Planner(bundled_pools(), PROFILES["large"], "1", 10, 12), 4, tmp_path, ending)
    generated = [sample_of(plan) for plan in plans(bundled_pools(), PROFILES["large"], 4, "1", 10, 12)]
    samples = read(tmp_path)
    assert [sample.reference for sample in samples] == [sample.reference for sample in generated]
    assert [sample.doubt for sample in samples] == [""] * 4
    for sample, original in zip(samples, generated, strict=True):
        assert {**sample.metadata, "pieces": ""} == {**original.metadata, "pieces": ""}


def test_the_published_answer_keys_are_read(tmp_path: Path) -> None:
    if not DEMO.is_file():
        pytest.skip(f"no published answer keys lie beside this checkout (looked for {DEMO})")
    clips = json.loads(DEMO.read_text(encoding="utf-8"))["clips"]
    for clip in clips:
        events = [{**event, "speaking_style": event.get("how", "")} for event in clip["truth"]]
        content = document(clip["clip_id"], clip["duration_s"], events, languages=clip["languages"])
        (tmp_path / f"{clip['clip_id']}.json").write_text(json.dumps(content), encoding="utf-8")
        write_audio(tmp_path / f"{clip['clip_id']}.wav", clip["duration_s"])
    samples = read(tmp_path)
    assert [sample.id for sample in samples] == [clip["clip_id"] for clip in clips]
    assert [sample.metadata["languages"] for sample in samples] == ["+".join(clip["languages"]) for clip in clips]
    assert [sample.metadata["events"] for sample in samples] == [len(clip["truth"]) for clip in clips]
