"""The task of listing events: how it is asked, what becomes of every answer, and what is told of each."""

import json
import math
from pathlib import Path

import pytest

from pytest_audiobench.audio.clip import ArraySource, Clip
from pytest_audiobench.audio.events import AudioEvent, events_text
from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError
from pytest_audiobench.metrics.estimates import value_of
from pytest_audiobench.metrics.metric import RANGES
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.models.messages import AudioSlot, Response
from pytest_audiobench.protocols.answer_failures import failures
from pytest_audiobench.protocols.catalogue import check_options, protocol
from pytest_audiobench.protocols.protocol import Answer
from pytest_audiobench.protocols.soundscape.prompts import EXAMPLE, EXAMPLE_TEXTS, scene_prompt
from pytest_audiobench.protocols.soundscape.reading import read_strict
from pytest_audiobench.protocols.soundscape.task import soundscape
from pytest_audiobench.protocols.text_encoders import encoder
from tests import lexical_encoder

lexical_encoder.register()
SHARED = Path(__file__).parents[3].parent / "shared" / "soundscape"
PIANO = AudioEvent("music", 0.0, 10.0, description="a slow piano")
LINE = AudioEvent("speech", 1.0, 3.0, "we leave at nine", "A", "en", "calm")
TRUTHS = [PIANO, LINE]


def sample(truths=TRUTHS, duration=10.0, name="clip"):
    clip = Clip(ArraySource.of([0.0], 16_000))
    return Sample(name, (clip,), "", reference=events_text(truths), metadata={"duration": duration, "speakers": 1})


def scorers():
    return soundscape(encoder="lexical").available


def answer(text, finish="stop", name="lenient"):
    return scorers()[name].parse(sample(), {"answer": Response.of(text, finish)})


def scored(samples, texts, name="lenient"):
    scorer = scorers()[name]
    rows = [
        (each, scorer.parse(each, {"answer": Response.of(text)})) for each, text in zip(samples, texts, strict=True)
    ]
    return scorer.together(rows)


def test_the_model_is_told_the_duration_and_the_clip_and_nothing_else():
    stage = soundscape(encoder="lexical").answering
    (message,) = stage.messages(sample(), {})
    assert message.parts == (AudioSlot(0), scene_prompt(10.0))
    assert stage.task == "events"
    assert (stage.settings.temperature, stage.settings.max_new_tokens) == ("0", 4096)
    for hidden in ("piano", "leave", "speakers"):
        assert hidden not in message.parts[1]


def test_the_prompt_is_version_scene_1():
    prompt = scene_prompt(12.5)
    assert prompt.startswith("Listen to the whole clip (12.5 seconds) and list everything that can be heard")
    assert prompt.endswith(EXAMPLE)
    assert "{duration}" not in prompt
    example = read_strict(EXAMPLE)
    assert len(example.events) == 4
    assert not example.invalid


@pytest.mark.skipif(not SHARED.is_dir(), reason="the specification is not on this machine (../shared/soundscape)")
def test_the_prompt_is_that_of_the_specification():
    text = (SHARED / "spec.md").read_text(encoding="utf-8").partition("```text\n")[2].partition("\n```")[0]
    assert text.replace("{duration}", "30") == scene_prompt(30.0)


@pytest.mark.parametrize(
    ("text", "finish", "status"),
    [
        (events_text(TRUTHS), "stop", "parsed"),
        ("[]", "stop", "parsed"),
        (events_text(TRUTHS)[:-20], "length", "truncated"),
        ("I hear a piano.", "stop", "unparsed"),
        ("I hear a piano and then", "length", "truncated"),
        ("", "stop", "empty"),
        ("I'm sorry, but I cannot listen to audio.", "stop", "refused"),
        ("No.", "refusal", "refused"),
    ],
)
def test_every_answer_ends_in_one_status(text, finish, status):
    assert answer(text, finish).status == status


def test_what_was_said_before_the_limit_of_tokens_is_scored():
    cut = answer(events_text(TRUTHS)[:-20], "length")
    assert len(json.loads(cut.value)["events"]) == 1
    (row,) = scorers()["lenient"].together([(sample(), cut)])
    assert row["reward"] == pytest.approx(1.0)


@pytest.mark.parametrize("text", ["", "A piano.", "[]", "I cannot hear the audio."])
def test_what_cannot_be_read_scores_as_an_empty_list(text):
    (row,) = scored([sample()], [text])
    assert (row["f1"], row["reward"], row["guesses"], row["words"], row["word_errors"]) == (0.0, 0.0, 0, 4.0, 4.0)


def test_silence_is_right_to_be_left_without_events():
    (row,) = scored([sample(truths=())], ["[]"])
    assert (row["f1"], row["precision"], row["recall"]) == (1.0, 1.0, 1.0)


def test_both_readings_are_always_reported_and_their_difference_is_the_price_of_format():
    assert [scorer.name for scorer in soundscape(encoder="lexical").scorers] == ["lenient", "strict"]
    assert [scorer.name for scorer in soundscape("strict", encoder="lexical").scorers] == ["strict", "lenient"]
    text = f"Here: {events_text(TRUTHS)}"
    rewards = [scored([sample()], [text], name)[0]["reward"] for name in ("lenient", "strict")]
    assert rewards == pytest.approx([2.0, 0.0])


def test_the_signature_holds_the_encoder_and_the_options_are_recorded():
    family = soundscape(encoder="lexical")
    assert f"encoder:{encoder('lexical').identity}" in family.scorers[0].signature
    assert family.options == {"encoder": "lexical"}
    assert protocol("soundscape", encoder="lexical").scorers[0].signature == family.scorers[0].signature
    check_options("soundscape", {"encoder": "minilm"})
    with pytest.raises(UsageError, match="no text encoder"):
        soundscape(encoder="no-such")


def test_the_same_answers_are_scored_for_the_next_clip_with_times_cut_to_it():
    rain = AudioEvent("sound_event", 1.0, 2.0, description="rain")
    samples = [sample(name="a"), sample(truths=(rain,), duration=4.0, name="b")]
    rows = scored(samples, [events_text([PIANO, AudioEvent("sound_event", 1.0, 9.0, description="rain")]), "[]"])
    assert rows[0]["other_reward"] == pytest.approx(1 / 3)
    assert [row["other_truths"] for row in rows] == [1.0, 2.0]
    assert value_of(metric_kind("reward_other"), rows) == pytest.approx(1 / 9)


def test_a_clip_alone_has_no_other():
    rows = scored([sample()], [events_text(TRUTHS)])
    assert rows[0]["other_truths"] == 0.0
    estimate = metric_kind("reward_other").estimate(rows, None)
    assert estimate.value != estimate.value
    assert "no other clip" in estimate.method


def test_captions_are_encoded_once_for_all_answers():
    asked = []
    text_encoder = encoder("lexical")

    class Counting(type(text_encoder)):
        def cosines(self, pairs):
            asked.append(list(pairs))
            return super().cosines(pairs)

    from pytest_audiobench.protocols.soundscape.task import _Comparison

    counting = Counting("lexical", text_encoder.describe, text_encoder.load, text_encoder.decimals)
    comparison = _Comparison(counting)
    other = events_text([AudioEvent("music", 0.0, 9.0, description="an organ"), LINE])
    rows = [(sample(name=str(number)), answer(other)) for number in range(3)]
    comparison.statistics(rows)
    comparison.details(*rows[0])
    assert [pairs for pairs in asked if pairs] == [[("a slow piano", "an organ")]]


def test_details_say_what_was_matched():
    late = AudioEvent("speech", 2.0, 3.0, "we leave at ten", "x", "en", "calm")
    text = json.dumps([late.document(), {**PIANO.document(), "type": "song"}, 7])
    details = json.loads(scorers()["lenient"].details(sample(), answer(text)))
    assert details["duration"] == 10.0
    assert [event["type"] for event in details["truths"]] == ["music", "speech"]
    assert details["truths"][1] == LINE.document()
    assert details["guesses"] == [PIANO.document(), late.document()]
    music, speech = details["pairs"]
    assert music == {
        **{"truth": 0, "guess": 0, "iou": 1.0, "accuracy": None},
        **{"cosine": 1.0, "speaker_right": None, "score": 1.0},
    }
    assert (speech["truth"], speech["guess"], speech["iou"], speech["accuracy"]) == (1, 1, 0.5, 0.75)
    assert speech["speaker_right"] is True
    assert speech["score"] == pytest.approx(0.5 * (0.5 + 0.5 * 0.75))
    assert (details["invalid"], details["repairs"]) == ({"no object": 1}, {"type": 1})


def test_details_of_no_answer_are_the_answer_key():
    details = json.loads(scorers()["strict"].details(sample(), Answer("empty")))
    assert (len(details["truths"]), details["guesses"], details["pairs"]) == (2, [], [])


def test_an_answer_that_copies_the_example_is_a_failure_of_its_own():
    copied = Response.of(EXAMPLE)
    assert "example_copied" in failures(sample(), copied, "events")
    assert "example_copied" not in failures(sample(), copied, "open")
    two = Response.of(" ".join(EXAMPLE_TEXTS[:2]))
    assert "example_copied" not in failures(sample(), two, "events")


@pytest.mark.parametrize("metadata", [{}, {"duration": "10"}, {"duration": 0.0}, {"duration": True}])
def test_a_clip_without_its_duration_is_refused(metadata):
    broken = Sample("clip", (), "", reference="[]", metadata=metadata)
    with pytest.raises(UsageError, match="'duration' in seconds"):
        soundscape(encoder="lexical").fitting([broken])


@pytest.mark.parametrize("reference", ["", "{}", "a piano", '[{"type": "music"}]', '["piano"]', '[{"no": "field"}]'])
def test_a_reference_that_lists_no_events_is_refused(reference):
    broken = Sample("clip", (), "", reference=reference, metadata={"duration": 10.0})
    with pytest.raises(UsageError, match="its reference is not a list of events"):
        soundscape(encoder="lexical").fitting([broken])


@pytest.mark.skipif(not SHARED.is_dir(), reason="the published answers are not on this machine (../shared/soundscape)")
@pytest.mark.parametrize("name", ["lenient", "strict"])
def test_published_answers_are_read_and_scored(name):
    clips = json.loads((SHARED / "demo.json").read_text(encoding="utf-8"))["clips"]
    samples, texts = [], []
    for clip in clips:
        truths = [AudioEvent(**_fields(event)) for event in clip["truth"]]
        # The page rounds times to a tenth of a second, its last ones beyond the clip's end.
        samples.append(sample(truths, math.ceil(10 * clip["duration_s"]) / 10, clip["clip_id"]))
        texts.append(json.dumps([_fields(event) for event in clip["prediction"]], ensure_ascii=False))
    keys = [events_text([AudioEvent(**_fields(event)) for event in clip["truth"]]) for clip in clips]
    rows, perfect = scored(samples, texts, name), scored(samples, keys, name)
    for metric in scorers()[name].metrics:
        kind = metric_kind(metric)
        least, most = RANGES.get(kind.unit, (0.0, float("inf")))
        value = value_of(kind, rows)
        assert value != value or least <= value <= most, metric
    assert value_of(metric_kind("reward"), perfect) == pytest.approx(1.0)
    assert 0.0 < value_of(metric_kind("reward"), rows) < 1.0
    assert value_of(metric_kind("adds_over_other"), rows) > 0.0


def _fields(event):
    """An event of the published page, which writes how speech is said in its own field."""
    fields = {name: value for name, value in event.items() if name in AudioEvent.__dataclass_fields__ and value != ""}
    return fields | ({"emotion": event["how"]} if event.get("how") else {})
