"""Spoken answers in whole runs: kept, heard, resumed, shown, verified; one that is broken fails alone."""

import json

import pytest

SINGER = '''
from dataclasses import replace as _replace

from pytest_audiobench.audio.wav import wav_bytes as _wav


class Singer(ToneModel):
    """Says the frequency that it hears, and sings it where speech is wanted.

    broken=ID   what it sings there is no sound
    mute=ID     says it there, and sings nothing
    """

    def __init__(self, target, options):
        super().__init__(target, options)
        self.spec, self.limits = f"singer:{target}", _replace(self.limits, speaks=True)

    def _answer(self, request, audio):
        said = super()._answer(_replace(request, choices=()), audio)
        if not request.settings.speech or request.sample_id == self._options.get("mute"):
            return said
        if request.sample_id == self._options.get("broken"):
            return Response.spoken(said.text, b"RIFF and then nothing")
        return Response.spoken(said.text, bytes(_wav(audio[0].samples, audio[0].rate_hz)))


_tones = pytest_audiobench_register


def pytest_audiobench_register(registration):
    _tones(registration)
    registration.model("singer", Singer)
'''
EVAL = """
from pytest_audiobench import manifest, protocol

def test_songs(evaluate):
    evaluate(manifest("data/tones.jsonl"), protocol("spoken_answer"))
"""
EAR = "--ab-judge=transcriber=tone:ear,log=heard"


@pytest.fixture
def songs(suite):
    suite.tones(8)
    with (suite.path / "conftest.py").open("a") as conftest:
        conftest.write(SINGER)
    suite.write(test_songs=EVAL)
    return suite


def rows(folder, name):
    return [json.loads(line) for line in (folder / name).read_text().splitlines()]


def test_an_answer_is_kept_heard_resumed_and_shown_and_a_broken_one_fails_alone(songs):
    habits = {"broken": "tone-3", "mute": "tone-5", "log": "asked", "batching": "opaque"}
    songs.run(EAR, "--ab-max-errors=1", model="singer:one", **habits).assert_outcomes(passed=1)
    run, folder = songs.last()
    (item,) = run["items"]
    assert item["errors"] == [{"sample_id": "tone-3", "message": item["errors"][0]["message"]}]
    assert "the answer's audio" in item["errors"][0]["message"]
    figures = {(m["scorer"], m["name"]): m["value"] for m in item["metrics"] if not m["group"]}
    assert figures["spoken-answer", "accuracy"] == pytest.approx(6 / 7)
    assert figures["text-answer", "accuracy"] == 1
    assert figures["consistency", "wer"] == pytest.approx(2 / 14)
    assert figures["sound", "spoken"] == pytest.approx(6 / 7)
    said = {row["sample_id"]: row for row in rows(folder, "predictions.jsonl") if row["stage"] == "answer"}
    (sound,) = said["tone-0"]["sounds"]
    assert said["tone-0"]["outputs"][0]["parts"] == [["text", "300 Hz"], ["audio", sound["digest"]]]
    assert (sound["seconds"], sound["rate_hz"], sound["silence"]) == (0.2, 16_000, 0.0)
    assert "sounds" not in said["tone-5"]
    heard = [row for row in rows(folder, "predictions.jsonl") if row.get("role") == "extractor"]
    assert {row["sample_id"]: [clip["key"] for clip in row["audio"]] for row in heard if row["key"]}["tone-0"] == [
        sound["digest"]
    ]
    page = (folder / "report.html").read_text()
    assert page.count('"answer"]') == 6
    verified = songs.audiobench("verify", folder)
    assert verified.returncode == 0, verified.stdout
    # Nothing is asked again but what failed; nobody hears the same audio twice.
    before = [len((songs.path / log).read_text().splitlines()) for log in ("asked", "heard")]
    songs.run(EAR, "--ab-max-errors=1", model="singer:one", **habits).assert_outcomes(passed=1)
    after = [len((songs.path / log).read_text().splitlines()) for log in ("asked", "heard")]
    assert [more - less for less, more in zip(before, after, strict=True)] == [2, 0]  # it is loaded, and asked once
    again, _ = songs.last()
    assert again["items"][0]["hashes"] == item["hashes"]


def test_who_cannot_speak_and_who_has_no_ear_is_skipped_with_one_line(songs):
    mute = songs.run(EAR, "-rs", model="tone:one")
    mute.assert_outcomes(skipped=1)
    mute.stdout.fnmatch_lines(["*tone:one answers in text alone*name a model that speaks*"])
    deaf = songs.run("-rs", model="singer:one")
    deaf.assert_outcomes(skipped=1)
    deaf.stdout.fnmatch_lines(["*need a transcriber: name one with --ab-judge*"])
