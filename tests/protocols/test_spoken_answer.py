"""Spoken answers: who hears them, what their words and their sound come to, and what is said where nobody listens."""

from types import SimpleNamespace

import pytest

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UnsuitableModel, UsageError
from pytest_audiobench.evaluation.judging import check_judge, with_judges
from pytest_audiobench.evaluation.model_handle import ModelHandle
from pytest_audiobench.evaluation.requests import settings_payload
from pytest_audiobench.models.messages import AudioSlot, Output, Part, Response, Sound
from pytest_audiobench.models.model import Limits
from pytest_audiobench.protocols.catalogue import protocol

SAMPLE = Sample("a", (), "Which digit?", reference="seven eight")


def judges(*aliases, **limits):
    made = {"spec": "stub:j", "limits": Limits(**limits), "listens": True, "batching": "opaque", "device": "cpu"}
    model = SimpleNamespace(fingerprint=lambda: {"stub": "j"}, **made)
    return {alias: ModelHandle(alias, model) for alias in aliases}


def spoken(text, seconds=2.0, silence=0.25, clipping=0.5):
    parts = (Part("text", text), Part("audio", "d" * 64))
    return Response((Output(parts),), sounds=(Sound("d" * 64, seconds, 16_000, silence, clipping),))


def scored(name, answer, **verdicts):
    scorer = protocol("spoken_answer").available[name]
    earlier = {"answer": answer, **{stage: Response.of(text) for stage, text in verdicts.items()}}
    read = scorer.parse(SAMPLE, earlier)
    return read.status, scorer.score(SAMPLE, read)


def test_words_are_those_that_were_heard_and_consistency_is_with_the_answers_own_text():
    answer = spoken("seven nine")
    assert scored("spoken-answer", answer, transcript="It is seven eight.")[1]["correct"] == 1
    assert scored("text-answer", answer)[1]["correct"] == 0
    _, words = scored("spoken-wer", answer, transcript="seven ate")
    assert [words[count] for count in "SDIN"] == [1, 0, 0, 2]
    _, own = scored("consistency", answer, transcript="seven nine")
    assert [own[count] for count in "SDIN"] == [0, 0, 0, 2]
    assert scored("consistency-whisper-en", spoken("7"), transcript="seven")[1]["S"] == 0


def test_a_silent_answer_is_empty_and_one_without_audio_is_not_spoken():
    assert scored("spoken-wer", spoken("seven eight"), transcript="")[0] == "empty"
    assert scored("spoken-wer", spoken("seven eight"), transcript="")[1]["D"] == 2
    assert scored("sound", Response.of("seven")) == (
        "empty", {"spoken": 0.0, "answer_s": 0.0, "silent_s": 0.0, "clipped_s": 0.0}
    )  # fmt: skip
    assert scored("sound", spoken("seven"))[1] == {
        "spoken": 1.0, "answer_s": 2.0, "silent_s": 0.5, "clipped_s": 1.0
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("3.5", ("parsed", {"mos": 3.5})),
        ("7", ("out_of_range", None)),
        ("good", ("unparsed", None)),
        ("", ("empty", None)),
    ],
)
def test_an_opinion_is_a_number_on_its_scale(text, read):
    assert scored("quality", spoken("seven"), quality=text) == read


def test_each_listener_is_asked_its_own_and_played_the_answer_and_readers_are_asked_nothing():
    asked = with_judges(protocol("spoken_answer"), judges("transcriber", "quality", "voice", "reader"))
    stages = {stage.name: stage for stage in asked.protocol.stages if stage.judge}
    assert list(stages) == ["transcript@transcriber", "quality@quality", "voice@voice"]
    assert {stage.hears for stage in stages.values()} == {"answer"}
    assert {stage.role for stage in stages.values()} == {"extractor"}
    assert [name for name, stage in stages.items() if stage.beside_clip] == ["voice@voice"]
    (message,) = stages["voice@voice"].messages(SAMPLE, {"answer": spoken("secret")})
    assert message.parts[:2] == (AudioSlot(0), AudioSlot(1))
    assert "secret" not in message.parts[2]
    # Names bear no alias, however many listeners there are.
    assert [scorer.name for scorer in asked.protocol.scorers] == [
        *("spoken-answer", "text-answer", "consistency", "sound", "quality", "voice")
    ]


def test_without_a_transcriber_the_eval_is_skipped_and_without_others_it_says_so():
    with pytest.raises(UnsuitableModel, match=r"need a transcriber: .*--ab-judge=transcriber=.*text-answer measures"):
        with_judges(protocol("spoken_answer"), judges("reader"))
    asked = with_judges(protocol("spoken_answer"), judges("transcriber"))
    assert [scorer.name for scorer in asked.protocol.scorers][-1] == "sound"
    assert asked.warnings == (
        "no judge is called quality (--ab-judge=quality=…): quality left out",
        "no judge is called voice (--ab-judge=voice=…): voice left out",
    )


def test_a_transcriber_need_do_nothing_else_and_another_listener_must():
    (transcriber,) = judges("transcriber", tasks=("transcription",), min_clips=1).values()
    check_judge(transcriber)
    (quality,) = judges("quality", tasks=("transcription",)).values()
    with pytest.raises(UsageError, match="cannot be the quality of spoken answers"):
        check_judge(quality)


def test_speech_is_a_setting_of_the_question_and_other_questions_keep_their_keys():
    (stage,) = protocol("spoken_answer", task="repeat").stages
    assert settings_payload(stage)["answer"] == "speech"
    (message,) = stage.messages(Sample("a", (), "Transcribe the speech."), {})
    assert message.parts == ("Repeat what you hear, word for word.",)
    (plain,) = protocol("transcription").stages
    assert settings_payload(plain).keys() == {"max_new_tokens", "temperature", "top_p"}
