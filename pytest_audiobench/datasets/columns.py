"""Which columns of a user's file hold a sample's fields, and the call that would read a file whose names differ."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pytest_audiobench.audio.clip import Clip
from pytest_audiobench.datasets.recordings import ENDINGS
from pytest_audiobench.datasets.table_rows import Row
from pytest_audiobench.io.mistakes import Mistakes, listed

FROM_ANSWERS = "from answers"
"""As ``choices``: the different answers of the file, sorted, are every sample's."""

_LABELS = ("answer", "label", "category", "class", "class_name", "emotion", "genre", "target")
_TEXTS = ("transcript", "transcription", "sentence", "text", "caption", "reference", "ground_truth", "gold")
_USUAL = {
    "audio": (
        *("audio", "filename", "file_name", "file", "path", "filepath", "file_path", "audio_path", "audio_file"),
        *("audio_filepath", "audio_filename", "wav", "wav_path", "clip", "clip_path", "recording", "slice_file_name"),
    ),
    "answer": (*_LABELS, *_TEXTS),
}
"""What other people call the columns that every data set needs, the likeliest first."""
_MOST_NAMES = 1_000
_MOST_SHOWN = 20


@dataclass(frozen=True)
class Columns:
    """How a user says where a sample's fields are."""

    path: str
    """As it was written; for the calls that mistakes advise."""
    keywords: Mapping[str, str | Sequence[str] | None]
    """Those that the user gave in addition."""
    audio: tuple[str, ...] = ("audio",)
    """The column of the audio where none is named: the first of these that there is."""
    answer: tuple[str, ...] = ("answer",)
    """That of the answer, the same."""

    @property
    def named(self) -> dict[str, str]:
        """The columns that were named, by field."""
        named = {name: self.keywords.get(name) for name in ("id", "audio", "answer", "references", "choices")}
        if named["choices"] == FROM_ANSWERS:
            del named["choices"]
        return {name: column for name, column in named.items() if isinstance(column, str)}

    def of_audiofolder(self) -> Columns:
        """The same, where the audio is in the column of that name in Hugging Face's layout."""
        return replace(self, audio=("file_name", "file_names"))

    def call(self, path: str | None = None, **more: str) -> str:
        """The call of ``manifest`` as it was, with another path or ``more`` keywords."""
        keywords = {**{name: value for name, value in self.keywords.items() if value is not None}, **more}
        texts = [json.dumps(self.path if path is None else path, ensure_ascii=False)]
        texts += [f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in keywords.items()]
        return f"manifest({', '.join(texts)})"

    def fields(self, place: str, names: Sequence[str], kind: str, mistakes: Mistakes) -> dict[str, str]:
        """The column of each field, among the ``names`` of a file's header or first object, of which ``kind`` says what
        they are called. What is missing is added to ``mistakes``.
        """
        known = dict.fromkeys(names[:_MOST_NAMES])
        for name, column in self.named.items():
            if column not in names:
                mistakes.add(f"{place} has no {kind} {column!r}, which {name}= names", column, known, it_has(names))
        columns = {name: name for name in ("id", "question", "choices")}
        for field, usual in (("audio", self.audio), ("answer", self.answer)):
            if present := [name for name in usual if name in names]:
                columns[field] = present[0]
        columns |= self.named
        question = self.keywords.get("question")
        if isinstance(question, str) and question in names:
            columns["question"] = question
        required = ("audio",) if "references" in columns else ("audio", "answer")
        if missing := [name for name in required if name not in columns]:
            self._add_missing(place, missing, names, set(columns.values()), kind, mistakes)
        return columns

    def _add_missing(
        self, place: str, missing: list[str], names: Sequence[str], used: set[str], kind: str, mistakes: Mistakes
    ) -> None:
        lacking = " and ".join(f"no {kind} {name!r}" for name in missing)
        sentence = f"{place} has {lacking} ({it_has(names)})"
        if any(name.lower().endswith(ENDINGS) for name in names[:_MOST_NAMES]):
            mistakes.add(f"{sentence}; write a header above its rows, such as {','.join(missing)}")
            return
        more: dict[str, str] = {}
        likely = self.likely(missing, names, used)
        for name in missing:
            more[name] = likely.get(name, "…")
        label = likely.get("answer", "")
        if _plain(label) in _LABELS and self.keywords.get("choices") is None and "choices" not in names:
            more["choices"] = FROM_ANSWERS
            if self.keywords.get("question") is None and "question" not in names:
                more["question"] = f"Which {label} is it?"
        advice = "read it with" if len(likely) == len(missing) else f"add it, or name the {kind} that holds it:"
        mistakes.add(f"{sentence}; {advice} {self.call(**more)}, or with these keys in a TOML file")

    def differ(self, names: Sequence[str]) -> bool:
        """Whether the fields of objects with these ``names`` are not, or seem not to be, in keys of their own names."""
        missing = [name for name in ("audio", "answer") if name not in names]
        usual = {text for name in missing for text in _USUAL[name]}
        if self.named or self.audio != ("audio",) or self.keywords.get("question") in names:
            return True
        return any(_plain(name) in usual for name in names[:_MOST_NAMES])

    @staticmethod
    def likely(missing: Sequence[str], names: Sequence[str], used: set[str]) -> dict[str, str]:
        """Which of ``names`` seem to hold the ``missing`` fields, without those that are ``used``."""
        plain = {_plain(name): name for name in reversed(names[:_MOST_NAMES]) if name not in used}
        columns: dict[str, str] = {}
        for name in missing:
            usual = [text for text in _USUAL[name] if text in plain]
            if not usual:
                usual = [near for text in _USUAL[name] for near in difflib.get_close_matches(text, plain, 1, 0.8)]
            if usual:
                columns[name] = plain.pop(usual[0])
        return columns


def mapped(row: Row, fields: Mapping[str, str]) -> Row:
    """The object ``row`` with the names that a manifest's fields have; its other plain values are metadata."""
    used = set(fields.values())
    others = {key: value for key, value in row.items() if key not in used and not isinstance(value, (dict, list, Clip))}
    own = row.get("metadata")
    others |= own if isinstance(own, dict) and "metadata" not in used else {}
    return {**{name: row[column] for name, column in fields.items() if column in row}, "metadata": others}


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", name[:80].lower()).strip("_")


def it_has(names: Sequence[str]) -> str:
    """The columns that a file has, for the end of a sentence."""
    return f"it has {listed([repr(name[:80]) for name in names], _MOST_SHOWN)}"
