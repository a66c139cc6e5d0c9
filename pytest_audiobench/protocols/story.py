"""One clip, a story about it wanted."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.metrics.diversity import moving_average_ratio
from pytest_audiobench.protocols.free_text import choose, free_stage, read_text
from pytest_audiobench.protocols.protocol import About, Answer, Example, Protocol, Reading
from pytest_audiobench.protocols.spoken.words import NORMALISED, spoken_words

INSTRUCTION = "Based on the audio, write a story in detail. Your story should be highly related to the audio."
"""SALMONN's prompt (Tang et al. 2024, arXiv 2310.13289)."""

SHORTEST = 50
"""Words that a story has at least, and the stretch over which their variety is averaged."""


def story(*readings: str, prompt: str = INSTRUCTION, system: str | None = None, max_new_tokens: int = 200) -> Protocol:
    """Ask for a story about the sample's clips, in its own question's words or else in ``prompt``'s.

    200 tokens are those of the study. No reference is needed. The readings are ``word-variety`` (the default; ours)
    and ``different-words`` (SALMONN's diversity). Raises UsageError for an unknown reading.
    """
    stage = free_stage(lambda sample: sample.question or prompt, system, max_new_tokens)
    asked = Protocol("story", (stage,), (_READINGS["word-variety"],), _READINGS)
    return choose(asked, readings)


def _variety(sample: Sample, answer: Answer) -> Mapping[str, float]:
    words = spoken_words(answer.value or "")
    return {"mattr": moving_average_ratio(words, SHORTEST), "followed": float(len(words) >= SHORTEST)}


def _different(sample: Sample, answer: Answer) -> Mapping[str, float]:
    words = (answer.value or "").split()
    return {"types": float(len(set(words))), "followed": float(len(words) >= SHORTEST)}


_TALE = (
    "The rain had fallen on the harbour since dawn when the old bell began to ring. Mara put down her net and "
    "listened, for nobody had touched that rope in twenty years. A gull cried, wheels rolled over wet stones, and "
    "somewhere behind the fog a child was laughing as though the sea were only a story told by others."
)
_LOOP = "A dog barks in the street. " * 12

_READINGS: Mapping[str, Reading] = MappingProxyType(
    {
        "word-variety": Reading(
            "word-variety",
            f"story:word-variety|v:1|norm:{NORMALISED}|window:{SHORTEST}|short:0",
            read_text,
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
        "different-words": Reading(
            "different-words",
            f"story:different-words|v:1|norm:none|split:white space|following:>={SHORTEST}",
            read_text,
            _different,
            ("diversity", "following"),
            About(
                "The number of different words of an answer, averaged over all answers; words are what stands between "
                f"white space, as written. An answer of {SHORTEST} words or more followed the instruction. Every "
                "answer is scored, in full or cut by the limit of 200 tokens.",
                "SALMONN (Tang et al. 2024, arXiv 2310.13289) as a reproduction describes it in its slides: 364,261 "
                "different words over 4,411 stories, 82.58 (SALMONN 82.57), following 4,408 of 4,411",
                (Example(_TALE), Example(_LOOP), Example("A dog barks. a dog barks.")),
                'How words are told apart is not published; here "barks." and "barks" are two. The number grows with '
                "the answer's length, and with the limit of tokens, which it mostly measures. word-variety does not.",
            ),
        ),
    }
)
