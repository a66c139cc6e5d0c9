"""One clip, a story about it wanted."""

from __future__ import annotations

import string
from collections.abc import Mapping
from types import MappingProxyType

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.metrics.kinds.answers import moving_average_ratio
from pytest_audiobench.protocols.free_text import choose, free_stage
from pytest_audiobench.protocols.protocol import About, Answer, Example, Protocol, Scorer, remembered
from pytest_audiobench.protocols.spoken_questions.completeness import ended
from pytest_audiobench.protocols.spoken_questions.words import NORMALISED, spoken_words

INSTRUCTION = "Based on the audio, write a story in detail. Your story should be highly related to the audio."
"""SALMONN's prompt (Tang et al. 2024, arXiv 2310.13289)."""

_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)

SHORTEST = 50
"""Words that a story has at least, and the stretch over which their variety is averaged."""


@remembered
def story(*scorers: str, prompt: str = INSTRUCTION, system: str | None = None, max_new_tokens: int = 200) -> Protocol:
    """Ask for a story about the sample's clips, in its own question's words or else in ``prompt``'s.

    200 tokens are those of the study. No reference is needed. The scorers are ``word-variety`` (the default; ours)
    and ``salmonn-repro`` (SALMONN's diversity). Raises UsageError for an unknown scorer.
    """
    stage = free_stage(lambda sample: sample.question or prompt, system, max_new_tokens)
    asked = Protocol("story", (stage,), (_READINGS["word-variety"],), _READINGS)
    return choose(asked, scorers)


def _variety(sample: Sample, answer: Answer) -> Mapping[str, float]:
    words = spoken_words(answer.value or "")
    return {"mattr": moving_average_ratio(words, SHORTEST), "followed": float(len(words) >= SHORTEST)}


def _different(sample: Sample, answer: Answer) -> Mapping[str, float]:
    words = (answer.value or "").lower().translate(_NO_PUNCTUATION).split()
    followed = len(words) >= SHORTEST
    return {"types": float(len(set(words)) if followed else 0), "followed": float(followed)}


_TALE = (
    "The rain had fallen on the harbour since dawn when the old bell began to ring. Mara put down her net and "
    "listened, for nobody had touched that rope in twenty years. A gull cried, wheels rolled over wet stones, and "
    "somewhere behind the fog a child was laughing as though the sea were only a story told by others."
)
_LOOP = "A dog barks in the street. " * 12

_READINGS: Mapping[str, Scorer] = MappingProxyType(
    {
        "word-variety": Scorer(
            "word-variety",
            f"story:word-variety|v:1|norm:{NORMALISED}|window:{SHORTEST}|short:0",
            ended,
            _variety,
            ("mattr", "following"),
            About(
                "Texts become words: NFKC, small letters, no punctuation, a Chinese or Japanese character a word. The "
                f"variety of a story is the share of different words in a stretch of {SHORTEST} words, averaged over "
                f"all such stretches. An answer of fewer than {SHORTEST} words is no story: it did not follow, and its "
                "variety is 0. Every answer is scored.",
                "ours; the moving-average type-token ratio is Covington and McFall's (2010, Journal of Quantitative "
                "Linguistics 17(2)), the 50 words are those of the reproduction of SALMONN",
                (Example(_TALE), Example(_LOOP), Example("A dog barks in the street.")),
                "Variety is not relevance: whether the story is about the audio is not asked. A character of Chinese "
                "or Japanese counts as a word, so values of different languages cannot be compared.",
            ),
        ),
        "salmonn-repro": Scorer(
            "salmonn-repro",
            f"story:salmonn-repro|v:1|norm:lower+noasciipunct|short:0|following:>={SHORTEST}",
            ended,
            _different,
            ("diversity", "following"),
            About(
                "Texts are put in small letters and lose the ASCII punctuation; words are what stands between white "
                f"space. An answer of {SHORTEST} words or more followed the instruction. Its diversity is the number "
                "of "
                "its different words; an answer that did not follow has 0. The mean is over all answers, whole or cut "
                "by the limit of 200 tokens.",
                "github jaeeewon/project-multimodal, dist_eval/eval_story.py (a reproduction of SALMONN's tables, "
                "arXiv 2310.13289): 364,261 different words over 4,411 stories, 82.58 (SALMONN 82.57), following 4,408 "
                "of 4,411",
                (Example(_TALE), Example(_LOOP), Example("A dog barks in the street.")),
                "The number grows with the answer's length and so with the limit of tokens, which it mostly measures; "
                "typographic quotation marks and dashes stay at their words. word-variety does not reward length.",
            ),
        ),
    }
)
