"""The default model on the audio that comes with the package."""

import json
from pathlib import Path

import jiwer
import numpy as np
import pytest
import soundfile

from pytest_audiobench.datasets.bundled import bundled_folder
from pytest_audiobench.models.bundled.listener import Listener
from pytest_audiobench.models.bundled.trained import Trained
from pytest_audiobench.models.messages import SOMETHING_ELSE
from pytest_audiobench.models.registry import make
from pytest_audiobench.models.spec import parse_spec

BUNDLED = Path(__file__).parents[2] / "fixtures" / "bundled"
pytestmark = pytest.mark.skipif(not BUNDLED.is_dir(), reason=f"needs the bundled audio in {BUNDLED}")


@pytest.fixture(scope="module")
def listener():
    listener = make(parse_spec("baseline:listener"))
    listener.load()
    yield listener
    listener.close()


@pytest.fixture(scope="module")
def asks(heard, ask_about):
    """Makes a bundled task's questions, with the answers."""

    def make_asks(task, kind="choice"):
        lines = [json.loads(line) for line in (bundled_folder() / f"{task}.jsonl").read_text("utf-8").splitlines()]
        made = []
        for line in lines:
            samples, rate_hz = soundfile.read(bundled_folder() / line["audio"], dtype="float32")
            choices = line.get("choices") or ()
            made.append(
                (ask_about(line["question"], heard(samples, rate_hz), choices=choices, task=kind), line["answer"])
            )
        return made

    return make_asks


def _accuracy(listener, asked):
    responses = listener.ask([ask for ask, _ in asked])
    assert all(len(response.text) == 1 for response in responses)
    picked = [ask.request.choices[ord(r.text) - ord("A")] for (ask, _), r in zip(asked, responses, strict=True)]
    return np.mean([pick == answer for pick, (_, answer) in zip(picked, asked, strict=True)])


@pytest.mark.parametrize(
    ("task", "at_least"),
    [
        ("digits", 0.8),
        ("emotion", 0.8),
        ("language", 0.6),
        ("sounds", 0.85),
        ("mixtures", 0.6),
        ("speech_presence", 0.9),
    ],
)
def test_it_does_the_bundled_tasks_far_better_than_chance(listener, asks, task, at_least):
    assert _accuracy(listener, asks(task)) >= at_least


def test_it_transcribes_the_bundled_vocabulary(listener, asks):
    pytest.importorskip("pocketsphinx")
    asked = asks("transcription", "transcription")
    texts = [response.text for response in listener.ask([ask for ask, _ in asked])]
    assert jiwer.wer([answer for _, answer in asked], texts) <= 0.3


@pytest.mark.slow
def test_a_transcript_does_not_depend_on_what_was_heard_before(listener, asks):
    """The recogniser's front end keeps a state; of all 70 clips only a few ever showed it."""
    pytest.importorskip("pocketsphinx")
    asked = [ask for ask, _ in asks("transcription", "transcription")]
    forward = [response.text for response in listener.ask(asked)]
    assert [response.text for response in listener.ask(asked[::-1])][::-1] == forward
    for place in (18, 48, 52):
        fresh = Listener()
        assert fresh.ask([asked[place]])[0].text == forward[place]


def test_it_hears_the_sound_and_not_the_question(listener, asks, heard):
    """With silence in place of each clip, nothing is left of the accuracy."""
    silence = heard(np.zeros(16_000))
    deaf = [(ask._replace(audio=(silence,)), answer) for ask, answer in asks("digits")]
    assert _accuracy(listener, deaf) < 0.45


@pytest.mark.parametrize(
    ("choices", "question", "head"),
    [
        (("one", "two"), "Which digit is spoken?", "digits"),
        (("One", "Two."), "What is said?", "digits"),
        (("one", "two"), "How many different sounds are heard?", "count"),
        (("rain", "siren", "bell"), "Which of these is it?", "sounds"),
        (("french", "german"), "Which language is spoken?", "language"),
        (("calm", "excited"), "How does the speaker sound?", "delivery"),
        (("yes", "no"), "Is anyone speaking?", "speech"),
        (("yes", "no"), "Is the door open?", None),
        (("rain", "snow"), "Which sound is heard?", None),
        ((), "What is heard?", None),
    ],
)
def test_a_question_goes_to_the_head_whose_labels_hold_every_option(choices, question, head):
    found = Trained.read().head_for(choices, question)
    assert (found.name if found else None) == head


def test_what_it_cannot_answer_it_says_so(listener, heard, ask_about):
    clip = heard(np.sin(np.arange(16_000) / 5))
    other = ask_about("Which animal?", clip, choices=("cat", "dog"))
    nothing = ask_about("Which digit?", choices=("one", "two"))
    free = ask_about("What do you hear?", clip, task="open")
    assert [response.text for response in listener.ask([other, nothing, free])] == ["I cannot tell."] * 3


PROBED = ("siren", "alarm", "bell", "engine", "rain", "knocking", "clock", "bird", "telephone", "thunder")


def test_a_probe_is_answered_for_each_of_its_ten_sounds(listener, heard, ask_about):
    right = []
    for line in (bundled_folder() / "sounds.jsonl").read_text("utf-8").splitlines()[::2]:
        row = json.loads(line)
        samples, rate_hz = soundfile.read(bundled_folder() / row["audio"], dtype="float32")
        clip = heard(samples, rate_hz)
        asks = [ask_about(f"Do you hear a {one}?", clip, choices=(one, SOMETHING_ELSE)) for one in PROBED]
        said = {one: response.text for one, response in zip(PROBED, listener.ask(asks), strict=True)}
        right += [said[one] == ("yes" if one == row["answer"] else "no") for one in PROBED]
    assert np.mean(right) > 0.97


def test_a_probe_for_speech_is_its_speech_heads(listener, heard, ask_about):
    right = []
    for line in (bundled_folder() / "speech_presence.jsonl").read_text("utf-8").splitlines()[::2]:
        row = json.loads(line)
        samples, rate_hz = soundfile.read(bundled_folder() / row["audio"], dtype="float32")
        asked = ask_about("Do you hear a speech?", heard(samples, rate_hz), choices=("Speech", SOMETHING_ELSE))
        right.append(listener.ask([asked])[0].text == row["answer"])
    assert np.mean(right) > 0.9


def test_a_probe_for_a_sound_that_it_does_not_know_is_not_guessed(listener, heard, ask_about):
    clip = heard(np.sin(np.arange(16_000) / 5))
    asked = [ask_about("Is it there?", clip, choices=(one, SOMETHING_ELSE)) for one in ("vacuum", "dog bark", "yes")]
    assert [response.text for response in listener.ask(asked)] == ["I cannot tell."] * 3


def test_two_clips_are_an_error_of_that_sample(listener, heard, ask_about):
    clip = heard(np.ones(1600))
    response = listener.ask([ask_about("Which digit?", clip, clip, choices=("one", "two"))])[0]
    assert "plays 2 clips" in response.error


def test_its_fingerprint_names_weights_features_and_recogniser():
    fingerprint = Listener().fingerprint()
    assert {"weights", "description", "features", "pocketsphinx", "vocabulary"} <= set(fingerprint)
    assert all(isinstance(value, str) for value in fingerprint.values())
