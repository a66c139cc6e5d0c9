"""The steps of BEANS-Next that know no labels: splitting at commas, collapsing space, cutting at the end's token.

Facts from github earthspecies/beans-next, beans_next/post_process/{parsers,cleaners}.py (0.1.0).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from pytest_audiobench.protocols.bioacoustic.segments import PipelineError, Segments

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
