"""A pack: labels, each with clips, and how many mixtures and distractors are drawn of it; its manifest, checked.

The manifest's fields are those of github THENIROCK/audiobench (``src/audiobench/data/sound_id/packs/*.json``), whose
files are read as they were published.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pytest_audiobench.audio.clip import Clip
from pytest_audiobench.datasets.packs.labels import slug
from pytest_audiobench.datasets.places import relative_path
from pytest_audiobench.errors import UsageError
from pytest_audiobench.io.mistakes import Mistakes
from pytest_audiobench.io.user_documents import read_document

CONDITIONS: Mapping[str, int] = {"solo": 1, "pair": 2, "triple": 3, "quad": 4}
"""How many sources a mixture of each condition has."""

_COUNTS = MappingProxyType(dict.fromkeys(CONDITIONS, 20))
MOST_MIXTURES = 10_000
_MOST_LABELS, _LONGEST_TEXT = 10_000, 2_000
NAME = re.compile(r"\w[\w.-]*")


@dataclass(frozen=True)
class PackManifest:
    """The manifest of a pack."""

    id: str
    title: str = ""
    source: str = ""
    license: str = ""
    license_tag: str = ""
    scope_note: str = ""
    labels: tuple[str, ...] = ()
    """Slugs; without any, those that have clips."""
    clip_resolver: str = "user-cache"
    """"procedural" (the sounds that come with this package) or "user-cache" (files)."""
    cache_subdir: str | None = None
    expected_layout: str | None = None
    mixture_counts: Mapping[str, int] = field(default_factory=lambda: _COUNTS)
    demo_fast_mixture_counts: Mapping[str, int] | None = None
    """The published short profile's, for the record."""
    distractor_count: int = 2
    clips_per_label: int | None = None
    """So many of each label's first clips are used; all where it is None."""


@dataclass(frozen=True)
class Pack:
    """A pack with its clips."""

    manifest: PackManifest
    clips: Mapping[str, tuple[Clip, ...]]
    """By label, in the manifest's order."""
    where: str

    @property
    def id(self) -> str:
        return self.manifest.id


def pack_of(manifest: PackManifest, clips: Mapping[str, tuple[Clip, ...]], where: str) -> Pack:
    """The pack of ``manifest`` with its ``clips`` by label.

    Raises UsageError for a label without a clip, a clip of two labels, and a pack without labels.
    """
    labels = manifest.labels or tuple(clips)
    if not labels:
        raise UsageError(f"{where} holds no sound: put clips into sub-folders that are named by what is heard in them")
    mistakes = Mistakes()
    for label in labels:
        if not clips.get(label):
            mistakes.add(
                f"the pack {manifest.id} ({where}) has no clip of its label {label!r}: add one, or take the label out "
                "of its labels",
                label,
                clips,
                "" if clips else "it has no clips at all",
            )
    label_of: dict[Clip, str] = {}
    for label in labels:
        for clip in clips.get(label, ()):
            if (other := label_of.setdefault(clip, label)) != label:
                mistakes.add(
                    f"the pack {manifest.id} ({where}) has the clip {clip} under {other} and under {label}; a clip of "
                    "a pack has one label, or it would be wrong to hear the other: leave it out"
                )
    mistakes.check()
    return Pack(manifest, {label: clips[label][: manifest.clips_per_label] for label in labels}, where)


def read_manifest(path: Path) -> PackManifest:
    """The manifest in ``path``, a JSON file. Raises UsageError with the field and the remedy of each mistake."""
    content = read_document(path)
    if not isinstance(content, dict):
        raise UsageError(f"{path} is not a JSON object; write the pack's fields into one")
    mistakes = Mistakes()
    likely_keys = mistakes.check_keys(str(path), content, [spec.name for spec in fields(PackManifest)])
    values = _Fields(path, content, mistakes)
    manifest = PackManifest(
        id="" if "id" in likely_keys else values.name("id"),
        labels=values.labels("labels"),
        clip_resolver=values.one_of("clip_resolver", ("user-cache", "procedural")),
        cache_subdir=values.folder("cache_subdir"),
        expected_layout=values.text("expected_layout") or None,
        mixture_counts=_COUNTS if (counts := values.counts("mixture_counts")) is None else counts,
        demo_fast_mixture_counts=values.counts("demo_fast_mixture_counts"),
        distractor_count=values.whole_number("distractor_count", least=0, default=2),
        clips_per_label=values.whole_number("clips_per_label", least=1, default=None),
        **{name: values.text(name) for name in ("title", "source", "license", "license_tag", "scope_note")},
    )
    mistakes.check()
    return manifest


class _Fields:
    """The fields of a manifest; one that is wrong adds a mistake and is any value."""

    def __init__(self, path: Path, values: Mapping[str, Any], mistakes: Mistakes) -> None:
        self._path, self._values, self._mistakes = path, values, mistakes

    def text(self, name: str) -> str:
        value = self._values.get(name)
        if value is None:
            return ""
        if not isinstance(value, str) or len(value) > _LONGEST_TEXT:
            self._wrong(name, f"is not a text of at most {_LONGEST_TEXT} characters", "write it as text, in quotes")
            return ""
        return value.strip()

    def name(self, name: str) -> str:
        value = self.text(name)
        if not NAME.fullmatch(value):
            self._wrong(name, f"is {value[:80]!r}", "name the pack with letters, digits, -, _ and .")
        return value

    def one_of(self, name: str, allowed: tuple[str, ...]) -> str:
        value = self.text(name) or allowed[0]
        if value not in allowed:
            self._wrong(name, f"is {value[:80]!r}", f"write {' or '.join(allowed)}")
        return value

    def folder(self, name: str) -> str | None:
        value = self.text(name)
        try:
            return relative_path(value) if value else None
        except ValueError as error:
            self._wrong(name, f"cannot be used: {error}", "name a folder inside the pack's")
            return None

    def labels(self, name: str) -> tuple[str, ...]:
        if name not in self._values:
            return ()
        value = self._values[name]
        if not isinstance(value, list) or not value or not all(isinstance(label, str) for label in value):
            self._wrong(name, "is not a list of texts", "list what is heard, or leave it out")
            return ()
        if len(value) > _MOST_LABELS:
            self._wrong(name, f"lists more than {_MOST_LABELS}", "split the pack")
        slugs: set[str] = set()
        for written, label in zip(value, map(slug, value), strict=True):
            if not label:
                self._wrong(name, f"holds {written[:80]!r}, which has no letter or digit", "name the sound")
            elif label in slugs:
                self._wrong(name, f"holds {label[:80]!r} twice", "keep one")
            slugs.add(label)
        return tuple(map(slug, value))

    def counts(self, name: str) -> Mapping[str, int] | None:
        value = self._values.get(name)
        if value is None:
            return None
        if not isinstance(value, dict):
            self._wrong(name, "is not an object", 'write {"solo": 10, "pair": 10}')
            return None
        for condition, count in value.items():
            if condition not in CONDITIONS:
                sentence = f"{self._path}: its {name!r} counts {condition[:80]!r}"
                self._mistakes.add(sentence, condition, CONDITIONS, f"the conditions are {', '.join(CONDITIONS)}")
            elif type(count) is not int or not 0 <= count <= MOST_MIXTURES:
                self._wrong(name, f"gives {str(count)[:80]} for {condition}", f"write 0 to {MOST_MIXTURES}")
        return MappingProxyType(dict(value))

    def whole_number(self, name: str, least: int, default: Any) -> Any:
        value = self._values.get(name)
        if value is None:
            return default
        if type(value) is not int or not least <= value <= _MOST_LABELS:
            self._wrong(name, f"is {str(value)[:80]}", f"write a whole number from {least} to {_MOST_LABELS}")
        return value

    def _wrong(self, name: str, what: str, remedy: str) -> None:
        self._mistakes.add(f"{self._path}: its {name!r} {what}; {remedy}")
