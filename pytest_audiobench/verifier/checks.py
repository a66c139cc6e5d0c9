"""The outcome of each part that was checked, and of the whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from pytest_audiobench.io.mistakes import listed
from pytest_audiobench.report.formatting import counted

Status: TypeAlias = Literal["ok", "fails", "not_recomputed"]
STATUSES: tuple[Status, ...] = ("ok", "fails", "not_recomputed")

_DIGITS = 12
_NAMED = 3


class Check(NamedTuple):
    """The outcome for one part."""

    part: str
    status: Status
    detail: str = ""
    """Why it fails or could not be recomputed."""


@dataclass(frozen=True)
class CheckedItem:
    """An eval, suite, run or artifact with its checks."""

    what: str
    name: str
    model: str
    """Empty where it has none."""
    checks: Sequence[Check]

    @property
    def called(self) -> str:
        """``sakura[animal-single] by listener``, ``suite sakura by listener``."""
        kind = "" if self.what == "eval" else f"{self.what} "
        return f"{kind}{self.name}" + (f" by {self.model}" if self.model else "")


@dataclass(frozen=True)
class Verification:
    """All that was checked of a run or artifact."""

    source: str
    checked: Sequence[CheckedItem]
    notes: Sequence[str] = ()
    """What no part covers."""

    def counts(self) -> dict[str, int]:
        """How many parts there are of each status."""
        statuses = Counter(check.status for item in self.checked for check in item.checks)
        return {status: statuses[status] for status in STATUSES}

    def failing(self) -> list[str]:
        """What fails, by part and owner."""
        return [
            f"{check.part} of {item.called}"
            for item in self.checked
            for check in item.checks
            if check.status == "fails"
        ]

    def exit_status(self) -> int:
        """1 where a part fails, else 0."""
        return 1 if self.failing() else 0

    def closing(self) -> str:
        """The verdict in one line."""
        counts, failing = self.counts(), self.failing()
        kinds = Counter(item.what for item in self.checked)
        rest = f"{counted(counts['ok'], 'part')} of {', '.join(counted(n, kind) for kind, n in kinds.items())}"
        unknown = f"; {counts['not_recomputed']} could not be recomputed" if counts["not_recomputed"] else ""
        if not failing:
            return f"verified: {rest} hold{unknown}; nothing fails"
        rest = f"{rest} hold{unknown}"
        return f"FAILS: {listed(failing, _NAMED)}; {rest}"


def ok(part: str) -> Check:
    return Check(part, "ok")


def fails(part: str, detail: str) -> Check:
    return Check(part, "fails", detail)


def not_recomputed(part: str, detail: str) -> Check:
    return Check(part, "not_recomputed", detail)


def same(part: str, recorded: object, recomputed: str, where: str = "run.json") -> Check:
    """Whether the hash that is ``recorded`` is the one that was ``recomputed``."""
    if recorded == recomputed:
        return ok(part)
    shortened = recorded[:_DIGITS] if isinstance(recorded, str) else repr(recorded)[:_DIGITS]
    return fails(part, f"its hash is {recomputed[:_DIGITS]}… and {where} says {shortened}…")
