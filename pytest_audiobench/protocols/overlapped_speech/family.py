"""Several people at once, the words of each wanted."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.metrics.talkers import MOST_TALKERS, cp_errors
from pytest_audiobench.protocols.free_text import choose, free_stage
from pytest_audiobench.protocols.overlapped_speech.speaker_turns import talkers_of
from pytest_audiobench.protocols.protocol import About, Answer, Example, Protocol, Scorer, remembered
from pytest_audiobench.protocols.spoken_questions.completeness import ended
from pytest_audiobench.protocols.spoken_questions.words import NORMALISED, spoken_words

INSTRUCTION = "Please write down what you hear each person says."
"""SALMONN's prompt (Tang et al. 2024, arXiv 2310.13289)."""

_OTHER = re.compile(r"[^A-Z' ]")


@remembered
def overlapped_speech(
    *scorers: str, prompt: str = INSTRUCTION, system: str | None = None, max_new_tokens: int = 256
) -> Protocol:
    """Ask for what each talker says, in the sample's question's words or else in ``prompt``'s.

    A sample's ``references`` are one text for each talker. The scorers are ``cpwer`` (the default; ours),
    ``best-permutation`` and ``exactly-two-sentences`` (those of the reproduction of SALMONN).
    Raises UsageError for an unknown scorer.
    """
    stage = free_stage(lambda sample: sample.question or prompt, system, max_new_tokens, task="transcription")
    asked = Protocol("overlapped_speech", (stage,), (_READINGS["cpwer"],), _READINGS, expects="all_words")
    return choose(asked, scorers)


def _count(talkers: Sequence[str], sample: Sample) -> dict[str, float]:
    spoken = len(talkers)
    return {
        "one_talker": float(spoken == 1),
        "two_talkers": float(spoken == 2),
        "more_talkers": float(spoken > 2),
        "talkers_right": float(spoken == len(sample.truths)),
    }


def _too_many(sample: Sample) -> str:
    if len(sample.truths) <= MOST_TALKERS:
        return ""
    return (
        f"sample {sample.id!r} has {len(sample.truths)} true talkers, and an assignment is sought for at most "
        f"{MOST_TALKERS}: cut it shorter"
    )


def _cpwer(sample: Sample, answer: Answer) -> Mapping[str, float]:
    talkers = talkers_of(answer.value or "")
    found = cp_errors([spoken_words(truth) for truth in sample.truths], [spoken_words(said) for said in talkers])
    return found.statistics | _count(talkers, sample)


def _pieces(answer: Answer) -> list[str]:
    """The reproduction's: what lies between full stops, those at either end of the text aside."""
    said = (answer.value or "").strip().strip(".")
    return said.split(".") if said else []


def _capitals(text: str) -> list[str]:
    """The reproduction's: capital letters, apostrophes and spaces, nothing else."""
    return _OTHER.sub("", text.upper()).split()


def _permuted(sample: Sample, answer: Answer) -> Mapping[str, float]:
    talkers = [piece for piece in _pieces(answer) if piece.strip()]
    found = cp_errors([_capitals(truth) for truth in sample.truths], [_capitals(said) for said in talkers])
    return found.statistics | _count(talkers, sample)


def _two_only(sample: Sample, answer: Answer) -> Mapping[str, float] | None:
    two = answer.status != "truncated" and len(_pieces(answer)) == 2
    return _permuted(sample, answer) if two else None


_MIXTURE = ("hello how are you", "we leave at nine")
_REPRODUCTION = (
    "github jaeeewon/project-multimodal, dist_eval/eval_osr.py (a reproduction of SALMONN's tables, arXiv 2310.13289, "
    "on 3,000 mixtures of Libri2Mix)"
)
_STUDY_TEXT = "nopunct:A-Z'|split:."

_COUNTS = ("one_talker", "two_talkers", "more_talkers", "talkers_right")


def _reading(
    name: str,
    rules: str,
    score: Callable[[Sample, Answer], Mapping[str, float] | None],
    metrics: tuple[str, ...],
    about: About,
    beside: tuple[str, ...] = (),
) -> Scorer:
    return Scorer(name, f"osr:{name}|v:1|{rules}", ended, score, metrics, about, beside=beside, unfit=_too_many)


_READINGS: Mapping[str, Scorer] = MappingProxyType(
    {
        "cpwer": _reading(
            "cpwer",
            f"norm:{NORMALISED}|split:labels,lines,sentences|talkers:best assignment|empty:deletions",
            _cpwer,
            ("cpwer", *_COUNTS),
            About(
                'The answer is cut into talkers: by labels such as "Speaker 1:" or "Person A says," where it has '
                "any (texts with one label are one talker's; what stands before the first label is one talker more), "
                "else by lines, else by sentences (. ! ? and their wide forms). Texts become words: NFKC, small "
                "letters, no punctuation, a Chinese or Japanese character a word. Talkers are assigned one to one to "
                "the references so that substitutions, deletions and insertions are fewest; a reference without a "
                "talker is deleted, a talker without a reference inserted. Every answer is scored, an empty one as "
                "all deletions. The rate is over all samples' words. Beside it stand the shares of answers with one, "
                "two and more talkers, and with as many as there are.",
                "ours; the error count is cpWER of the CHiME-6 challenge (Watanabe et al. 2020, arXiv 2004.09249), "
                "held equal to meeteval's",
                (
                    Example("Hello, how are you? We leave at nine.", references=_MIXTURE),
                    Example("Speaker 1: We leave at nine. Speaker 2: Hello, how are you?", references=_MIXTURE),
                    Example("Hello, how are you?", references=_MIXTURE),
                    Example("Hello. How are you? We leave at nine.", references=_MIXTURE),
                ),
                "A talker of several sentences in one unlabelled line is cut into several, whose surplus is inserted: "
                "talkers_right says how often the cut is right.",
            ),
        ),
        "best-permutation": _reading(
            "best-permutation",
            f"norm:upper+{_STUDY_TEXT}|talkers:best permutation|empty:deletions",
            _permuted,
            ("osr_wer", *_COUNTS),
            About(
                "Full stops at either end go, and the answer is cut at all others; pieces of white space alone are "
                "none. Texts are put in capital letters and lose everything but A to Z, the apostrophe and the space. "
                "The permutation of pieces over references with the fewest word errors counts; where there are more or "
                "fewer pieces than talkers, those left over are inserted or deleted. Every answer is scored.",
                f"The text rule of {_REPRODUCTION}, which scores answers of two pieces only; that all are scored, as "
                "the "
                "literature on overlapped speech does, and how, is ours (cpWER's rule)",
                (
                    Example("We leave at nine. Hello how are you.", references=_MIXTURE),
                    Example("Hello how are you", references=_MIXTURE),
                    Example("Dr. Who said hello. We leave at 9.", references=_MIXTURE),
                ),
                'A full stop within a sentence ("Dr. Who") cuts it; "?" and "!" cut nothing; digits and letters with '
                "accents vanish from both texts; words with a hyphen or a line break between them become one. cpwer "
                "cuts at every sentence mark and keeps them.",
            ),
        ),
        "exactly-two-sentences": _reading(
            "exactly-two-sentences",
            f"norm:upper+{_STUDY_TEXT}|talkers:best permutation|other counts:skipped|unended:skipped",
            _two_only,
            ("osr_wer",),
            About(
                "As best-permutation, but only answers of exactly two pieces, empty ones counted, are scored. All "
                "others are left out, and so are those that ran into the limit of tokens before their end.",
                f"{_REPRODUCTION}: 22.08 % over the 2,683 answers of 3,000 that it scores (SALMONN's own figure is "
                "23.0)",
                (
                    Example("Hello how are you. We leave at nine.", references=_MIXTURE),
                    Example("Hello how are you", references=_MIXTURE),
                    Example("Hello. How are you. We leave at nine.", references=_MIXTURE),
                    Example("Hello how are you. We leave at", references=_MIXTURE, finish="length"),
                ),
                "A model that hears one talker only, or is silent, is not scored at all, so the worst answers leave "
                "the rate. best-permutation, shown beside it, and cpwer keep them.",
            ),
            beside=("best-permutation",),
        ),
    }
)
