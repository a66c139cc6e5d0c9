"""The one number that an answer gives: a frequency in Hz, a level in dB, a count. Ours, strict.

A number with the task's unit goes before those without; what has another unit (seconds, shares, calls in Hz) is none.
kHz are Hz, thousands may be grouped ("1,654.75", "1 654 Hz"), a decimal comma needs a unit behind it, a range stands
for its middle, and what follows ± is dropped. Counts may be words ("three", "twenty-one", "none"), where no digits are.
A bound ("at least 3") is no number, nor is the number of a list's line. Of several different numbers the last that is
stated counts ("the SNR is …"), else there is none: it is never the one that fits the truth.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError
from pytest_audiobench.models.messages import Finish
from pytest_audiobench.protocols.answer_failures import refuses
from pytest_audiobench.protocols.bioacoustic.answers import spoken
from pytest_audiobench.protocols.free_text import answer_of
from pytest_audiobench.protocols.protocol import Answer, Earlier, Scorer

Unit: TypeAlias = Literal["", "Hz", "dB"]

_UNITS: Mapping[str, Mapping[str, float]] = {
    "Hz": {"hz": 1.0, "hertz": 1.0, "khz": 1000.0, "kilohertz": 1000.0},
    "dB": {"db": 1.0, "decibel": 1.0, "decibels": 1.0},
    "": {},
}
_UNIT = "khz|hz|kilohertz|hertz|db|decibels?|milliseconds?|m?s|secs?|seconds?|min|minutes?|hours?|percent|times|years?"
_SMALL = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_WORDS = {word: number for number, word in enumerate(_SMALL)} | {"single": 1, "dozen": 12, "none": 0}
_WORDS |= {word: 10 * place for place, word in enumerate(_TENS, start=2)}
_WORD = rf"(?:{'|'.join(_TENS)})[-\s]?(?:{'|'.join(_SMALL[1:10])})|{'|'.join(sorted(_WORDS, key=len, reverse=True))}"
_DIGITS = r"(?:\d{1,3}(?:,\d{3})+(?!\d)|\d{1,12})(?:\.\d{1,20})?(?:e[+-]?\d{1,2}\b)?"
_FIGURE = rf"(?<![\w.,])[-+]?{_DIGITS}"
_QUANTITY = re.compile(
    rf"""(?P<low>{_FIGURE})\s?(?P<low_unit>(?:{_UNIT})\b|%)?\s{{0,2}}(?:-|–|—|\bto\b|(?P<and>\band\b))\s{{0,2}}
         (?P<high>[-+]?{_DIGITS})(?:\s?(?P<high_unit>(?:{_UNIT})\b|%))?(?!\w)
       | (?P<one>{_FIGURE})(?:\s?(?P<unit>(?:{_UNIT})\b|%))?(?![\w%]|\.\d)
       | \b(?P<word>{_WORD})\b(?:\s?-?(?P<word_unit>(?:{_UNIT})\b))?""",
    re.I | re.X,
)
_BOUND = re.compile(
    r"(?:\b(?:at\s(?:least|most)|(?:more|less|fewer|greater|higher|lower)\sthan|over|under|above|below|up\sto"
    r"|exceed(?:s|ing)?)\s(?:about\s|around\s)?|[<>≥≤]\s?)\Z",
    re.I,
)
_BETWEEN = re.compile(r"\bbetween\s\Z", re.I)
_GROUPED = re.compile(rf"(?<![\w.,])\d{{1,3}}(?:\s\d{{3}})+(?=(?:\.\d+)?\s?(?:{_UNIT})\b)", re.I)
_DECIMAL_COMMA = re.compile(rf"(?<![\w.,])(\d+),(\d{{1,2}})(?=\s?(?:{_UNIT})\b)", re.I)
_MARGIN = re.compile(rf"\s?(?:±|\+/-|\+-)\s?{_DIGITS}")
_LINE_NUMBER = re.compile(r"^\d{1,2}[.)]\s+(?=[^\W\d_])", re.M)
_STATED = re.compile(
    r"\b(?:answer|frequency|pitch|f0|snr|ratio|counts?|number|total|estimate|there)\b[^.\d\n]{0,60}?"
    r"(?:\b(?:is|are|of)\b|[:=])",
    re.I,
)
_SENTENCE_END = re.compile(r"[.;!?](?!\d)|\n")


@dataclass(frozen=True)
class Tolerance:
    """How far a number may be from the truth: so much, or a share of the truth."""

    amount: float
    is_share: bool

    @classmethod
    def of(cls, written: str) -> Tolerance:
        """Raises UsageError for what is neither a number nor a percentage of 0 or more."""
        match = re.fullmatch(r"(\d+(?:\.\d+)?)\s?(%?)", written.strip())
        if match is None:
            raise UsageError(f"a tolerance is a number, such as 3, or a percentage, such as 10%, not {written!r}")
        return cls(float(match[1]) / (100.0 if match[2] else 1.0), bool(match[2]))

    def covers(self, value: float, truth: float) -> bool:
        # What was written with decimals is not to miss the edge by how floats are made.
        return abs(value - truth) <= self.amount * (abs(truth) if self.is_share else 1.0) * (1 + 1e-12) + 1e-12


def number_in(text: str, unit: Unit, finish: Finish = "stop") -> Answer:
    """The number as a text in the task's unit. Statuses: parsed, empty, refused, truncated, out_of_range, unparsed."""
    body = _MARGIN.sub("", spoken(text).replace("−", "-"))
    body = re.sub(r"\bminus\s(?=\d)", "-", body, flags=re.I)
    body = _GROUPED.sub(lambda match: match[0].replace(" ", ""), _DECIMAL_COMMA.sub(r"\1.\2", body))
    if not re.search(r"\w", body):
        return Answer("empty")
    values = _values(_LINE_NUMBER.sub("", body), unit, finish) or _values(body, unit, finish)
    if len(values) > 1 and (stated := list(_STATED.finditer(body))):
        values = _values(_SENTENCE_END.split(body[stated[-1].end() :], maxsplit=1)[0], unit, finish)
    if len(values) == 1:
        value = values.pop()
        return Answer("out_of_range") if value < 0 and unit != "dB" else Answer("parsed", f"{value:.12g}")
    if finish == "length":
        return Answer("truncated")
    return Answer("refused" if finish == "refusal" or (not values and refuses(body)) else "unparsed")


def _values(body: str, unit: Unit, finish: Finish) -> set[float]:
    """The different numbers: those with the unit, else those without any, in digits rather than in words."""
    ranks: list[set[float]] = [set(), set(), set()]
    for rank, value, end in _quantities(body, unit):
        if finish != "length" or end < len(body) or rank == 0:
            ranks[rank].add(value)
    return next(filter(None, ranks), set())


def _quantities(body: str, unit: Unit) -> Iterator[tuple[int, float, int]]:
    factors = _UNITS[unit]
    for match in _QUANTITY.finditer(body):
        if _BOUND.search(body[max(0, match.start() - 30) : match.start()]):
            continue
        if match["and"] and not _BETWEEN.search(body[max(0, match.start() - 9) : match.start()]):
            # Two numbers, and no range.
            sides = [(match["low"], match["low_unit"]), (match["high"], match["high_unit"])]
            numbers = [(_figure(figure), (written or "").lower()) for figure, written in sides]
        elif match["low"]:
            high_unit = (match["high_unit"] or match["low_unit"] or "").lower()
            low_unit = (match["low_unit"] or high_unit).lower()
            if low_unit != high_unit and not {low_unit, high_unit} <= factors.keys():
                continue
            low, high = _figure(match["low"]), _figure(match["high"])
            if not match["low_unit"] and low > high:
                low_unit = unit.lower()  # "500 to 1.5 kHz"
            scale = factors.get(low_unit, 1.0) / factors.get(high_unit, 1.0)
            numbers = [((low * scale + high) / 2, high_unit)]
        elif match["one"]:
            numbers = [(_figure(match["one"]), (match["unit"] or "").lower())]
        else:
            word_unit = (match["word_unit"] or "").lower()
            numbers = [(_of_words(match["word"].lower()), word_unit)] if word_unit or not unit else []
        for number, written in numbers:
            if written in factors:
                yield 0, number * factors[written], match.end()
            elif not written:
                yield (2 if match["word"] else 1), number, match.end()


def _figure(text: str) -> float:
    return float(text.replace(",", ""))


def _of_words(text: str) -> float:
    if text in _WORDS:
        return float(_WORDS[text])
    tens = next(word for word in _TENS if text.startswith(word))
    return float(_WORDS[tens] + _WORDS[text.removeprefix(tens).strip(" -")])


_ERRORS: Mapping[Unit, str] = {"": "absolute_error", "Hz": "absolute_error_hz", "dB": "absolute_error_db"}


def number_scorer(unit: Unit, tolerance: str) -> Scorer:
    """The scorer ``bioacoustic`` of a number: within the tolerance or wrong, and how far off those that were read."""
    near = Tolerance.of(tolerance)

    def parse(sample: Sample, earlier: Earlier) -> Answer:
        response = answer_of(earlier)
        return number_in(response.text, unit, response.finish)

    def score(sample: Sample, answer: Answer) -> Mapping[str, float]:
        truth = number_in(sample.reference, unit)
        if truth.value is None:
            raise UsageError(
                f"sample {sample.id!r}: its truth {sample.reference!r} is no number{unit and f' in {unit}'}; correct "
                "the data set, or the task's unit"
            )
        if answer.status != "parsed" or answer.value is None:
            return {"within": 0.0, "off": 0.0, "read": 0.0}
        value, true = float(answer.value), float(truth.value)
        return {"within": float(near.covers(value, true)), "off": abs(value - true), "read": 1.0}

    signature = f"bioacoustic:number|v:1|unit:{unit or 'count'}|within:{tolerance}|range:middle|unanswered:wrong"
    return Scorer("bioacoustic", signature, parse, score, ("within_tolerance", _ERRORS[unit]))
