"""Ways to look better than one hears: each is given away by a column that is next to the headline."""

import math
import random
from dataclasses import replace

import pytest

from pytest_audiobench.audio.events import AudioEvent
from pytest_audiobench.metrics.estimates import value_of
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.protocols.soundscape.columns import clip_statistics, other_statistics

CLIPS = 25
WORDS = ("the", "river", "stone", "engine", "door", "laughter", "piano", "slow", "bright", "rain", "wind", "crowd")
MEANINGS = 12


def caption(meaning, wording=0):
    return f"meaning {meaning}, wording {wording}"


def cosine(first, second):
    """Near for two wordings of one meaning, far for two meanings."""
    return 0.8 if first.partition(",")[0] == second.partition(",")[0] else 0.08


def scene(rng):
    duration = round(rng.uniform(10, 40), 1)
    events = [AudioEvent("music", 0.0, duration, description=caption(rng.randrange(MEANINGS)))]
    start = 1.0
    for _ in range(rng.randint(2, 4)):
        end = start + rng.uniform(2, 5)
        if end > duration:
            break
        words = " ".join(rng.choices(WORDS, k=10))
        speaker = rng.choice("AB")
        how = caption(rng.randrange(MEANINGS))
        events.append(AudioEvent("speech", start, end, words, speaker, "en", how))
        start = end + 0.3
    for _ in range(rng.randint(1, 3)):
        start = rng.uniform(0, duration - 3)
        sound = caption(rng.randrange(MEANINGS))
        events.append(AudioEvent("sound_event", start, start + rng.uniform(1, 3), description=sound))
    return duration, events


def imperfect(rng, event, duration, spread, wrong):
    """The event as a system hears it: in other words, at other times, some words wrong."""
    start = min(max(0.0, event.start_time + rng.gauss(0, spread)), event.end_time - 0.1)
    end = max(start + 0.1, min(duration, event.end_time + rng.gauss(0, spread)))
    words = " ".join(word if rng.random() > wrong else "um" for word in event.transcription.split())
    other = {name: getattr(event, name).replace("wording 0", "wording 1") for name in ("emotion", "description")}
    return replace(event, start_time=start, end_time=end, transcription=words, **other)


def answers(spread=0.15, wrong=0.1, missed=0.05, invented=0):
    rng = random.Random(f"{spread} {wrong} {missed}")
    listed = []
    for duration, events in SCENES:
        guesses = [imperfect(rng, event, duration, spread, wrong) for event in events if rng.random() >= missed]
        listed.append(guesses)
    for (duration, _), guesses in zip(SCENES, listed, strict=True):
        for _ in range(invented):
            start = rng.uniform(0, duration - 1)
            guesses.append(AudioEvent("sound_event", start, start + 1, description=caption(rng.randrange(MEANINGS))))
    return listed


_RNG = random.Random(7)
SCENES = [scene(_RNG) for _ in range(CLIPS)]
TRUTHS = [events for _, events in SCENES]
VAGUE = "a sound, wording 1"


def grid(duration):
    return [
        AudioEvent("sound_event", float(start), float(min(start + length, duration)), description=VAGUE)
        for start in range(0, int(duration), 2)
        for length in (2, 5)
    ]


STRONG = answers()
MIDDLING = {"spread": 0.6, "wrong": 0.4, "missed": 0.2}
SYSTEMS = {
    "strong": STRONG,
    "next clip": [*STRONG[1:], *STRONG[:1]],
    "strong and a grid": [[*guesses, *grid(duration)] for guesses, (duration, _) in zip(STRONG, SCENES, strict=True)],
    "middling": answers(**MIDDLING),
    "middling and inventions": answers(**MIDDLING, invented=6),
    "oracle": TRUTHS,
    "oracle thrice": [events * 3 for events in TRUTHS],
    "an event a type": [
        [
            AudioEvent("music", 0.0, duration, description=VAGUE),
            AudioEvent("sound_event", 0.0, duration, description=VAGUE),
            AudioEvent("speech", 0.0, duration, "", "a", "en", VAGUE),
        ]
        for duration, _ in SCENES
    ],
    "music bed": [[AudioEvent("music", 0.0, duration, description=VAGUE)] for duration, _ in SCENES],
    "few and good": [guesses[:2] for guesses in STRONG],
    "transcript only": [
        [replace(event, emotion="") for event in guesses if event.type == "speech"] for guesses in STRONG
    ],
    "one label": [[replace(event, speaker_id="a") for event in guesses] for guesses in STRONG],
    "a label a line": [
        [replace(event, speaker_id=str(number)) for number, event in enumerate(guesses)] for guesses in STRONG
    ],
    "nothing": [[] for _ in SCENES],
}


@pytest.fixture(scope="module")
def rows():
    cyclic = [*SCENES[1:], *SCENES[:1]]
    return {
        name: [
            clip_statistics(truths, guesses, 0, duration, cosine)
            | other_statistics(others, guesses, other_duration, cosine)
            for (duration, truths), guesses, (other_duration, others) in zip(SCENES, system, cyclic, strict=True)
        ]
        for name, system in SYSTEMS.items()
    }


@pytest.fixture(scope="module")
def value(rows):
    return lambda system, metric: value_of(metric_kind(metric), rows[system])


def test_the_answer_key_is_right_in_everything(value):
    assert [value("oracle", name) for name in ("reward", "scene_f1", "spk_acc")] == pytest.approx([1.0, 1.0, 1.0])
    assert value("oracle", "wer_all") == value("oracle", "halluc") == value("oracle", "repeats") == 0.0


def test_answers_for_another_clip_add_nothing_over_another_clip(value, rows):
    assert value("next clip", "reward") < 0.5 * value("strong", "reward")
    kind = metric_kind("adds_over_other")
    listening, deaf = (kind.estimate(rows[name], None) for name in ("strong", "next clip"))
    assert deaf.lower <= 0.0 < listening.lower
    assert "not shown to listen" in deaf.method
    assert "not shown to listen" not in listening.method


def test_a_grid_of_vague_sounds_raises_reward_and_ruins_f1(value):
    assert value("strong and a grid", "reward") >= value("strong", "reward")
    assert value("strong and a grid", "scene_f1") < 0.5 * value("strong", "scene_f1")
    assert value("strong and a grid", "halluc") > 0.5


def test_invented_sounds_raise_reward_and_lower_f1(value):
    assert value("middling and inventions", "reward") > value("middling", "reward")
    assert value("middling and inventions", "scene_f1") < value("middling", "scene_f1")
    assert value("middling and inventions", "no_overlap") > value("middling", "no_overlap")


def test_saying_everything_thrice_is_seen_as_repeats_and_by_f1(value):
    assert value("oracle thrice", "reward") == pytest.approx(1.0)
    assert value("oracle thrice", "scene_f1") == pytest.approx(0.5)
    assert value("oracle thrice", "repeats") == pytest.approx(2 / 3)
    assert value("oracle thrice", "halluc_pooled") == pytest.approx(2 / 3)


def test_an_event_over_everything_claims_too_much_and_is_as_good_for_another_clip(value):
    assert value("an event a type", "claimed_sound_event") > 3.0
    assert value("strong", "claimed_sound_event") < 1.5
    assert value("an event a type", "reward_other") > 0.5 * value("an event a type", "reward")
    assert value("strong", "reward_other") < 0.5 * value("strong", "reward")


def test_a_music_bed_alone_finds_no_other_type(value):
    assert value("music bed", "halluc") == 0.0
    assert [value("music bed", f"found_{name}") for name in ("music", "speech", "sound_event")] == [1.0, 0.0, 0.0]


def test_few_and_good_events_look_best_until_what_was_missed_counts(value):
    assert value("few and good", "matched_wer") <= 1.2 * value("strong", "matched_wer")
    assert value("few and good", "halluc") <= value("strong", "halluc")
    assert value("few and good", "found_speech") < 0.6 * value("strong", "found_speech")
    assert value("few and good", "wer_all") > 2 * value("strong", "wer_all")


def test_a_transcript_alone_says_neither_how_nor_what_else(value):
    assert value("transcript only", "matched_wer") <= value("strong", "matched_wer") + 0.02
    assert value("transcript only", "how") == 0.0
    assert math.isnan(value("transcript only", "snd"))


@pytest.mark.parametrize("system", ["one label", "a label a line"])
def test_labels_that_tell_nobody_apart_are_seen_by_the_speakers(value, system):
    assert value(system, "reward") == pytest.approx(value("strong", "reward"))
    assert value(system, "scene_f1") < value("strong", "scene_f1")
    assert value(system, "spk_acc") < value("strong", "spk_acc") - 0.1
    assert value(system, "speakers_error") > value("strong", "speakers_error")
    assert value(system, "cpwer") > value("strong", "cpwer")


def test_nothing_at_all_is_nothing_found(value):
    assert [value("nothing", name) for name in ("reward", "scene_f1", "wer_all")] == [0.0, 0.0, 1.0]
    assert math.isnan(value("nothing", "halluc"))
    assert math.isnan(value("nothing", "matched_wer"))
