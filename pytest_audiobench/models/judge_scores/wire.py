"""The judge_scores_v1 contract of BEANS-Next: what is sent, and what of a reply is believed.

Facts from ``beans_next/judges/http_schemas.py`` and ``client.py`` of earthspecies/beans-next: ids are matched whatever
their order; one that is missing, unknown or there twice breaks the contract, as does a score outside 0 to 1 or none
where no error is reported; an item's own error is that item's alone.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pytest_audiobench.models.judge_scores.parts import RubricParts
from pytest_audiobench.models.messages import Response
from pytest_audiobench.models.predictions_v1.reply import Breach, in_order, quotation, words

SCHEMA = "judge_scores_v1"
_LONGEST_RATIONALE = 10_000


class Item(NamedTuple):
    """One answer to be scored, by the id under which the server answers."""

    wire_id: str
    parts: RubricParts


def body(items: Sequence[Item]) -> bytes:
    """The request for a batch. Lone surrogates, which JSON can hold and UTF-8 cannot, travel as escapes."""
    content = [
        {
            "sample_id": wire_id,
            "rubric": parts.rendered,
            "reference_text": parts.reference,
            "candidate_text": parts.candidate,
        }
        for wire_id, parts in items
    ]
    return json.dumps({"schema_version": SCHEMA, "items": content}, separators=(",", ":")).encode()


def responses(reply: bytes, wire_ids: Sequence[str]) -> list[Response]:
    """The verdicts in the batch's own order, each as the JSON that a chat model is asked for.

    Raises Breach, naming the field, when they are not exactly one well-formed one for each, Garbled for what is no
    JSON.
    """
    return in_order(reply, SCHEMA, "items", wire_ids, _response, "scored", "answers have no score")


def _response(item: Mapping[str, Any], place: str) -> Response:
    error, rationale, score = item.get("error"), item.get("rationale"), item.get("score")
    for name, value in (("error", error), ("rationale", rationale)):
        if value is not None and not isinstance(value, str):
            raise Breach(f"{name} of {place} is {quotation(value)}, not a text")
    if error and error.strip():
        return Response(error=f"the judge could not score this answer: {words(error)}")
    if isinstance(score, bool) or not isinstance(score, (int, float)) or not math.isfinite(score):
        raise Breach(f"score of {place} is {quotation(score)}, not a number")
    if not 0.0 <= score <= 1.0:
        raise Breach(f"score of {place} is {quotation(score)}, outside 0 to 1")
    verdict = {"score": score, "rationale": (rationale or "")[:_LONGEST_RATIONALE]}
    return Response.of(json.dumps(verdict, ensure_ascii=False))
