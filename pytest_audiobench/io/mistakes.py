"""The mistakes in a file that a person wrote: reported all at once, at most ten of them in words unless asked."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import ParamSpec, TypeVar

from pytest_audiobench.errors import UsageError

P = ParamSpec("P")
T = TypeVar("T")

MOST = 10
"""Mistakes that are reported in words unless more are asked for; the others are counted."""
_LONGEST = 10_000
"""Characters of a sentence: a line of a manifest may hold a name of 10 MB."""


class Mistakes:
    """Sentences, each of which names the file, the place in it, what is wrong and what would be right.

    A reader adds what it sees and continues, with any value in place of the wrong one; :meth:`check` raises them before
    that value gets anywhere. No more than ``most`` are kept in memory.
    """

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._sentences: list[str] = []
        self._count = 0

    @property
    def sentences(self) -> Sequence[str]:
        """The first ``most``."""
        return tuple(self._sentences)

    def __len__(self) -> int:
        return self._count

    def add(self, sentence: str, name: str | None = None, known: Iterable[str] = (), otherwise: str = "") -> None:
        """Adds ``sentence``; with a ``name``, it ends with what :func:`nearest` says of it."""
        self._count += 1
        # Only what is shown is worth a search: a file may hold a million names for each of which there are thousands.
        if len(self._sentences) < self._most:
            if name is not None:
                sentence = f"{sentence[:_LONGEST]}; {nearest(name, known, otherwise)}"
            line = " ".join(sentence[: _LONGEST + 1].splitlines())
            self._sentences.append(line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…")

    @contextmanager
    def catching(self, place: str = "") -> Iterator[None]:
        """Within it a UsageError ends the block and becomes a mistake, with ``place`` before its text."""
        try:
            yield
        except UsageError as error:
            for sentence in str(error).splitlines():
                self.add(place + sentence)

    def attempt(self, otherwise: T, read: Callable[P, T], *args: P.args, **options: P.kwargs) -> T:
        """What ``read`` returns; ``otherwise`` where it raises UsageError, which becomes a mistake."""
        with self.catching():
            return read(*args, **options)
        return otherwise

    def check_keys(
        self, place: str, table: Mapping[str, object], known: Collection[str], otherwise: str = ""
    ) -> set[str]:
        """Adds the keys of ``table`` that are not ``known``; ``otherwise`` is the advice where none of those is near.

        Returns those that seem to be meant by them, whose absence is not its own mistake.
        """
        likely_keys: set[str] = set()
        for key in table:
            if key not in known:
                if len(self._sentences) < self._most:
                    likely_keys.update(near(key, known)[:1])
                allowed = otherwise or f"allowed: {', '.join(known)}"
                self.add(f"{place} has the unknown key {key[:80]!r}", key, known, allowed)
        return likely_keys - table.keys()

    def check(self, others: str = "") -> None:
        """Raises UsageError with a line for each of the first mistakes and the number of the others, if any.

        ``others`` says who names those.
        """
        if self._sentences:
            more = self._count - len(self._sentences)
            rest = f" (and {more:,} more{others and f'; {others}'})" if more else ""
            raise UsageError("\n".join(self._sentences) + rest)


def listed(names: Sequence[str], most: int) -> str:
    """``digits, emotion and 3 more``."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"


def nearest(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """For the end of a sentence: which of ``known`` may be meant by ``name``; else ``otherwise``, or the first ten."""
    names = list(known)
    if likely := [repr(candidate) for candidate in near(name, names)]:
        return f"did you mean {' or '.join(filter(None, (', '.join(likely[:-1]), likely[-1])))}?"
    more = f" and {len(names) - 10} more" if len(names) > 10 else ""
    return otherwise or f"there {'is' if len(names) == 1 else 'are'} {', '.join(names[:10]) or 'none'}{more}"


def near(name: str, known: Collection[str]) -> list[str]:
    """Those of ``known`` that may be meant by ``name``, the nearest first."""
    # Above two letters of three (dig and dog), below what two words have in common by chance (colour and cluster).
    likely = difflib.get_close_matches(name[:80], known, n=3, cutoff=0.65)
    ratios = [difflib.SequenceMatcher(None, candidate, name[:80]).ratio() for candidate in likely]
    # Where one is almost the name, what merely holds it (accuracy_drop, for acuracy) would only distract.
    return [candidate for candidate, ratio in zip(likely, ratios, strict=True) if ratio > ratios[0] - 0.2]
