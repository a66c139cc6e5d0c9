"""The answer to a spoken question."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from itertools import groupby

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.protocols.answer_failures import refuses
from pytest_audiobench.protocols.free_text import family_protocol, free_stage, read_ended_text
from pytest_audiobench.protocols.protocol import Answer, Earlier, Protocol, Scorer, with_recorded_options
from pytest_audiobench.protocols.spoken_questions.audio_instructions import audio_instruction_scorer
from pytest_audiobench.protocols.spoken_questions.final_answers import final_answer_scorer
from pytest_audiobench.protocols.spoken_questions.instructions import instruction_scorers, speech_ifeval_scorer
from pytest_audiobench.protocols.spoken_questions.matching import content_words, following_scorer, matches
from pytest_audiobench.protocols.voicebench import refusal_scorers

INSTRUCTION = "Please answer the question in detail."
"""SALMONN's prompt (Tang et al. 2024, arXiv 2310.13289)."""


@with_recorded_options
def spoken_questions(
    *scorers: str, prompt: str = INSTRUCTION, system: str | None = None, max_new_tokens: int = 256
) -> Protocol:
    """Ask for the answer to the question that the sample's clip asks, by its own question's words or ``prompt``.

    With ``prompt=""`` the clip is all that is sent. A sample's references are the accepted answers; one without words
    says that there is none. The scorers are ``answer-contained`` (the default; ours), ``question-level`` (WikiQA's
    precision, recall and F1), ``ultraeval-exists``, ``following`` (needs metadata "transcript"), ``final-answer``
    (ours), ``instructions``, ``voicebench-ifeval`` and ``speech-ifeval`` (need IFEval's metadata),
    ``mmau-pro-instructions`` (constraints on an answer's form), ``refusal`` (ours) and ``voicebench-harm`` (of harmful
    requests). Raises UsageError for an unknown scorer.
    """
    stage = free_stage(lambda sample: sample.question or prompt, system, max_new_tokens)
    return family_protocol("spoken_questions", (stage,), _READINGS, scorers)


def _parse(sample: Sample, earlier: Earlier) -> Answer:
    """The sentences that do not decline to answer; "refused" where the first does, and then the rest still counts."""
    whole = read_ended_text(sample, earlier)
    if whole.value is None or earlier["answer"].finish == "refusal":
        return whole._replace(value=None)
    sentences = [sentence for sentence in _SENTENCE_END.split(whole.value) if sentence.strip()]
    declined = [refuses(sentence) for sentence in sentences]
    text = " ".join(sentence for sentence, declines in zip(sentences, declined, strict=True) if not declines)
    return Answer("refused" if declined[0] else whole.status, text or None)


def _question_level(sample: Sample, answer: Answer) -> Mapping[str, float]:
    accepted = _accepted_answers(sample)
    right = matches(answer.value or "", accepted)["correct"]
    tried = right == 1.0 or answer.status not in ("refused", "empty")
    return {"right": right, "answered": float(tried), "answerable": float(bool(accepted))}


def _accepted_answers(sample: Sample) -> tuple[str, ...]:
    return tuple(truth for truth in sample.truths if content_words(truth))


def _tokens(text: str) -> list[str]:
    """Runs of letters, digits and marks, and any other sign that is not a blank, in small letters, after NFD."""
    kinds = ((character, unicodedata.category(character)[0]) for character in unicodedata.normalize("NFD", text))
    runs = groupby(kinds, key=lambda kind: "word" if kind[1] in "LNM" else kind[1])
    return [
        token.lower()
        for key, run in runs
        if key not in ("Z", "C")
        for token in (["".join(sign for sign, _ in run)] if key == "word" else [sign for sign, _ in run])
    ]


def _holds_tokens(sample: Sample, answer: Answer) -> Mapping[str, float]:
    text = _tokens(answer.value or "")
    accepted = [_tokens(truth) for truth in sample.truths]
    starts = {token: [place for place, other in enumerate(text) if other == token] for token in set(text)}
    return {
        "correct": float(
            any(
                not truth or any(text[start : start + len(truth)] == truth for start in starts.get(truth[0], ()))
                for truth in accepted
            )
        )
    }


_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")

_NORM = "norm:nfkc+lower+nopunct+noarticles+cjkchars|match:any reference contained"

_READINGS = (
    Scorer(
        "answer-contained",
        f"questions:answer-contained|v:1|{_NORM}|unanswered:wrong",
        _parse,
        lambda sample, answer: matches(answer.value or "", _accepted_answers(sample)),
        ("accuracy", "exact_match", "token_f1"),
    ),
    Scorer(
        "question-level",
        f"questions:question-level|v:1|{_NORM}|answered:neither refused nor empty",
        _parse,
        _question_level,
        ("question_f1", "question_precision", "question_recall"),
    ),
    Scorer(
        "ultraeval-exists",
        "questions:ultraeval-exists|v:1|norm:nfd+lower|match:tokens of any reference",
        read_ended_text,
        _holds_tokens,
        ("accuracy",),
    ),
    following_scorer("questions"),
    final_answer_scorer("questions"),
    *instruction_scorers("questions"),
    *refusal_scorers("questions"),
    speech_ifeval_scorer("questions"),
    audio_instruction_scorer("questions"),
)
