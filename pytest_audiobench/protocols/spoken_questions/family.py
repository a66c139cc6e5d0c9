"""A spoken question, its answer wanted."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.protocols.free_text import choose, free_stage
from pytest_audiobench.protocols.protocol import About, Answer, Earlier, Example, Protocol, Scorer, remembered
from pytest_audiobench.protocols.refusals import refuses
from pytest_audiobench.protocols.spoken_questions.completeness import ended
from pytest_audiobench.protocols.spoken_questions.instruction_following import TRANSCRIPT, following_scorer
from pytest_audiobench.protocols.spoken_questions.matching import matches
from pytest_audiobench.protocols.spoken_questions.words import content_words

INSTRUCTION = "Please answer the question in detail."
"""SALMONN's prompt (Tang et al. 2024, arXiv 2310.13289)."""


@remembered
def spoken_questions(
    *scorers: str, prompt: str = INSTRUCTION, system: str | None = None, max_new_tokens: int = 256
) -> Protocol:
    """Ask for the answer to the question that the sample's clip asks, by its own question's words or ``prompt``.

    A sample's references are the accepted answers; one without words says that there is none. The scorers are
    ``answer-contained`` (the default; ours), ``question-level`` (WikiQA's precision, recall and F1) and ``following``
    (needs metadata "transcript"). Raises UsageError for an unknown scorer.
    """
    stage = free_stage(lambda sample: sample.question or prompt, system, max_new_tokens)
    asked = Protocol("spoken_questions", (stage,), (_READINGS["answer-contained"],), _READINGS)
    return choose(asked, scorers)


def _parse(sample: Sample, earlier: Earlier) -> Answer:
    """The sentences that do not decline to answer; "refused" where the first does, and then the rest still counts."""
    whole = ended(sample, earlier)
    if whole.value is None or earlier["answer"].finish == "refusal":
        return whole._replace(value=None)
    sentences = [sentence for sentence in _SENTENCE_END.split(whole.value) if sentence.strip()]
    declined = [refuses(sentence) for sentence in sentences]
    kept = " ".join(sentence for sentence, declines in zip(sentences, declined, strict=True) if not declines)
    return Answer("refused" if declined[0] else whole.status, kept or None)


def _contained(sample: Sample, answer: Answer) -> Mapping[str, float]:
    return matches(answer.value or "", _accepted(sample))


def _question_level(sample: Sample, answer: Answer) -> Mapping[str, float]:
    accepted = _accepted(sample)
    right = matches(answer.value or "", accepted)["correct"]
    tried = right == 1.0 or answer.status not in ("refused", "empty")
    return {"right": right, "answered": float(tried), "answerable": float(bool(accepted))}


def _accepted(sample: Sample) -> tuple[str, ...]:
    return tuple(truth for truth in sample.truths if content_words(truth))


_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")

_CANDIDATES = ("Kathmandu", "Kathmandu, Nepal")
_NORM = "norm:nfkc+lower+nopunct+noarticles+cjkchars|match:any reference contained"
_WORDS = (
    "Texts become words: NFKC, small letters, no punctuation (a.m. is am), no a, an and the, a Chinese or Japanese "
    "character a word. An answer is right when all words of any accepted answer stand in it, one after another; a "
    "sentence that declines to answer is not looked into. "
)

_READINGS: Mapping[str, Scorer] = MappingProxyType(
    {
        "answer-contained": Scorer(
            "answer-contained",
            f"questions:answer-contained|v:1|{_NORM}|unanswered:wrong",
            _parse,
            _contained,
            ("accuracy", "exact_match", "token_f1"),
            About(
                f"{_WORDS}Beside the accuracy stand exact_match and token_f1 as in SQuAD, the best accepted answer "
                "counting. A refusal and an empty answer are wrong. An answer whose first sentence declines is counted "
                "as refused, and right all the same when a later one holds the answer.",
                "ours, for SALMONN's SQQA on WikiQA. The published figures (SALMONN .41, a reproduction 232 of 633 = "
                ".367) come from a model as judge, right when it accepts any of the references",
                (
                    Example("The capital of Nepal is Kathmandu.", references=_CANDIDATES),
                    Example("It is not Kathmandu.", references=_CANDIDATES),
                    Example("It is the largest city of Nepal.", references=_CANDIDATES),
                    Example("I'm sorry, I can't hear a question about Kathmandu.", references=_CANDIDATES),
                ),
                "Words are compared, not meanings: a paraphrase is wrong and a denial of the right answer is right. "
                "WikiQA's references are whole sentences, which few answers hold: give short answers as references, "
                "or let a judge read them.",
            ),
        ),
        "question-level": Scorer(
            "question-level",
            f"questions:question-level|v:1|{_NORM}|answered:neither refused nor empty",
            _parse,
            _question_level,
            ("question_f1", "question_precision", "question_recall"),
            About(
                f"{_WORDS}A question is answered when it is answered rightly, or when the answer's first sentence does "
                "not decline and there are words; it is answerable when it has an accepted answer with words. "
                "Precision is right / answered, recall right / answerable, F1 their harmonic mean, over all questions.",
                "WikiQA's question-level measures of answer triggering (Yang, Yih and Meek 2015, EMNLP), with the rule "
                "above for what is right",
                (
                    Example("Kathmandu.", references=_CANDIDATES),
                    Example("I don't know the answer.", references=_CANDIDATES),
                    Example("Kathmandu.", references=("",)),
                ),
                "WikiQA lets a system choose among given sentences; an answer in free words is held to their words.",
            ),
        ),
        "following": following_scorer(
            "questions",
            "github jaeeewon/project-multimodal dist_eval/eval_sqqa.py: 1.0 (SALMONN .98). That script compares the "
            "answer with the accepted answers, not with the question, and any that differs from one of them by three "
            "in ten follows; so its 1.0 says nothing of transcriptions. Here the question's words are compared",
            tuple(
                Example(text, references=_CANDIDATES, metadata={TRANSCRIPT: "what is the capital of nepal"})
                for text in ("What is the capital of Nepal?", "The capital is Kathmandu.")
            ),
        ),
    }
)
