"""The steps of BEANS-Next that put a label in place of a text: nearest, contained, or near enough.

Facts from github earthspecies/beans-next, beans_next/post_process/cleaners.py (0.1.0). "Lower" is ``str.lower``, and
distances are Levenshtein's; equal distances go to the label that sorts first.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from pytest_audiobench.errors import UsageError


class PipelineError(UsageError):
    """A post-processing step that is unknown, or that cannot work with the parameters it was given."""


class Segments(NamedTuple):
    """The pieces of an answer, and what a step had to say about those it could not keep."""

    segments: tuple[str, ...]
    warnings: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The pieces in one line, as BEANS-Next stores and scores them."""
        return ", ".join(self.segments)


def need_labels(step: str, labels: Sequence[str]) -> None:
    if not labels:
        raise PipelineError(f"{step} needs at least one label")


_LEAD_IN_WORDS = "a an the definitely probably likely maybe it is sounds sound like detected detect i hear hearing"
_LEAD_IN = frozenset(_LEAD_IN_WORDS.split())
_ALONE = r"(?<![0-9a-z_]){}(?![0-9a-z_])"
_NO_WORD = re.compile(r"[^0-9a-z_\s\-]")


def fuzzy_match_to_labels(
    segments: Sequence[str],
    *,
    labels: Sequence[str],
    apply_threshold: bool = False,
    max_distance: int = 5,
    default_label: str = "None",
) -> Segments:
    """The nearest label for each segment, case and all; with ``apply_threshold`` none beyond ``max_distance``."""
    _check("fuzzy_match_to_labels", labels, max_distance)
    ordered = _sorted_labels(tuple(labels))
    labels_found, warnings = [], []
    for segment in segments:
        label, distance = nearest(segment, ordered)
        if apply_threshold and distance > max_distance:
            label = _default("fuzzy_match_to_labels", default_label)
            warnings.append(f"fuzzy_match_to_labels: no label within {max_distance} of {segment[:80]!r}")
        labels_found.append(label)
    return Segments(tuple(labels_found), tuple(warnings))


def extract_label_from_text(
    segments: Sequence[str],
    *,
    labels: Sequence[str],
    apply_threshold: bool = False,
    max_distance: int = 5,
    default_label: str = "None",
) -> Segments:
    """The label that the segment is, else the longest that it contains, else the nearest, all in lower case."""
    _check("extract_label_from_text", labels, max_distance)
    by_spelling, ordered = _by_lower(tuple(labels))
    labels_found, warnings = [], []
    for segment in segments:
        lower = segment.lower().strip()
        if (label := by_spelling.get(lower) or _label_within(lower, by_spelling)) is None:
            near, distance = nearest(lower, ordered)
            label = by_spelling[near]
            if apply_threshold and distance > max_distance:
                label = _default("extract_label_from_text", default_label)
                warnings.append(f"extract_label_from_text: no label within {max_distance} of {segment[:80]!r}")
        labels_found.append(label)
    return Segments(tuple(labels_found), tuple(warnings))


def conservative_match_to_labels(
    segments: Sequence[str],
    *,
    labels: Sequence[str],
    max_distance: int = 2,
    allow_fuzzy: bool = True,
    drop_unmatched: bool = True,
) -> Segments:
    """As :func:`extract_label_from_text` without lead-in words, but a segment beyond ``max_distance`` is dropped.

    Letters outside of a to z do not count.
    """
    _check("conservative_match_to_labels", labels, max_distance)
    by_spelling, ordered = _by_lower(tuple(label.strip() for label in labels if label.strip()))
    need_labels("conservative_match_to_labels", list(by_spelling))
    labels_found, warnings = [], []
    for segment in segments:
        if not segment.strip():
            continue
        words = _NO_WORD.sub(" ", segment.strip().lower()).split()
        first = next((place for place, word in enumerate(words[:-1]) if word not in _LEAD_IN), max(len(words) - 1, 0))
        core = " ".join(words[first:])
        if (label := by_spelling.get(core) or _label_within(core, by_spelling)) is None and allow_fuzzy:
            near, distance = nearest(core, ordered)
            if distance <= max_distance:
                label = by_spelling[near]
            else:
                warnings.append(f"conservative_match_to_labels: dropped {segment.strip()[:80]!r}")
        if label is not None:
            labels_found.append(label)
        elif not drop_unmatched:
            labels_found.append(segment.strip())
    return Segments(tuple(labels_found), tuple(warnings))


def nearest(text: str, ordered: Sequence[str]) -> tuple[str, int]:
    """Of ``ordered``, which must be sorted, the text of the least Levenshtein distance, and that distance.

    The one that sorts first among several as near.
    """
    from rapidfuzz.distance import Levenshtein
    from rapidfuzz.process import extractOne

    label, distance, _ = extractOne(text, ordered, scorer=Levenshtein.distance)
    return str(label), int(distance)


def _label_within(lower: str, by_spelling: Mapping[str, str]) -> str | None:
    """The longest label within the text; one of up to two characters must stand alone."""
    for label, as_given in by_spelling.items():
        if label in lower and (len(label) > 2 or re.search(_ALONE.format(re.escape(label)), lower)):
            return as_given
    return None


@lru_cache(maxsize=256)
def _by_lower(labels: tuple[str, ...]) -> tuple[Mapping[str, str], tuple[str, ...]]:
    """Labels by their lower case, the longest first, and the lower cases in order."""
    by_spelling: dict[str, str] = {}
    for label in labels:
        by_spelling.setdefault(label.lower(), label)
    longest_first = {lower: by_spelling[lower] for lower in sorted(by_spelling, key=len, reverse=True)}
    return longest_first, _sorted_labels(tuple(by_spelling))


@lru_cache(maxsize=256)
def _sorted_labels(labels: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted(set(labels)))


def _check(step: str, labels: Sequence[str], max_distance: int) -> None:
    need_labels(step, labels)
    if max_distance < 0:
        raise PipelineError(f"{step} needs a distance of 0 or more, not {max_distance}")


def _default(step: str, label: str) -> str:
    if not label:
        raise PipelineError(f"{step} needs a label for what it rejects")
    return label
