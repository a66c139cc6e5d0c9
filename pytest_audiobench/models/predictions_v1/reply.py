"""What a predictions_v1 server says, read with suspicion: every field is checked before it is believed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from pytest_audiobench.models.messages import Finish, Output, Part, Response
from pytest_audiobench.models.predictions_v1.request import PAYLOADS, SCHEMA, Payload

DEFAULT_BATCH, MOST_BATCH = 8, 512
"""Requests in one call to a server that does not say how many it takes, and to any server."""

_LOADING = frozenset({"loading", "starting", "initializing", "initialising", "downloading", "pending", "warming_up"})
_FAILED = frozenset({"failed", "error"})
_FINISH: Mapping[str, Finish] = {
    "stop": "stop",
    "eos": "stop",
    "eos_token": "stop",
    "end_turn": "stop",
    "length": "length",
    "max_tokens": "length",
    "max_length": "length",
    "refusal": "refusal",
    "content_filter": "refusal",
}
_COUNTED = ("prompt_tokens", "completion_tokens")
_LONGEST_NAME = 300
_LONGEST_WORDS = 500
_MOST_COUNTS = 32
_LARGEST = 2**53
_LONGEST_LATENCY_S = 1e9


class Garbled(Exception):
    """A reply that is not JSON: it may have been cut on its way, so another try is worth making."""


class Breach(Exception):
    """A reply that breaks the contract; the message names the field."""


class Info(NamedTuple):
    """``GET /info``: who the server is and what it takes.

    ``proof`` is the digest of a server's own ``fingerprint``, an object which the contract does not ask for and ours
    tell: it holds digests of all that answers depend on.
    ``hears`` is what a server of ours says has proven that its model hears; "" for nothing.
    ``state`` is "ready", "loading" or "failed"; ``said`` what it tells about that.
    """

    name: str
    model: str
    revision: str
    payloads: tuple[Payload, ...]
    max_batch: int
    proof: str
    load_status: str
    state: str
    said: str
    passes_on: bool = False
    """Whether it is a server of ours before a model of which it knows the name alone."""
    hears: str = ""

    @property
    def identity(self) -> dict[str, str]:
        """All that distinguishes this server's answers from another's. A stub of a model is not the model.

        Names count only where there is no better: equal weights in another folder are the same model.
        """
        names = {"name": self.name, "model": self.model, "model_revision": self.revision}
        identity = {"server_fingerprint": self.proof} if self.proof else names
        return identity | ({"load_status": "stub"} if self.load_status == "stub" else {})

    @property
    def names(self) -> str:
        """The server's names, for people."""
        parts = (self.name, self.model, self.revision, f"fingerprint {self.proof[:12]}" if self.proof else "")
        return " ".join(name for name in (*parts, "stub" if self.load_status == "stub" else "") if name)


def words(text: object, most: int = _LONGEST_WORDS) -> str:
    """A server's words as one short printable line."""
    line = " ".join(str(text)[: 4 * most].split())
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in line)[:most]


def quotation(value: object) -> str:
    """A value of a server's as it would be written, cut short."""
    return words(repr(value), 80)


def loads(body: bytes) -> Any:
    """JSON of a server. Raises Garbled for what is none, Breach for NaN and infinities, which JSON has not."""
    try:
        return json.loads(body, parse_constant=_refuse_constant)
    except Breach:
        raise
    except (ValueError, RecursionError) as error:
        start = words(body[:200].decode("utf-8", "replace"), 80)
        raise Garbled(f"no JSON ({words(error, 80)}; it starts with {start!r})") from None


def changed(body: bytes, change: Callable[[str], str]) -> bytes:
    """JSON with ``change`` done to its texts, however they are escaped; what is no JSON is one text."""

    def rewrite(value: Any) -> Any:
        if isinstance(value, str):
            return change(value)
        if isinstance(value, list):
            return [rewrite(item) for item in value]
        return {change(name): rewrite(item) for name, item in value.items()} if isinstance(value, dict) else value

    try:
        content = json.loads(body)
        rewritten = rewrite(content)
    except (ValueError, RecursionError):
        return change(body.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
    return body if rewritten == content else json.dumps(rewritten).encode()


def info(body: bytes) -> Info:
    """Raises Breach, naming the field, when the server cannot be identified or speaks another schema."""
    content = loads(body)
    if not isinstance(content, dict):
        raise Breach(f"/info is {_kind(content)}, not an object")
    status = words(content.get("load_status") or "", 40).lower()
    # A stub has no weights to name, and differs from the model that it replaces by being one.
    names = {"model": "stub", "model_revision": "stub"} if status == "stub" else {}
    filled = {**content, **{key: text for key, text in names.items() if content.get(key) == ""}}
    name, model, revision = (_name(filled, field) for field in ("name", "model", "model_revision"))
    versions = content.get("schema_versions")
    if not isinstance(versions, list) or SCHEMA not in versions:
        raise Breach(f"schema_versions of /info is {quotation(versions)}, which does not hold {SCHEMA!r}")
    stage, error = words(content.get("loading_stage") or ""), words(content.get("last_error") or "")
    state = "failed" if status in _FAILED else "loading" if status in _LOADING else "ready"
    note = error if state == "failed" else stage
    proof, identity = "", content.get("fingerprint")
    if isinstance(identity, dict) and identity:
        proof = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()
    hearing = content.get("hearing")
    return Info(
        name,
        model,
        revision,
        _payloads(content),
        _most_batch(content),
        proof,
        status,
        state,
        note,
        content.get("is_mere_name") is True,
        words(hearing.get("evidence") or "") if isinstance(hearing, dict) and hearing.get("status") == "proven" else "",
    )


def responses(body: bytes, wire_ids: Sequence[str]) -> list[Response]:
    """The answers to a batch in its own order. Raises Breach when they are not exactly one well-formed one for each."""
    return in_order(body, SCHEMA, "responses", wire_ids, _response, "answered", "requests have no answer")


def in_order(
    body: bytes,
    schema: str,
    field: str,
    wire_ids: Sequence[str],
    read: Callable[[Mapping[str, Any], str], Response],
    done: str,
    lack: str,
) -> list[Response]:
    """What ``read`` makes of the objects of the list ``field``, and of the place of each, in the order of ``wire_ids``.

    Raises Breach, naming the field, when they are not exactly one for each, in words that say what was ``done`` to a
    second one and what the ``lack`` of one is; Garbled for what is no JSON.
    """
    content = loads(body)
    if not isinstance(content, dict) or not isinstance(content.get(field), list):
        raise Breach(f"the reply has no list `{field}`")
    if content.get("schema_version") != schema:
        raise Breach(f"schema_version of the reply is {quotation(content.get('schema_version'))}, not {schema!r}")
    responses_by_id: dict[str, Response] = {}
    expected = set(wire_ids)
    for number, item in enumerate(content[field]):
        place = f"{field}[{number}]"
        if not isinstance(item, dict):
            raise Breach(f"{place} is {_kind(item)}, not an object")
        wire_id = item.get("sample_id")
        if not isinstance(wire_id, str) or wire_id not in expected:
            raise Breach(f"sample_id of {place} is {quotation(wire_id)}, which was not asked about")
        if wire_id in responses_by_id:
            raise Breach(f"sample_id of {place} is {quotation(wire_id)}, which was {done} before")
        responses_by_id[wire_id] = read(item, place)
    if missing := [wire_id for wire_id in wire_ids if wire_id not in responses_by_id]:
        raise Breach(f"{len(missing)} of {len(wire_ids)} {lack}, the first {missing[0]!r}")
    return [responses_by_id[wire_id] for wire_id in wire_ids]


def refusal(body: bytes) -> str:
    """Why a server refused, in its own words: the usual fields of a JSON error, else the text itself."""
    try:
        content = loads(body)
    except (Breach, Garbled):
        return words(body[: 4 * _LONGEST_WORDS].decode("utf-8", "replace"))
    for field in ("detail", "error", "message"):
        if isinstance(content, dict) and content.get(field):
            content = content[field]
    return words(content if isinstance(content, str) else json.dumps(content))


def _response(item: Mapping[str, Any], place: str) -> Response:
    texts = item.get("predictions")
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise Breach(f"predictions of {place} is {quotation(texts)}, not a list of texts")
    error = _optional(item, "error", str, place)
    finish = _optional(item, "finish_reason", str, place)
    usage = _counts(_optional(item, "usage", dict, place) or {}, place)
    if (latency_s := item.get("latency_sec")) is not None:
        is_number = isinstance(latency_s, (int, float)) and not isinstance(latency_s, bool)
        if not is_number or not 0 <= latency_s < _LONGEST_LATENCY_S:
            raise Breach(f"latency_sec of {place} is {quotation(latency_s)}, not a number of seconds")
        latency_s = float(latency_s)
    if error and error.strip():
        return Response(error=words(error), latency_s=latency_s)
    if not texts:
        return Response(error="the server gave neither a prediction nor an error", latency_s=latency_s)
    ended = _FINISH.get((finish or "").lower(), "unknown")
    outputs = tuple(Output((Part("text", text),), ended) for text in texts)
    return Response(outputs=outputs, usage=usage, latency_s=latency_s)


def _counts(usage: Mapping[str, Any], place: str) -> dict[str, int]:
    for name in _COUNTED:
        count = usage.get(name)
        if count is not None and not _is_count(count):
            raise Breach(f"{name} in the usage of {place} is {quotation(count)}, not a count")
    counts = [(name, count) for name, count in usage.items() if _is_count(count) and len(name) <= _LONGEST_NAME]
    return dict(counts[:_MOST_COUNTS])


def _optional(item: Mapping[str, Any], field: str, kind: type, place: str) -> Any:
    value = item.get(field)
    if value is not None and not isinstance(value, kind):
        raise Breach(f"{field} of {place} is {quotation(value)}, of the wrong type")
    return value


def _name(info: Mapping[str, Any], field: str) -> str:
    value = info.get(field)
    if not isinstance(value, str) or not value.strip() or len(value) > _LONGEST_NAME:
        raise Breach(f"{field} of /info is {quotation(value)}; the server's answers would not be identified")
    return words(value, _LONGEST_NAME)


def _payloads(info: Mapping[str, Any]) -> tuple[Payload, ...]:
    if (listed := info.get("audio_payload_types")) is None:
        return ("base64_wav",)
    known = tuple(payload for payload in PAYLOADS if isinstance(listed, list) and payload in listed)
    if not known:
        raise Breach(f"audio_payload_types of /info is {quotation(listed)}, which holds none of {', '.join(PAYLOADS)}")
    return known


def _most_batch(info: Mapping[str, Any]) -> int:
    if info.get("supports_batching") is False:
        return 1
    most = info.get("max_batch_size")
    return min(most, MOST_BATCH) if _is_count(most) and most else DEFAULT_BATCH


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _LARGEST


def _kind(value: Any) -> str:
    return {dict: "an object", list: "a list", str: "a text", type(None): "null"}.get(type(value), "a number")


def _refuse_constant(name: str) -> None:
    raise Breach(f"the reply holds {name}, which is not a JSON number")
