"""The one number that an answer gives: a frequency in Hz, a level in dB, a count. Ours, strict.

A number with the task's unit goes before those without; what has another unit (seconds, shares, calls in Hz) is none.
kHz are Hz, thousands may be grouped ("1,654.75", "1 654 Hz"), a decimal comma needs a unit behind it, a range stands
for its middle, and what follows ± is dropped. Counts may be words ("three", "twenty-one", "none"; "one" only where no
other number is or what is counted follows), and "no calls" is none. A bound ("at least 3", "3 or more") is none either,
nor are the number of a list's line and a sampling rate. Of several different numbers the one counts that is a first or
last line of its own, else the last that is stated ("the SNR is …", up to the end of its clause; a maximum or a typical
value is not), else there is none: it is never the one that fits the truth. In a refusal only a stated number counts.
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
from pytest_audiobench.protocols.bioacoustic.answers import hears_none, spoken
from pytest_audiobench.protocols.free_text import answer_of
from pytest_audiobench.protocols.protocol import Answer, Earlier, Scorer
from pytest_audiobench.protocols.transcription.texts import NUMBER_WORDS

Unit: TypeAlias = Literal["", "Hz", "dB"]

_UNITS: Mapping[str, Mapping[str, float]] = {
    "Hz": {"hz": 1.0, "hertz": 1.0, "khz": 1000.0, "kilohertz": 1000.0, "k": 1000.0},
    "dB": {"db": 1.0, "decibel": 1.0, "decibels": 1.0},
    "": {},
}
_UNIT = (
    "khz|hz|kilohertz|hertz|db|decibels?|milliseconds?|m?s|secs?|seconds?|min|minutes?|hours?|percent|times|years?|k"
)
_WORDS = {**NUMBER_WORDS, "single": 1, "dozen": 12, "none": 0}
_ONES = [word for word, number in NUMBER_WORDS.items() if 1 <= number <= 9]
_TENS = [word for word, number in NUMBER_WORDS.items() if number >= 20]
_LARGE = r"(?!\s(?:hundred|thousand|million)\b)"
NUMBER_WORD = rf"(?:{'|'.join(_TENS)})[-\s]?(?:{'|'.join(_ONES)})|{'|'.join(sorted(_WORDS, key=len, reverse=True))}"
_DIGITS = r"(?:\d{1,3}(?:,\d{3})+(?!\d)|\d{1,12})(?:\.\d{1,20})?(?:e[+-]?\d{1,2}\b)?"
_FIGURE = rf"(?<![\w.,^])[-+]?{_DIGITS}"
_QUANTITY = re.compile(
    rf"""(?P<low>{_FIGURE})\s?(?P<low_unit>(?:{_UNIT})\b|%)?\s{{0,2}}(?:-|–|—|\bto\b|(?P<and>\band\b))\s{{0,2}}
         (?P<high>[-+]?{_DIGITS})(?:[\s-]?(?P<high_unit>(?:{_UNIT})\b|%))?(?!\w)
       | (?P<one>{_FIGURE})(?:[\s-]?(?P<unit>(?:{_UNIT})\b|%))?(?![\w%]|[.,]\d)
       | \b(?P<word>{NUMBER_WORD})\b{_LARGE}(?:\s?-?(?P<word_unit>(?:{_UNIT})\b))?""",
    re.I | re.X,
)
_BOUND = re.compile(
    r"(?:\b(?:at\s(?:least|most)|(?:more|less|fewer|greater|higher|lower)\sthan|over|under|above|below|up\sto"
    r"|exceed(?:s|ing)?|sampl\w{1,5}\s(?:rate|frequency)\s(?:of|is))\s(?:about\s|around\s)?|[<>≥≤]\s?)\Z",
    re.I,
)
_BOUND_BEHIND = re.compile(
    r"\s?\+(?!\s?\d)|\s(?:or|and)\s(?:more|fewer|less|above|over|higher|lower)\b|\s(?:\w{1,9}\s)?sampl", re.I
)
_COUNTED = re.compile(
    r"\s(?:(?!that\b|which\b|who\b|of\b)\w{1,12}\s)?(?:species|birds?|animals?|individuals?|calls?|songs?|vocali[sz]ations?|events?|types?|kinds?)\b",
    re.I,
)
_NONE_COUNTED = re.compile(
    r"(?:(?:i|we)\s(?:can\s|do\s)?(?:hear|heard|detect|detected)\s|there\s(?:is|are|was|were)\s)?"
    r"(?:no\s(?!idea|clue|answer|response|comment|way)\w|nothing\b)",
    re.I,
)
_BETWEEN = re.compile(r"\bbetween\s\Z", re.I)
_GROUPED = re.compile(rf"(?<![\w.,])\d{{1,3}}(?:\s\d{{3}}){{1,3}}(?=(?:\.\d+)?\s?(?:{_UNIT})\b)", re.I)
_APOSTROPHES = re.compile(r"(?<=\d)['’](?=\d{3}(?!\d))")
_POWER = re.compile(r"(?<=\d)\s?[×x*·]\s?10\s?\^\s?(?=-?\d{1,2}\b)", re.I)
_NEGATIVE = re.compile(
    r"\b(?:minus|negative)\s(?=\d)|(?:\A|(?<=[:=(])|(?<=[:=]\s)|(?<=\bis\s)|(?<=\bof\s))[–—](?=\d)", re.I
)
_UNIT_IN_BRACKETS = re.compile(rf"(?<=\d)\s?\(((?:{_UNIT}))\)", re.I)
_POINT_FIRST = re.compile(r"(?<![\w.,])\.(?=\d)")
_DECIMAL_COMMA = re.compile(rf"(?<![\w.,])(\d+),(\d{{1,2}})(?=\s?(?:{_UNIT})\b)", re.I)
_MARGIN = re.compile(rf"\s?(?:±|\+/-|\+-)\s?{_DIGITS}")
_LINE_NUMBER = re.compile(r"^\d{1,2}[.)]\s+(?=[^\W\d_])", re.M)
_STATED = re.compile(
    r"\b(?:answer|frequency|pitch|f0|snr|ratio|counts?|number|total|estimate|there)\b[^.,;\d\n]{0,60}?"
    r"(?:\b(?:is|are|of)\b|[:=])",
    re.I,
)
_NOT_ASKED = re.compile(
    r"\b(?:max(?:imum|imal)?|min(?:imum|imal)?|peak|highest|lowest|typical|usual|sampling|sample)\s\Z", re.I
)
_SAID = re.compile(r"\b(?:i['’]d|i\swould|i['’]ll|i\swill)\s(?:say|guess|estimate)\b", re.I)
_SENTENCE_END = re.compile(r"[.;!?](?!\d)|\n")
_CLAUSE_END = re.compile(
    r"[.;!?](?!\d)|\n|,\s(?!or\b|maybe\b|perhaps\b|possibly\b|and\b|to\b)(?=[a-z])|\s\((?=[^()]{0,60}\d)"
    r"|\s(?:with|while|whereas|but|within|over|and\s(?:the|its|a|has))\s"
)
_GOES_ON = frozenset({"and", "to", "or"})


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
    body = _plain(spoken(text))
    if not re.search(r"\w", body):
        return Answer("empty")
    none_heard = not unit and (hears_none(body) or _NONE_COUNTED.match(body)) and not re.search(r"\d", body)
    refused = finish == "refusal" or (refuses(body) and not none_heard)
    values = _values(_LINE_NUMBER.sub("", body), unit, finish) or _values(body, unit, finish)
    is_clear = len(values) == 1 and not refused
    if not is_clear:
        values = (set() if refused or finish == "length" else _alone(body, unit)) or _stated(body, unit, finish)
    if len(values) == 1:
        value = values.pop()
        return Answer("out_of_range") if value < 0 and unit != "dB" else Answer("parsed", f"{value:.12g}")
    if finish == "length":
        return Answer("truncated")
    if none_heard and not (values or refused):
        return Answer("parsed", "0")
    return Answer("refused" if refused else "unparsed")


def _plain(body: str) -> str:
    """The signs that a number may be written with, put to those that are read."""
    body = _NEGATIVE.sub("-", _MARGIN.sub("", body.replace("−", "-")))
    body = _POINT_FIRST.sub("0.", _UNIT_IN_BRACKETS.sub(r" \1", _POWER.sub("e", _APOSTROPHES.sub("", body))))
    return _GROUPED.sub(lambda match: match[0].replace(" ", ""), _DECIMAL_COMMA.sub(r"\1.\2", body))


def _alone(body: str, unit: Unit) -> set[float]:
    """The number that is all of the first line, of the last, or of both."""
    lines = body.split("\n")
    ends = [line for line in {lines[0], lines[-1]} if len(lines) > 1 and not re.search(r"\w", _QUANTITY.sub("", line))]
    values = set[float]().union(*(_values(line, unit, "stop") for line in ends))
    return values if len(values) == 1 else set()


def _stated(body: str, unit: Unit, finish: Finish) -> set[float]:
    """The numbers of the last statement that has any, to the end of its clause."""
    ends = [
        match.end()
        for match in _STATED.finditer(body)
        if not _NOT_ASKED.search(body, max(0, match.start() - 20), match.start())
    ]
    ends += [match.end() for match in _SAID.finditer(body)]
    if not ends:
        return set()
    stated = body[max(ends) :]
    clause = _CLAUSE_END.split(stated, maxsplit=1)[0]
    whole = "stop" if re.search(r"\w", stated[len(clause) :]) else finish
    return _values(clause, unit, whole) or _values(_SENTENCE_END.split(stated, maxsplit=1)[0], unit, whole)


def _values(body: str, unit: Unit, finish: Finish) -> set[float]:
    """The different numbers: those with the unit, else those without any; "one" only where there is no other."""
    ranks: list[set[float]] = [set(), set(), set()]
    sure, without_unit = _cut_places(body) if finish == "length" else (len(body), len(body) + 1)
    for rank, value, end in _quantities(body, unit):
        if end <= sure if rank == 0 else end < without_unit:
            ranks[rank].add(float(f"{value:.12g}"))
    return next(filter(None, ranks), set())


def _cut_places(body: str) -> tuple[int, int]:
    """Where a number must have ended that a cut text has whole: with its unit, and before which without."""
    words = list(re.finditer(r"\w+", body))
    if not words:
        return 0, 0
    last = words[-1]
    if last[0].lower() in _GOES_ON:
        before = words[-2].end() if len(words) > 1 else 0
        return before - 1, before
    return last.end() - bool(re.search("[-–—]", body[last.end() :])), last.end()


def _quantities(body: str, unit: Unit) -> Iterator[tuple[int, float, int]]:
    factors = _UNITS[unit]
    for match in _QUANTITY.finditer(body):
        before = body[max(0, match.start() - 40) : match.start()]
        if _BOUND.search(before) or _BOUND_BEHIND.match(body, match.end()):
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
            elif not written or (written == "times" and not unit):
                unsure = match["word"] and number == 1 and not _COUNTED.match(body, match.end())
                yield (2 if unsure else 1), number, match.end()


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
                f"sample {sample.id!r}: its truth {sample.reference!r} is not a number{unit and f' in {unit}'}; "
                "correct the data set, or the task's unit"
            )
        if answer.status != "parsed" or answer.value is None:
            return {"within": 0.0, "off": 0.0, "read": 0.0}
        value, true = float(answer.value), float(truth.value)
        return {"within": float(near.covers(value, true)), "off": abs(value - true), "read": 1.0}

    signature = f"bioacoustic:number|v:1|unit:{unit or 'count'}|within:{tolerance}|range:middle|unanswered:wrong"
    return Scorer("bioacoustic", signature, parse, score, ("within_tolerance", _ERRORS[unit]))
