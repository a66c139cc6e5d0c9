"""The steps of BEANS-Next's post-processing but for the matching of labels, as published.

They split at commas, collapse space, cut at the end's token, and find a binomial name, a letter or a bucket of Hz.
Facts from github earthspecies/beans-next, beans_next/post_process/{parsers,cleaners}.py (0.1.0).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from pytest_audiobench.protocols.bioacoustic.matching import (
    PipelineError,
    Segments,
    extract_label_from_text,
    need_labels,
)

END_TOKEN = "<|end_of_text|>"

_SPACE = re.compile(r"\s+")


def parse_labels_comma(segments: Sequence[str], *, separator: str = ",", keep_empty: bool = False) -> Segments:
    """Every segment split at ``separator``, a comma between two digits ("1,654") excepted; empty pieces dropped."""
    if not separator:
        raise PipelineError("parse_labels_comma needs a separator")
    pieces = [
        piece.strip()
        for segment in segments
        for piece in (_at_commas(segment) if separator == "," else segment.split(separator))
    ]
    kept = tuple(piece for piece in pieces if piece or keep_empty)
    return Segments(kept, () if kept or not segments else ("parse_labels_comma found nothing between the commas",))


def _at_commas(segment: str) -> list[str]:
    pieces, start = [], 0
    for place, character in enumerate(segment):
        if character == "," and not (segment[place - 1 : place].isdigit() and segment[place + 1 : place + 2].isdigit()):
            pieces.append(segment[start:place])
            start = place + 1
    return [*pieces, segment[start:]]


def normalize_whitespace(segments: Sequence[str]) -> Segments:
    """Runs of white space become one space; none at either end."""
    return Segments(tuple(_SPACE.sub(" ", segment).strip() for segment in segments))


def strip_eos(segments: Sequence[str], *, eos_token: str = END_TOKEN) -> Segments:
    """Each segment up to the first ``eos_token``; the space before it stays."""
    if not eos_token:
        raise PipelineError("strip_eos needs a token")
    return Segments(tuple(segment.partition(eos_token)[0] for segment in segments))


TIMES = re.compile(r"^\s*(?:#\s*)?\d+(?:\.\d+)?\s*(?:s\s*)?-\s*\d+(?:\.\d+)?\s*(?:s\s*)?(?:#\s*)?:\s*", re.I | re.M)
_MARKS = re.compile(r"[*_`]")
_NO_NAME = re.compile(r"[^a-z0-9\s\-.]")
_WHOLE_NAME = 0.25

_OPEN = r"[*_`(\[]*"
_LETTER = r"(?P<letter>[a-z])\b"
_STATEMENTS = (
    re.compile(
        r"(?:^|\b)(?:final\s+answer|answer|correct\s+(?:option|choice|description)|selected\s+option|i\s+choose|i\s+pick)"
        rf"\s*(?:(?:is|:|-)\s*)?(?:option\s*)?{_OPEN}{_LETTER}",
        re.I | re.M,
    ),
    re.compile(
        rf"(?:^|\b)(?:correct|best)\s+(?:match|option|choice|description)\s*(?:is|:|-)\s*{_OPEN}{_LETTER}", re.I | re.M
    ),
    re.compile(rf"(?:^|\b){_OPEN}{_LETTER}[*_`)\]]*\s*$", re.I | re.M),
    re.compile(rf"\b(?:option|choice|description)\s*{_LETTER}", re.I | re.M),
    re.compile(r"(?<![0-9A-Za-z_])(?P<letter>[A-Z])(?![0-9A-Za-z_])"),
)
_OPENING, _CLOSING = " \t\n\r\f\v*_`([{<", " \t\n\r\f\v*_`)]}>.!?:;,'\""

_BUCKET = re.compile(r"\s*(\d+)\s*hz\s*\Z", re.I)
_RANGE_HZ = re.compile(r"(\d{3,6})\s*-\s*(\d{3,6})\s*hz\b", re.I)
_NUMBER = re.compile(r"(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?")


def extract_scientific_name_from_text(
    segments: Sequence[str], *, labels: Sequence[str], min_score: float = 1.0
) -> Segments:
    """The label of whose words the segment has the largest share, a quarter more where they stand together in order.

    Below ``min_score`` the segment stays as it is; equal scores go to the label of more words, then to the first.
    """
    need_labels("extract_scientific_name_from_text", labels)
    if min_score <= 0:
        raise PipelineError(f"extract_scientific_name_from_text needs a score above 0, not {min_score}")
    names = [(label, label.lower().split()) for label in labels]
    return Segments(tuple(_binomial(segment, names, min_score) for segment in segments))


def _binomial(segment: str, names: Sequence[tuple[str, list[str]]], min_score: float) -> str:
    text = " ".join(_NO_NAME.sub(" ", _MARKS.sub(" ", TIMES.sub("", segment)).lower()).split())
    words = set(text.split())
    best, label = (0.0, 0), segment
    for name, parts in names:
        if min_score > _WHOLE_NAME and words.isdisjoint(parts):
            continue
        share = sum(part in words for part in parts) / len(parts) if parts else 0.0
        score = share + (_WHOLE_NAME if parts and " ".join(parts) in text else 0.0)
        if (score, len(parts)) > best:
            best, label = (score, len(parts)), name
    return label if best[0] >= min_score else segment.strip()


def extract_mcq_choice_from_text(segments: Sequence[str], *, labels: Sequence[str]) -> Segments:
    """The letter that the segment is, states, ends with or mentions last, else what the general extraction finds."""
    need_labels("extract_mcq_choice_from_text", labels)
    letters: dict[str, str] = {}
    for label in labels:
        letters.setdefault(label.lower(), label)
    return Segments(tuple(_letter(segment, letters) or _any_label(segment, labels) for segment in segments))


def _letter(segment: str, letters: Mapping[str, str]) -> str | None:
    core = segment.strip().lstrip(_OPENING).rstrip(_CLOSING).lower()
    if len(core) == 1 and core.isalpha() and core in letters:
        return letters[core]
    for statement in _STATEMENTS:
        for match in reversed(list(statement.finditer(segment))):
            if (letter := match["letter"].lower()) in letters:
                return letters[letter]
    return None


def extract_hz_bucket_from_text(segments: Sequence[str], *, labels: Sequence[str]) -> Segments:
    """The bucket nearest to the segment's last number, or to the middle of a range; the lower of two as near.

    A range whose ends are both 1,000 or more is taken for tenths of a Hz. Without a number, and where no label is a
    bucket ("400 Hz"), what the general extraction finds.
    """
    need_labels("extract_hz_bucket_from_text", labels)
    buckets = sorted((float(match[1]), label.strip()) for label in labels if (match := _BUCKET.match(label)))
    if not buckets:
        return extract_label_from_text(segments, labels=labels)
    return Segments(tuple(_bucket(segment, buckets) or _any_label(segment, labels) for segment in segments))


def _bucket(segment: str, buckets: Sequence[tuple[float, str]]) -> str | None:
    if ends := _RANGE_HZ.search(segment):
        low, high = float(ends[1]), float(ends[2])
        hz = (low + high) / 2 * (0.1 if min(low, high) >= 1000 and max(low, high) <= 50000 else 1.0)
    elif numbers := _NUMBER.findall(segment):
        hz = float(numbers[-1].replace(",", ""))
    else:
        return None
    return min(buckets, key=lambda bucket: abs(hz - bucket[0]))[1]


def _any_label(segment: str, labels: Sequence[str]) -> str:
    return extract_label_from_text((segment,), labels=labels).segments[0]
