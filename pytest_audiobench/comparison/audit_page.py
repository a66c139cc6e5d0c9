"""The page of an audit: suspect items with their sounds, on the frame of the page of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pytest_audiobench.audio.clip import FileSource
from pytest_audiobench.audio.clip_record import clip_of
from pytest_audiobench.audio.index import AudioIndex
from pytest_audiobench.comparison.audit_text import headline
from pytest_audiobench.comparison.data_audit import Audit, AuditedClip
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.errors import AudioError
from pytest_audiobench.report.atomic_files import write_chunks
from pytest_audiobench.report.formatting import counted
from pytest_audiobench.report.page.frame import Layout, encoded, escaped_json, whole_page
from pytest_audiobench.report.page.sounds import BUDGET_BYTES, Sound, clip_excerpt
from pytest_audiobench.verifier.clip_checks import Folders

LAYOUT = Layout(
    "audit.html",
    ("base.css", "numbers.css", "samples.css", "audit.css"),
    ("elements.js", "theme.js", "audio.js", "audit.js"),
)
MOST = 2_000
"""Suspects on the page, of each check of each eval the strongest; all are in the files next to it."""


def write_page(path: Path, audit: Audit, places: Places, budget_bytes: int = BUDGET_BYTES) -> list[str]:
    """Write the page of an audit, whole or not at all, with the sounds that lie in ``places``; returns what of them is
    not on it, in sentences.
    """
    with AudioIndex(None) as index:
        sounds = _Sounds(index, Folders(places.named, places.shelves).file, budget_bytes)
        content = _content(audit, sounds)
    remarks = sounds.remarks()
    content["notes"] = [*audit.notes, *remarks]
    write_chunks(path, whole_page("Audit of the data", content, LAYOUT, elements=sounds.elements()))
    return remarks


class _Sounds:
    """The excerpts of a page, each clip once."""

    def __init__(self, index: AudioIndex, find: Callable[[str], FileSource], budget_bytes: int) -> None:
        self._index, self._find, self._left = index, find, budget_bytes
        self._sounds: dict[str, Sound | None] = {}
        self._texts: list[str] = []
        self._elsewhere: dict[str, None] = {}
        """Names of data without a known folder."""
        self._failed: list[str] = []
        self._beyond = 0

    def of(self, clips: tuple[AuditedClip, ...]) -> Iterator[dict[str, Any]]:
        for clip in clips:
            if clip.key is None:
                continue
            if clip.key not in self._sounds:
                self._sounds[clip.key] = self._sound(clip)
            sound = self._sounds[clip.key]
            if sound is not None:
                yield {"sound": sound.number, "seconds": sound.seconds, "whole": sound.whole_s}

    def elements(self) -> Iterator[bytes]:
        for text in self._texts:
            yield b'</script>\n<script type="text/plain" class="sound" data-type="audio/mpeg">'
            yield encoded(escaped_json(text))

    def remarks(self) -> list[str]:
        """What is not on the page."""
        data = " ".join(f"--data {name}=FOLDER" for name in [*self._elsewhere][:3])
        places = f"the sounds of {', '.join([*self._elsewhere][:3])} are not on the page: {data} says where they lie"
        remarks = [places] if self._elsewhere else []
        if self._failed:
            remarks.append(f"{counted(len(self._failed), 'clip')} could not be put on the page: {self._failed[0]}")
        if self._beyond:
            remarks.append(f"{counted(self._beyond, 'clip')} more did not fit on the page")
        return remarks

    def _sound(self, recorded: AuditedClip) -> Sound | None:
        try:
            clip = clip_of(recorded.recipe, self._find)
            (facts,) = self._index.facts_of([clip])
            if isinstance(facts, AudioError):
                raise facts
            if clip.key_from(facts.digest) != recorded.key:
                raise ValueError("it is other audio than the runs played")
            seconds, whole_s, mp3 = clip_excerpt(clip, facts.duration_s)
        except LookupError as error:
            self._elsewhere.setdefault(str(error.args[0]).partition(":")[0])
            return None
        # Whatever a codec or a file system comes up with, an audit does not fail for lack of a sound.
        except Exception as error:
            self._failed.append(f"{recorded.source}: {error}")
            return None
        if len(mp3) > self._left:
            self._beyond += 1
            return None
        self._left -= len(mp3)
        self._texts.append(mp3)
        return Sound(0, len(self._texts) - 1, seconds, whole_s)


def _content(audit: Audit, sounds: _Sounds) -> dict[str, Any]:
    return {
        "headline": headline(audit),
        "sides": list(audit.sides),
        "checks": [vars(check) for check in audit.checks],
        "suspects": [
            {
                **suspect._asdict(),
                "question": audit.items[suspect.eval, suspect.id].question,
                "choices": list(audit.items[suspect.eval, suspect.id].choices),
                "sounds": list(sounds.of(audit.items[suspect.eval, suspect.id].clips)),
            }
            for suspect in audit.suspects[:MOST]
        ],
        "left_out": max(0, len(audit.suspects) - MOST),
    }
