r"""The text of a threshold: ``accuracy >= 0.55``, ``wer.upper <= 12%``, ``accuracy[hop=multi,label=cat] >= 0.3``.

    threshold = what [ ".lower" | ".upper" ] operator limit | what ".drop" "<=" margin
              | speed [ ".p50" | ".p95" | ".p99" ] [ group ] ".drop" "<=" number "%"
    what      = metric [ group ]
    group     = "[" field "=" value { "," field "=" value } "]"
    operator  = ">=" | ">" | "<=" | "<"
    limit     = number [ "%" | "pp" ]
    margin    = number [ "pp" ]

A field or value that holds any of , = [ ] " or begins or ends with a space stands in double quotes, where
\" and \\ mean " and \.
"""

from __future__ import annotations

import math
import re
from typing import Literal, NamedTuple, NoReturn, TypeAlias, cast

from pytest_audiobench.errors import UsageError
from pytest_audiobench.metrics.metric import FRACTIONS, RANGES, MetricKind, span
from pytest_audiobench.metrics.registry import NAME

Bound: TypeAlias = Literal["value", "lower", "upper"]
Operator: TypeAlias = Literal[">=", ">", "<=", "<"]
Group: TypeAlias = tuple[tuple[str, str], ...]

FORM = (
    "write it as accuracy >= 0.55, wer <= 12%, accuracy[hop=multi] >= 0.3, accuracy.lower >= 0.5 or "
    "accuracy.drop <= 1pp"
)

SPEED = ("latency", "first_token", "rtf", "token_time", "throughput", "tokens", "cost")
"""What a request took, by which two models of one run are compared: a drop is a share of what the other took."""
QUANTILES = ("p50", "p95", "p99")

_QUOTED = re.compile(r'"((?:[^"\\]|\\["\\])*)"', re.DOTALL)
_BARE = re.compile(r'[^\s,=\[\]"](?:[^,=\[\]"]*[^\s,=\[\]"])?', re.DOTALL)
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?(?:(?=pp)|(?![0-9A-Za-z.]))")
_LONGEST = 1000


class ParsedDrop(NamedTuple):
    """A regression line's parts as its text says them: the largest drop that is none, in points or in a unit."""

    metric: str
    group: Group
    margin: str

    @property
    def is_speed(self) -> bool:
        """Whether the metric is of :data:`SPEED`: a percentage alone makes it so."""
        return self.margin.endswith("%")


class Parsed(NamedTuple):
    """A threshold's parts as its text says them; whether the metric exists is not asked here."""

    metric: str
    group: Group
    bound: Bound
    operator: Operator
    limit: float


def parse(text: str) -> Parsed | ParsedDrop:
    """The parts of a threshold. Raises UsageError with the place of the first mistake and the accepted form."""
    reader = _Reader(text)
    metric = reader.take(re.compile(NAME), "the name of a metric")
    if quantile := metric in SPEED and reader.quantile():
        metric += f".{quantile}"
    group = reader.group() if reader.accept("[") else ()
    bounds = re.compile("drop" if quantile else "lower|upper|drop"), "drop" if quantile else "lower, upper or drop"
    if quantile and not reader.text.startswith(".", reader.at):
        reader.fail(f".drop, since {metric} is only compared with another model's")
    bound = reader.take(*bounds) if reader.accept(".") else "value"
    if bound == "drop":
        reader.take(re.compile("<="), "<= after a drop, which is compared with a margin,")
        return ParsedDrop(metric, group, reader.margin(metric.partition(".")[0] in SPEED, bool(quantile)))
    operator = reader.take(re.compile(r">=|<=|>(?![>=])|<(?![<=>])"), "one of >=, >, <=, <")
    limit = reader.limit()
    reader.end()
    return Parsed(metric, group, cast(Bound, bound), cast(Operator, operator), limit)


def group_text(group: Group) -> str:
    """``[hop=multi,label=cat]``, or nothing for no group; read back as the same group."""
    return f"[{','.join(f'{_word(field)}={_word(value)}' for field, value in group)}]" if group else ""


def _word(text: str) -> str:
    if _BARE.fullmatch(text):
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


class _Reader:
    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        if len(text) > _LONGEST:
            raise UsageError(f"a threshold of {len(text)} characters begins {text[:40]!r}; {FORM}")
        self._skip()

    def take(self, pattern: re.Pattern[str], what: str) -> str:
        match = pattern.match(self.text, self.at) or self.fail(what)
        self.at = match.end()
        self._skip()
        return match[0]

    def accept(self, character: str) -> bool:
        if not self.text.startswith(character, self.at):
            return False
        self.at += 1
        self._skip()
        return True

    def group(self) -> Group:
        pairs: dict[str, str] = {}
        while True:
            start = self.at
            field = self._word("a field, such as hop")
            if field in pairs:
                self.at = start
                self.fail(f"each field once, and {field!r} is there twice")
            if not self.accept("="):
                self.fail("= and a value")
            pairs[field] = self._word('a value (an empty one is written as "")')
            if self.accept("]"):
                return tuple(pairs.items())
            if not self.accept(","):
                self.fail(", or ]")

    def limit(self) -> float:
        start = self.at
        number = self.take(_NUMBER, "a number, such as 0.55 or 55%")
        percent = self.accept("%") or bool(
            self.text.startswith("pp", self.at) and self.accept("p") and self.accept("p")
        )
        if percent and "e" in number.lower():
            self.at = start
            self.fail("a percentage without an exponent")
        # Dividing by 100 would round 12.3 % to another float than 0.123.
        limit = float(f"{number}e-2" if percent else number)
        if not math.isfinite(limit):
            self.at = start
            self.fail("a finite number")
        return limit

    def quantile(self) -> str:
        """Which quantile stands here, "" for none."""
        match = re.compile(rf"\.\s*({'|'.join(QUANTILES)})\b").match(self.text, self.at)
        if match is None:
            return ""
        self.at = match.end()
        self._skip()
        return match[1]

    def margin(self, may_be_speed: bool, is_speed: bool) -> str:
        rest = self.text[self.at :].strip()
        if is_speed or (may_be_speed and rest.endswith("%")):
            if _SHARE.fullmatch(rest) is None:
                raise UsageError(
                    f"the threshold {self.text[:80]!r} has no margin: {rest[:40]!r} is not a percentage of what the "
                    "other model took, such as 5%"
                )
            return rest
        try:
            read_margin(rest)
        except UsageError as error:
            raise UsageError(f"the threshold {self.text[:80]!r} has no margin: {error}") from None
        return rest

    def end(self) -> None:
        if self.at != len(self.text):
            self.fail("nothing more")

    def fail(self, expected: str) -> NoReturn:
        place = f"at character {self.at + 1}" if self.at < len(self.text) else "at its end"
        raise UsageError(f"the threshold {self.text[:80]!r} should have {expected} {place}; {FORM}")

    def _word(self, what: str) -> str:
        quoted = _QUOTED.match(self.text, self.at)
        if quoted is None:
            return self.take(_BARE, what)
        self.at = quoted.end()
        self._skip()
        return re.sub(r"\\(.)", r"\1", quoted[1])

    def _skip(self) -> None:
        while self.text[self.at : self.at + 1].isspace():
            self.at += 1


_SHARE = re.compile(r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*%")
MARGIN_FORM = "write a margin as 1pp (points of a hundred) or 0.01 (in the metric's own unit)"
_MARGIN = re.compile(r"\s*(?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))\s*(?P<unit>pp)?\s*")


def point(kind: MetricKind) -> float | None:
    """One point of a hundred of ``kind`` in its own unit; None where its scale has no hundredth (a cost, seconds)."""
    if kind.unit in FRACTIONS:
        return 0.01
    least, most = RANGES.get(kind.unit, (-math.inf, math.inf))
    return most / 100.0 if math.isfinite(least) and math.isfinite(most) else None


def read_margin(text: str) -> tuple[float, bool]:
    """The number of a margin, and whether it is in points. Raises UsageError for anything else, such as ``1%``."""
    match = _MARGIN.fullmatch(text) if isinstance(text, str) and len(text) < 100 else None
    if match is None:
        hint = "; 1% could be a percentage of the score or a point of it" if "%" in str(text) else ""
        raise UsageError(f"{str(text)[:40]!r} is not a margin: {MARGIN_FORM}{hint}")
    return float(match["number"]), match["unit"] is not None


def margin_of(text: str, kind: MetricKind) -> float:
    """The margin in the unit of ``kind``. Raises UsageError where it has no such margin, or none could be missed."""
    number, in_points = read_margin(text)
    margin = _points_in_unit(number, kind) if in_points else number
    if margin >= (most := span(kind.unit)):
        # Above all, a 1 that was meant as a point would be a hundred of them.
        meant = f": write {number:g}pp for {number:g} points of a hundred" if not in_points and number < 100.0 else ""
        raise UsageError(
            f"a margin of {text.strip()} is all that {kind.name} can drop by ({most:g}), so that nothing could miss it"
            f"{meant}"
        )
    return margin


def _points_in_unit(number: float, kind: MetricKind) -> float:
    hundredth = point(kind)
    if hundredth is None:
        raise UsageError(
            f"{kind.name} is in {kind.unit or 'its own unit'}, which has no points of a hundred: give its margin "
            "as a plain number in that unit"
        )
    # Multiplying would round 1.1 points to another float than 0.011.
    return float(f"{number!r}e-2") if hundredth == 0.01 and "e" not in repr(number) else number * hundredth
