"""Pipelines: what their parts are asked, what becomes of it, and what is kept."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from pytest_audiobench.audio.decode import decode
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.datasets.soundscape.scenes import soundscape_scenes
from pytest_audiobench.errors import UsageError
from pytest_audiobench.evaluation.answer_store import Store
from pytest_audiobench.models.registry import make
from pytest_audiobench.models.spec import parse_spec
from tests.models.pipeline.parts import PIPELINE

EXAMPLES = sorted((Path(__file__).parents[3] / "examples" / "pipelines").glob("*.toml"))


class Folder:
    """A folder with pipelines and the parts of parts.py, and a store in it."""

    def __init__(self, path):
        self.path = path
        (path / "parts.py").write_text(Path(__file__).with_name("parts.py").read_text("utf-8"), "utf-8")

    def pipeline(self, text, run="run-1"):
        file = self.path / "scene.toml"
        file.write_text(text, encoding="utf-8")
        model = make(parse_spec(f"pipeline:{file}"))
        model.part_store = lambda: Store(self.path / "store.sqlite", run)
        return model

    @property
    def asked(self):
        log = self.path / "asked.jsonl"
        return [json.loads(line) for line in log.read_text("utf-8").splitlines()] if log.exists() else []

    def count(self, part):
        return sum(name == part for name, _ in self.asked)


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path)


@pytest.fixture
def clip(heard):
    return heard(np.random.RandomState(0).standard_normal(5 * 16_000) * 0.1)


@pytest.fixture
def listed(ask_about, clip):
    """The events that a pipeline lists of the clip."""

    def listed(pipeline, audio=clip, prompt="List all events of the clip (5 seconds)."):
        (response,) = pipeline.ask([ask_about(prompt, audio, task="events")])
        assert response.error is None, response.error
        return json.loads(response.text)

    return listed


def test_the_template_writes_each_segment_with_its_words_and_all_that_was_described(folder, listed):
    events = listed(folder.pipeline(PIPELINE))
    speech = [(e["start_time"], e["end_time"], e["speaker_id"], e["transcription"]) for e in events[1:]]
    assert events[0] == {
        "type": "sound_event",
        "start_time": 0.0,
        "end_time": 5.0,
        "description": "soft music and rain",
    }
    assert speech == [
        (0.5, 1.5, "a", "so many words"),
        (1.0, 2.0, "b", "so many words"),
        (3.0, 4.0, "a", "so many words"),
    ]


@pytest.mark.parametrize(
    ("only", "lengths_s"),
    [
        ("clip", [5.0]),
        ("speech", [1.0, 1.0, 1.0]),
        ("overlaps", [1.0, 1.0]),
        ("gaps", [0.5, 1.0, 1.0]),
    ],
)
def test_a_part_is_asked_only_where_its_file_says(folder, listed, only, lengths_s):
    bell = f'[[describe]]\nuse = "python:parts:bell"\nonly = "{only}"\n'
    listed(folder.pipeline(PIPELINE.replace("[describe]", f"{bell}[[describe]]")))
    assert [frames / 16_000 for part, frames in folder.asked if part == "bell"] == lengths_s


@pytest.mark.parametrize(("gate", "times"), [("sounds", 1), ("words", 0)])
def test_music_is_described_where_an_earlier_part_reports_some(folder, listed, gate, times):
    text = PIPELINE.replace("[describe]", "[[describe]]").replace("parts:sounds", f"parts:{gate}")
    music = '[[describe]]\nuse = "python:parts:bell"\nonly = "music"\ntype = "music"\n'
    events = listed(folder.pipeline(text.replace("[fuse]", f"{music}[fuse]")))
    assert folder.count("bell") == times
    assert sum(event["type"] == "music" for event in events) == times


def test_overlapped_speech_that_is_transcribed_again_has_the_later_words(folder, listed):
    again = '[[transcribe]]\nuse = "python:parts:other_words"\nonly = "overlaps"\n'
    text = PIPELINE.replace("[transcribe]", "[[transcribe]]").replace("[describe]", f"{again}[describe]")
    words = [event.get("transcription") for event in listed(folder.pipeline(text))[1:]]
    assert words == ["other words", "other words", "so many words"]


def test_long_spans_are_played_in_windows_and_their_words_joined(folder, listed):
    events = listed(folder.pipeline(PIPELINE.replace('parts:words"', 'parts:words"\nwindow_s = 0.5')))
    # Both segments hold the half second from 1.0 s on, which is asked about once.
    assert folder.count("words") == 5
    assert {event["transcription"] for event in events[1:]} == {"so many words so many words"}


def test_where_one_part_is_exchanged_no_other_is_asked_again(folder, listed):
    before = listed(folder.pipeline(PIPELINE))
    assert [folder.count(part) for part in ("voices", "words", "sounds")] == [1, 3, 1]
    after = listed(folder.pipeline(PIPELINE.replace("parts:words", "parts:other_words"), run="run-2"))
    assert [folder.count(part) for part in ("voices", "words", "sounds", "other_words")] == [1, 3, 1, 3]
    assert [event["start_time"] for event in before] == [event["start_time"] for event in after]
    assert after[1]["transcription"] == "other words"


def test_what_parts_answered_before_one_failed_is_there_for_the_next_run(folder, listed, ask_about, clip):
    broken = folder.pipeline(PIPELINE.replace("parts:sounds", "parts:fails"))
    (response,) = broken.ask([ask_about("List.", clip, task="events")])
    assert response.error == "describe 1: python:parts:fails raised RuntimeError: no more memory"
    listed(folder.pipeline(PIPELINE, run="run-2"))
    assert [folder.count(part) for part in ("voices", "words", "sounds")] == [1, 3, 1]


def test_a_part_that_fails_at_one_clip_leaves_the_others_alone(folder, heard, ask_about, clip):
    short = heard(np.random.RandomState(1).standard_normal(2 * 16_000) * 0.1)
    pipeline = folder.pipeline(PIPELINE.replace("parts:sounds", "parts:fails_at_long_clips"))
    long, fine = pipeline.ask([ask_about("List.", audio, task="events") for audio in (clip, short)])
    assert long.error == "describe 1: python:parts:fails_at_long_clips raised ValueError: too long"
    assert fine.error is None


@pytest.mark.parametrize(
    ("part", "error"),
    [
        ("voices", "segment 1: python:parts:gives_three gave 3, which is not [(start, end, voice), …]"),
        ("words", "transcribe 1: python:parts:gives_three gave 3, which is not a text"),
        ("sounds", "describe 1: python:parts:gives_three gave 3, which is not a text"),
    ],
)
def test_a_function_that_gives_what_no_part_gives_is_an_error_of_the_clip(folder, ask_about, clip, part, error):
    pipeline = folder.pipeline(PIPELINE.replace(f"parts:{part}", "parts:gives_three"))
    (response,) = pipeline.ask([ask_about("List.", clip, task="events")])
    assert response.error == error


def test_another_epoch_is_another_question(folder, listed, ask_about, clip):
    from dataclasses import replace

    pipeline, ask = folder.pipeline(PIPELINE), ask_about("List.", clip, task="events")
    pipeline.ask([ask])
    pipeline.ask([ask._replace(request=replace(ask.request, epoch=1))])
    assert folder.count("sounds") == 2


def test_a_model_of_texts_reads_the_task_and_the_reports(folder, listed):
    (event,) = listed(folder.pipeline(PIPELINE.replace('"template"', '"python:parts:reader"')), prompt="The format.")
    assert event["description"] == "as reported"
    (text,) = (text for part, text in folder.asked if part == "reader")
    assert text.startswith("The format.\n\nYou cannot hear the clip.")
    assert text.splitlines()[-3:] == [
        "[1.00-2.00] transcribe 1: so many words",
        "[3.00-4.00] transcribe 1: so many words",
        "[0.00-5.00] describe 1: soft music and rain",
    ]


def test_the_model_that_fuses_is_sent_no_audio(folder, stranger, ask_about, clip):
    server = stranger()
    text = PIPELINE.replace('"template"', f'"http:{server.url}"')
    pipeline = folder.pipeline(text)
    pipeline.ask([ask_about("List.", clip, task="events")])
    pipeline.close()
    (item,) = server.asked
    assert item["audio_inputs"] == []
    assert "soft music and rain" in json.dumps(item["messages"])
    assert pipeline.fingerprint()["fusion hears"].startswith("no audio")


def test_its_identity_is_that_of_its_parts_and_of_what_they_are_asked(folder):
    texts = [
        PIPELINE,
        PIPELINE.replace("parts:words", "parts:other_words"),
        PIPELINE.replace('parts:sounds"', 'parts:sounds"\nprompt = "What is it?"'),
        PIPELINE.replace('parts:sounds"', 'parts:sounds"\nonly = "gaps"'),
        PIPELINE.replace('"template"', '"python:parts:reader"'),
    ]
    identities = [json.dumps(dict(folder.pipeline(text).fingerprint())) for text in texts]
    assert len(set(identities)) == len(texts)
    assert json.dumps(dict(folder.pipeline(PIPELINE).fingerprint())) == identities[0]


def test_other_weights_that_tell_voices_apart_are_another_pipeline(folder):
    (folder.path / "config.json").write_text("{}", "utf-8")
    identities = []
    for weights in (b"some", b"other"):
        (folder.path / "model.safetensors").write_bytes(weights)
        pipeline = folder.pipeline(PIPELINE.replace("voices", f'voices"\nvoices = "{folder.path.as_posix()}'))
        identities.append(dict(pipeline.fingerprint()))
    changed = {name for name, value in identities[0].items() if identities[1][name] != value}
    assert changed == {"1 segment 1"}


def test_all_mistakes_of_a_file_are_named_at_once(folder):
    text = """
        [[segment]]
        use = "silerro"
        [transcribe]
        use = "sphinx"
        onyl = "overlaps"
        [[describe]]
        use = "listener"
        only = "gap"
        window_s = -1
        [[describe]]
        prompt = "What?"
        [[describe]]
        use = "python:nowhere:f"
        [fuse]
        use = "tmplate"
    """
    with pytest.raises(UsageError) as raised:
        folder.pipeline(text)
    sentences = str(raised.value).splitlines()
    assert len(sentences) == 7
    for part in (
        "'silero'",
        "'onyl'",
        "only = 'gap'",
        "window_s = -1",
        "it has no use",
        "there is no part 'tmplate'; did you mean 'template'?",
        "python:nowhere:f cannot be imported",
    ):
        assert any(part in sentence for sentence in sentences), part


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "has no [fuse]"),
        ('[fuse]\nuse = "template"', "neither [segment] nor [describe]"),
        ('[describe]\nuse = "baseline:nobody"\n[fuse]\nuse = "template"', "no baseline 'nobody'"),
        ('[describe]\nuse = "python:nowhere:f"\n[fuse]\nuse = "template"', "cannot be imported"),
        ('[describe]\nuse = "python:parts:f"\n[fuse]\nuse = "template"', "has no function 'f'"),
        ('[describe]\nuse = "pipeline:other.toml"\n[fuse]\nuse = "template"', "not part of another"),
        (PIPELINE.replace("voices", 'voices"\nvoices = "nowhere'), "nowhere has no model.safetensors"),
        ("[fuse", "not TOML"),
    ],
)
def test_a_file_that_is_no_pipeline_is_refused(folder, text, problem):
    with pytest.raises(UsageError, match=re.escape(problem)):
        folder.pipeline(text)


def test_a_library_that_a_part_needs_is_named_before_anything_is_asked(folder):
    pipeline = folder.pipeline(PIPELINE.replace("python:parts:voices", "sortformer"))
    assert "nemo_toolkit is not installed" in pipeline.missing_parts()


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_each_example_lists_events_when_its_parts_are_replaced(folder, listed, example):
    stands_for = {"segment": "voices", "transcribe": "words", "describe": "sounds", "fuse": "reader"}
    step, lines = "", []
    for line in example.read_text("utf-8").splitlines():
        step = match[1] if (match := re.fullmatch(r"\[+(\w+)\]+", line)) else step
        replaced = re.sub(r"^use = (?!.template).*", f'use = "python:parts:{stands_for.get(step)}"', line)
        lines.append("" if line.startswith(("model = ", "voices = ")) else replaced)
    assert listed(folder.pipeline("\n".join(lines)))
    assert {"voices", "words", "sounds"} <= {part for part, _ in folder.asked}


def test_the_bundled_pipeline_writes_down_what_is_said_in_a_scene(listed):
    pytest.importorskip("pocketsphinx")
    pipeline = make(parse_spec(f"pipeline:{next(path for path in EXAMPLES if path.stem == 'bundled')}"))
    samples = soundscape_scenes(scenes=4, seed="pipeline-test").read(Places(Path()))
    right = 0
    for sample in samples:
        words = {event.get("transcription") for event in listed(pipeline, decode(sample.clips[0], 16_000, None))}
        right += len(words & {event.get("transcription") for event in json.loads(sample.reference)} - {None})
    assert right >= 2
