"""The rules that a choice question's answers can be read by, under their names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple, TypeAlias

from pytest_audiobench.datasets.sample import LETTERS, Sample, letter_of
from pytest_audiobench.models.messages import Finish
from pytest_audiobench.protocols.multiple_choice import air_bench, documentation, faithfulness, letters, mmau, phrases
from pytest_audiobench.protocols.options import same_text
from pytest_audiobench.protocols.protocol import About, Answer

Parser: TypeAlias = Callable[[str, tuple[str, ...], Finish], Answer]
IsCorrect: TypeAlias = Callable[[Sample, str], bool]

STRICT = "letters"
"""The name of our own rule, by which choice questions are read unless told otherwise."""

DRAWN_FROM = LETTERS[:4]
"""The letters that VoiceBench draws from, whatever the question offers."""


class Rule(NamedTuple):
    """How a text is read as a letter, which letters are right, and what an answer without one is worth.

    ``unread`` is "wrong", "skipped" (left out of the score), or "drawn": what a letter drawn from A to D is worth on
    average. ``beside`` names the rule that keeps what this one skips.
    """

    read: Parser
    is_correct: IsCorrect
    about: About
    note: str = ""
    unread: Literal["wrong", "skipped", "drawn"] = "wrong"
    beside: tuple[str, ...] = ()

    def points(self, sample: Sample, answer: Answer) -> float | None:
        """1 for a right answer, 0 for a wrong one; None for one that is left out."""
        if answer.value is not None:
            return float(self.is_correct(sample, answer.value))
        if answer.status == "out_of_range" or self.unread == "wrong":
            return 0.0
        if self.unread == "skipped":
            return None
        return float(letter_of(sample) in DRAWN_FROM) / len(DRAWN_FROM)


def _same_text(sample: Sample, letter: str) -> bool:
    return same_text(sample.choices, letter, letter_of(sample))


def _same_letter(sample: Sample, letter: str) -> bool:
    """Only the first of equal options is right, as where the published code compares letters."""
    return letter == letter_of(sample)


def _same_tokens(sample: Sample, letter: str) -> bool:
    return mmau.is_correct(letter, sample.reference, sample.choices)


def _same_tokens_lettered(sample: Sample, letter: str) -> bool:
    return mmau.is_correct_lettered(letter, sample.reference, sample.choices)


def _study_letter(sample: Sample, letter: str) -> bool:
    """The study knew one true letter: its own where the data set records it, else the first where choices repeat."""
    return letter == (sample.metadata.get("faithfulness_letter") or letter_of(sample))


def _study(read: Parser, about: About) -> Rule:
    return Rule(read, _study_letter, about, "study defects kept")


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        STRICT: Rule(letters.read, _same_text, documentation.LETTERS),
        "mmau-string": Rule(mmau.read, _same_tokens, documentation.MMAU),
        "mmar": Rule(mmau.read, _same_tokens, documentation.MMAR),
        "audiobench-mmau": Rule(mmau.read_lettered, _same_tokens_lettered, documentation.AUDIOBENCH_MMAU),
        "air-bench": Rule(
            air_bench.read, _same_letter, documentation.AIR_BENCH, unread="skipped", beside=("air-bench-keep",)
        ),
        "air-bench-keep": Rule(air_bench.read, _same_letter, documentation.AIR_BENCH_KEEP),
        "voicebench-like": Rule(phrases.voicebench, _same_letter, documentation.VOICEBENCH, unread="drawn"),
        "kimi-vb": Rule(phrases.kimi, _same_letter, documentation.KIMI, unread="drawn"),
        "ultraeval": Rule(phrases.ultraeval, _same_letter, documentation.ULTRAEVAL),
        "faithfulness-runtime-af3": _study(faithfulness.runtime_af3, documentation.RUNTIME_AF3),
        "faithfulness-runtime-af3-direct": _study(faithfulness.runtime_af3_direct, documentation.RUNTIME_AF3_DIRECT),
        "faithfulness-runtime-qwen": _study(faithfulness.runtime_qwen, documentation.RUNTIME_QWEN),
        "faithfulness-recovered": _study(faithfulness.recovered, documentation.RECOVERED),
        "faithfulness-recovered-mm": _study(faithfulness.recovered_mm, documentation.RECOVERED_MM),
        "faithfulness-recovered-mmau": _study(faithfulness.recovered_mmau, documentation.RECOVERED_MMAU),
    }
)
