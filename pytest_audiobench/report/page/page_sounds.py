"""The sounds that a page embeds: of the excerpts that the evals left, as many as fit, what changed first."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import NamedTuple, TypeAlias

from pytest_audiobench.report.json_lines import Row, read_lines
from pytest_audiobench.report.page.excerpts import BUDGET_BYTES, ENDING, LONGEST_S
from pytest_audiobench.report.page.page_rows import LONGEST_NAME

Key: TypeAlias = tuple[str, str, str]
"""Eval, model and sample id, as far as the page holds it."""


class Sound(NamedTuple):
    """A clip's excerpt: the clip's number, which of the page's sounds it is, its seconds, and those of the whole.

    ``version`` is "clean" for the clip as it was before a perturbation changed it, "changed" for what the perturbation made
    of it, empty where none did.
    """

    clip: int
    number: int
    seconds: float
    whole_s: float
    version: str = ""


@dataclass
class PageSounds:
    """``data`` are MP3 files in base64, each once; ``left_out`` counts the excerpts that did not fit."""

    data: dict[str, int] = field(default_factory=dict)
    of: dict[Key, list[Sound]] = field(default_factory=dict)
    left_out: int = 0

    @property
    def note(self) -> str:
        """What of the run can be heard on the page, and how to hear more."""
        if not self.of:
            return (
                "This page holds no sound: --ab-report-audio flips, or all, puts excerpts on it where the audio is on "
                "the machine that asks."
            )
        beyond = f" {self.left_out} more did not fit." if self.left_out else ""
        return (
            f"Of {len(self.of)} {'sample' if len(self.of) == 1 else 'samples'} the sound is on this page, as the model "
            f"was played it, in mono and MP3, {LONGEST_S:g} s of a clip at most.{beyond} "
            "--ab-report-audio chooses whose."
        )

    def elements(self) -> Iterator[tuple[str, str]]:
        """Script elements: the attributes and the text of each, in the order of their numbers."""
        for text in self.data:
            yield 'type="text/plain" class="sound" data-type="audio/mpeg"', text


def page_sounds(parts: Path, budget_bytes: int = BUDGET_BYTES, first: Collection[Key] = ()) -> PageSounds:
    """Choose of the excerpts in the folder of parts: those of the samples that the page lists (``first``), then of
    every eval the most wanted, then of every eval the next.
    """
    found, left = PageSounds(), budget_bytes
    listed, paths = frozenset(first), sorted(parts.glob(f"*{ENDING}"))
    evals = [_wanted(path) for path in paths]
    own = [row for path in paths for row in read_lines(path) if _key(row) in listed] if listed else []
    others = (row for _, row in heapq.merge(*evals, key=lambda one: one[0]) if _key(row) not in listed)
    for row in chain(own, others):
        text = row["mp3"]
        if text not in found.data:
            if len(text) > left:
                found.left_out += 1
                continue
            left -= len(text)
            found.data[text] = len(found.data)
        sound = Sound(row["clip"], found.data[text], row["seconds"], row["whole_s"], row.get("version", ""))
        found.of.setdefault(_key(row), []).append(sound)
    return found


def _wanted(path: Path) -> Iterator[tuple[tuple[int, int], Row]]:
    """An eval's excerpts, which it left in this order: why each is wanted, and how many were wanted more."""
    for nth, row in enumerate(read_lines(path)):
        yield (row["rank"], nth), row


def _key(row: Row) -> Key:
    return row["eval"], row["model"], row["sample_id"][:LONGEST_NAME]
