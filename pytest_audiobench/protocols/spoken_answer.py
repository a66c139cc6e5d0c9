"""An answer in speech: its words as a transcriber hears them, against the truth and against its own text; its sound."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.models.messages import AudioSlot, Message, Settings, Sound, Task
from pytest_audiobench.protocols.free_text import answer_of, family_protocol, free_stage
from pytest_audiobench.protocols.protocol import (
    QUALITY,
    TRANSCRIBER,
    VOICE,
    Answer,
    Earlier,
    Judging,
    Protocol,
    Scorer,
    with_recorded_options,
)

INSTRUCTION = "Answer the question in a few words."
REPEAT = "Repeat what you hear, word for word."

_TRANSCRIPT = "transcript"
_QUALITIES = {
    "quality": "How good does this speech sound overall?",
    "quality-signal": "How undistorted does the signal of this speech sound?",
    "quality-background": "How little does the background disturb?",
}


@with_recorded_options
def spoken_answer(
    *scorers: str,
    task: Literal["answer", "repeat"] = "answer",
    prompt: str = INSTRUCTION,
    system: str | None = None,
    max_new_tokens: int = 2048,
) -> Protocol:
    """Ask for an answer in speech, by the sample's own question's words or ``prompt``'s; to ``repeat``, by the prompt.

    What is said is heard by other models, each a judge of the run by its name. The ``transcriber`` writes it down
    (``--ab-judge=transcriber=hf:FOLDER``): of that are ``spoken-answer`` (the default; whether it holds the accepted
    answer), ``spoken-wer`` (the default to repeat) and ``spoken-whisper-en`` (its words against the reference),
    ``consistency`` and ``consistency-whisper-en`` (its words against the answer's own text). ``quality``,
    ``quality-signal`` and ``quality-background`` are opinion scores that a model called ``quality`` predicts, and
    ``voice`` is the likeness of its voice and the first clip's by one called ``voice``. ``sound`` measures length,
    silence and clipping, and ``text-answer`` and ``text-wer`` read the answer's own text: they need no other model.
    Without ``scorers`` there are those of each kind, of whom the run has. A model that cannot speak is skipped. Raises
    UsageError for an unknown scorer.
    """
    repeats = task == "repeat"
    asked = REPEAT if repeats and prompt == INSTRUCTION else prompt
    # To repeat is asked in no words of the sample's own, which may ask for something else.
    words = (lambda sample: asked) if repeats else lambda sample: sample.question or asked
    stage = free_stage(words, system, max_new_tokens, "transcription" if repeats else "open")
    stage = replace(stage, settings=replace(stage.settings, speech=True))
    heard, own = ("spoken-wer", "text-wer") if repeats else ("spoken-answer", "text-answer")
    names = scorers or (heard, own, "consistency", "sound", "quality", "voice")
    protocol = family_protocol("spoken_answer", (stage,), _scorers(), names, "words" if repeats else "open")
    return replace(protocol, judgings=_judgings())


def _scorers() -> tuple[Scorer, ...]:
    # Imported when they are asked for, as those families do.
    from pytest_audiobench.protocols.spoken_questions.task import spoken_questions
    from pytest_audiobench.protocols.transcription.task import transcription

    answers, words = spoken_questions().available["answer-contained"], transcription().available
    return (
        _of_transcript("spoken-answer", answers),
        _of_transcript("spoken-wer", words["wer-basic"]),
        _of_transcript("spoken-whisper-en", words["whisper-en"]),
        replace(answers, name="text-answer"),
        replace(words["wer-basic"], name="text-wer", metrics=("wer", "cer")),
        _consistency("consistency", words["wer-basic"]),
        _consistency("consistency-whisper-en", words["whisper-en"]),
        Scorer("sound", "speech:sound|v:1|silence:-50 dB in 20 ms", _sound, _measures, _SOUND_METRICS),
        *(_number(name, "mos", (1.0, 5.0), "predicted_mos") for name in _QUALITIES),
        _number("voice", "cosine", (-1.0, 1.0), "voice_similarity"),
    )


def _judgings() -> tuple[Judging, ...]:
    scorers = _scorers()

    def judging(name: str, of: str, *parts: str | AudioSlot, tokens: int = 16, task: Task = "open") -> Judging:
        own, messages = tuple(each for each in scorers if each.judge == name), (Message("user", parts),)
        settings = Settings(max_new_tokens=tokens)
        return Judging(name, lambda sample, text: messages, own, settings, "extractor", of, task, of == VOICE)

    clip, number = AudioSlot(0), "Answer with a number from"
    write = judging(_TRANSCRIPT, TRANSCRIBER, clip, "Transcribe the speech.", tokens=440, task="transcription")
    qualities = (judging(name, QUALITY, clip, f"{asks} {number} 1 to 5.") for name, asks in _QUALITIES.items())
    compare = f"How similar are the voices of these two clips? {number} -1 to 1."
    return (write, *qualities, judging("voice", VOICE, clip, AudioSlot(1), compare))


def _of_transcript(name: str, scorer: Scorer) -> Scorer:
    """``scorer`` for what a transcriber heard in place of the answer's text; silence is an empty answer."""

    def parse(sample: Sample, earlier: Earlier) -> Answer:
        return scorer.parse(sample, {**earlier, "answer": earlier[_TRANSCRIPT]})

    signature = f"{scorer.signature}|of:transcript"
    return replace(scorer, name=name, signature=signature, parse=parse, judge=_TRANSCRIPT, stage=_TRANSCRIPT)


class _Said(Answer):
    """What was heard, with the text that it should be."""

    own: str

    @classmethod
    def of(cls, answer: Answer, own: str) -> _Said:
        self = cls(*answer)
        self.own = own
        return self


def _consistency(name: str, scorer: Scorer) -> Scorer:
    """The words heard against the answer's own text."""
    heard = _of_transcript(name, scorer)

    def score(sample: Sample, answer: Answer) -> Mapping[str, float] | None:
        assert isinstance(answer, _Said)
        return scorer.score(replace(sample, reference=answer.own, references=()), answer)

    return replace(
        heard,
        signature=f"{heard.signature}|against:own text",
        parse=lambda sample, earlier: _Said.of(heard.parse(sample, earlier), answer_of(earlier).text),
        score=score,
        metrics=("wer", "cer"),
        words=None,
    )


class _Audible(Answer):
    """An answer with its audio; None where that is not available."""

    sound: Sound | None


_SOUND_METRICS = ("spoken", "answer_s", "silence", "clipping")


def _sound(sample: Sample, earlier: Earlier) -> Answer:
    response = answer_of(earlier)
    sound = response.sound
    value = f"{sound.seconds:.2f} s at {sound.rate_hz} Hz" if sound else response.audio
    answer = _Audible("parsed", value) if value else _Audible("empty")
    answer.sound = sound
    return answer


def _measures(sample: Sample, answer: Answer) -> Mapping[str, float] | None:
    assert isinstance(answer, _Audible)
    if answer.sound is None:
        return None if answer.value else {"spoken": 0.0, "answer_s": 0.0, "silent_s": 0.0, "clipped_s": 0.0}
    _, seconds, _, silence, clipping, _ = answer.sound
    return {"spoken": 1.0, "answer_s": seconds, "silent_s": silence * seconds, "clipped_s": clipping * seconds}


def _number(name: str, statistic: str, within: tuple[float, float], metric: str) -> Scorer:
    """A number that another model says of the answer's audio; an answer without audio is left out."""
    least, most = within

    def parse(sample: Sample, earlier: Earlier) -> Answer:
        text = earlier[name].text.strip()
        try:
            number = float(text)
        except ValueError:
            return Answer("unparsed" if text else "empty")
        return Answer("parsed", text) if least <= number <= most else Answer("out_of_range")

    def score(sample: Sample, answer: Answer) -> Mapping[str, float] | None:
        return None if answer.value is None else {statistic: float(answer.value)}

    signature = f"speech:{name}|v:1|a number from {least:g} to {most:g}"
    return Scorer(name, signature, parse, score, (metric,), companions=("sound",), judge=name, stage=None)
