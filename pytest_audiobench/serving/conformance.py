"""Whether a server keeps the predictions_v1 contract: one rule after another, each with a verdict and a reason.

The requests of its trials are made by the standard library alone.
"""

from __future__ import annotations

import base64
import io
import json
import math
import time
import wave
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple, TypeGuard

from pytest_audiobench.errors import FatalError
from pytest_audiobench.models.messages import Ask, Response
from pytest_audiobench.models.predictions_v1 import reply as predictions_reply
from pytest_audiobench.models.predictions_v1 import request as wire
from pytest_audiobench.models.predictions_v1.audio_check import find_hearing
from pytest_audiobench.models.predictions_v1.request import SCHEMA
from pytest_audiobench.serving.probe import Exchange, Probe

_SHOWN = 100
_TONE_HZ = 440
_DURATION_S = 0.2


class Broken(Exception):
    """A rule is broken; the message says how."""


def expect(answer: Exchange, status: int) -> None:
    """Raises Broken for another status."""
    if answer.status != status:
        raise Broken(f"expected {status}, got {answer.status} ({quoted(answer.body[:200].decode(errors='replace'))})")


def json_object(answer: Exchange) -> dict[str, Any]:
    """The body. Raises Broken when it is not a JSON object."""
    try:
        value = answer.json
    except ValueError as error:
        raise Broken(f"the answer is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise Broken(f"the answer is {quoted(value)}, not an object")
    return value


def must_be_answered(row: Mapping[str, Any]) -> None:
    """Raises Broken unless a response has predictions and no error."""
    error, predictions = row.get("error"), row.get("predictions")
    if error is not None and not isinstance(error, str):
        raise Broken(f"error is {quoted(error)}, neither a text nor null")
    if error is not None and error.strip():
        raise Broken(f"a good request came back with the error {quoted(error)}")
    if not are_texts(predictions) or not predictions:
        raise Broken(f"predictions is {quoted(predictions)}, not a list of texts with something in it")


def are_texts(value: Any) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(entry, str) for entry in value)


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def quoted(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def call(requests: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The body of a call."""
    return {"schema_version": SCHEMA, "requests": requests}


def item(sample_id: str, rate_hz: int = 16_000) -> dict[str, Any]:
    """A request with a short tone in it."""
    content = "<Audio><AudioHere></Audio>\nWhat is heard? Answer briefly."
    return {
        "sample_id": sample_id,
        "messages": [{"role": "user", "content": content}],
        "audio_inputs": [{"payload_type": "base64_wav", "data": _tone(rate_hz), "sample_rate": rate_hz}],
        "generation_config": {"max_tokens": 8, "temperature": 0.0},
    }


@cache
def _tone(rate_hz: int) -> str:
    turn = 2 * math.pi * _TONE_HZ / rate_hz
    samples = array("h", (round(8000 * math.sin(turn * i)) for i in range(round(_DURATION_S * rate_hz))))
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setparams((1, 2, rate_hz, 0, "NONE", ""))
        sound.writeframes(samples.tobytes())
    return base64.b64encode(file.getvalue()).decode()


_LARGEST_BATCH = 4096
_UNTOLD_BATCH = 8
_MOST_HANGS = 3


class Verdict(NamedTuple):
    """``is_kept`` is None for a rule that could not be tried; ``why`` is one line."""

    rule: str
    is_kept: bool | None
    why: str


class Untried(Exception):
    """A rule cannot be tried here; the message says why."""


class Checker:
    """Tries the rules in order. A server that hangs three times is not asked any more."""

    def __init__(self, probe: Probe) -> None:
        self._probe = probe
        self._info: Mapping[str, Any] = {}
        self._hangs = 0

    def verdicts(self) -> Iterator[Verdict]:
        """One verdict for each rule, as it is reached."""
        for name, rule in RULES.items():
            if self._hangs == _MOST_HANGS:
                yield Verdict(name, None, f"not tried: the server did not answer {_MOST_HANGS} times")
                continue
            try:
                yield Verdict(name, True, rule(self))
            except Broken as broken:
                yield Verdict(name, False, _one_line(str(broken)))
            except Untried as untried:
                yield Verdict(name, None, _one_line(str(untried)))

    @property
    def max_batch(self) -> int:
        """What /info said, where it was a usable number, else 8."""
        most = self._info.get("max_batch_size")
        if not isinstance(most, int) or isinstance(most, bool) or most < 1:
            return _UNTOLD_BATCH
        return 1 if self._info.get("supports_batching") is False else most

    def health(self) -> str:
        expect(self._answer(self._probe.get("/health")), 200)
        return "GET /health answers 200"

    def info(self) -> str:
        answer = self._answer(self._probe.get("/info"))
        expect(answer, 200)
        info = json_object(answer)
        self._info = info
        for key in ("name", "model", "model_revision"):
            if not isinstance(info.get(key), str) or not info[key].strip():
                raise Broken(f"{key} is {quoted(info.get(key))}, not a text with something in it")
        kinds, versions, most = (info.get(k) for k in ("audio_payload_types", "schema_versions", "max_batch_size"))
        if not are_texts(kinds) or not kinds:
            raise Broken(f"audio_payload_types is {quoted(kinds)}, not a list of texts")
        if not isinstance(most, int) or isinstance(most, bool) or most < 1:
            raise Broken(f"max_batch_size is {quoted(most)}, not a whole number from 1 up")
        if not isinstance(info.get("supports_batching"), bool):
            raise Broken(f"supports_batching is {quoted(info.get('supports_batching'))}, not true or false")
        if not are_texts(versions) or SCHEMA not in (versions or ()):
            raise Broken(f"schema_versions is {quoted(versions)}; {SCHEMA} is not among them")
        return f"{info['name'][:40]} serves {info['model'][:60]}, {most} at once"

    def loaded(self) -> str:
        """Wait for a server that reports its loading."""
        if not self._info:
            raise Untried("there is no /info")
        until = time.monotonic() + self._probe.timeout_s
        while True:
            answer = self._answer(self._probe.get("/info"))
            expect(answer, 200)
            info, state = json_object(answer), _state(answer)
            if state != "loading" or time.monotonic() >= until:
                break
            time.sleep(0.2)
        status = info.get("load_status")
        elapsed, error = info.get("loading_elapsed_sec"), info.get("last_error")
        if status is not None and not isinstance(status, str):
            raise Broken(f"load_status is {quoted(status)}, not a text")
        if elapsed is not None and not is_number(elapsed):
            raise Broken(f"loading_elapsed_sec is {quoted(elapsed)}, not a number")
        if state != "ready":
            raise Broken(f"load_status is {status!r} ({quoted(error)})")
        return "load_status is not reported" if status is None else f"load_status is {status!r}"

    def two(self) -> str:
        ids = ["check-b", "check-a"][: self.max_batch]
        rows = self._rows([self._item(sample_id) for sample_id in ids])
        for row in rows:
            must_be_answered(row)
        return f"{len(rows)} answers to {len(ids)} requests"

    def ids(self) -> str:
        ids = ["check/ü 1", "check-2"][: self.max_batch]
        answered_ids = [row["sample_id"] for row in self._rows([self._item(sample_id) for sample_id in ids])]
        return f"sample_ids come back as they were sent: {', '.join(sorted(answered_ids))}"

    def types(self) -> str:
        (row,) = self._rows([self._item("check-types")])
        finish, usage, latency = row.get("finish_reason"), row.get("usage"), row.get("latency_sec")
        if finish is not None and not isinstance(finish, str):
            raise Broken(f"finish_reason is {quoted(finish)}, neither a text nor null")
        if usage is not None and not isinstance(usage, dict):
            raise Broken(f"usage is {quoted(usage)}, neither an object nor null")
        for key in ("prompt_tokens", "completion_tokens"):
            count = (usage or {}).get(key)
            if count is not None and (not isinstance(count, int) or isinstance(count, bool)):
                raise Broken(f"usage.{key} is {quoted(count)}, not a whole number")
        if latency is not None and (not is_number(latency) or not latency >= 0):
            raise Broken(f"latency_sec is {quoted(latency)}, not a number from 0 up")
        return f"finish_reason {quoted(finish)}, usage {quoted(usage)}, latency_sec {quoted(latency)}"

    def hearing(self) -> str:
        """What our client makes of the prompts' tokens, before it asks anything."""
        if (self._info.get("limits") or {}).get("max_clips") == 0:
            raise Untried("the server says that it is played nothing")
        self._item("")

        def ask(probe: Ask) -> Response:
            sent = wire.body([wire.item(probe.request.sample_id, probe, wire.Form())])
            answer = self._answer(self._probe.post("/predict", sent))
            expect(answer, 200)
            return predictions_reply.responses(answer.body, [probe.request.sample_id])[0]

        try:
            hearing = find_hearing("the server", ask, 16_000, wire.PLACEHOLDER)
        except FatalError as deaf:
            raise Broken(str(deaf)) from None
        except (Broken, predictions_reply.Breach, predictions_reply.Garbled) as error:
            raise Untried(f"the server cannot be asked twice about a sound: {error}") from None
        return f"{hearing.status}: {hearing.evidence}"

    def keys(self) -> str:
        known = {"sample_id", "predictions", "finish_reason", "usage", "latency_sec", "error"}
        (row,) = self._rows([self._item("check-keys")])
        if unknown := sorted(row.keys() - known):
            raise Broken(f"a response has the key {unknown[0]!r}, which {SCHEMA} does not know")
        return "responses hold the contract's keys only"

    def partial(self) -> str:
        bad = {**self._item("check-bad"), "messages": []}
        good = [self._item("check-good")] if self.max_batch > 1 else []
        rows = {row["sample_id"]: row for row in self._rows([*good, bad])}
        error = rows["check-bad"].get("error")
        if not isinstance(error, str) or not error.strip():
            raise Broken("an item with empty messages came back without an error")
        if good:
            must_be_answered(rows["check-good"])
        return f"the bad item's error: {error.strip()[:60]}"

    def rate(self) -> str:
        for rate_hz in (8000, 44100):
            (row,) = self._rows([self._item("check-rate", rate_hz=rate_hz)])
            must_be_answered(row)
        return "WAVs at 8 and 44.1 kHz are answered"

    def id_missing(self) -> str:
        nameless = {key: value for key, value in self._item("check").items() if key != "sample_id"}
        return self._expect_refusal(call([nameless]), 400)

    def id_twice(self) -> str:
        if self.max_batch < 2:
            raise Untried("one request at once can hold no duplicate")
        return self._expect_refusal(call([self._item("check"), self._item("check")]), 400)

    def no_json(self) -> str:
        expect(self._answer(self._probe.post("/predict", b'{"schema_version": "predictions_v1", "requests": [')), 422)
        return "a body that is cut off: 422"

    def still_there(self) -> str:
        must_be_answered(self._rows([self._item("check-last")])[0])
        return "after all this a request is answered"

    def _item(self, sample_id: str, rate_hz: int = 16_000) -> dict[str, Any]:
        """A request with a clip in it. Raises Untried where the server says that it takes clips in other ways only."""
        kinds = self._info.get("audio_payload_types")
        if are_texts(kinds) and kinds and "base64_wav" not in kinds:
            raise Untried(f"the server takes {quoted(kinds)}; this rule is tried with base64_wav")
        return item(sample_id, rate_hz)

    @property
    def _beyond(self) -> int:
        """One request too many. Raises Untried where that is more than a check should send."""
        max_batch = self._info.get("max_batch_size")
        if not isinstance(max_batch, int) or isinstance(max_batch, bool) or not 1 <= max_batch <= _LARGEST_BATCH:
            raise Untried(f"max_batch_size is {quoted(max_batch)}; tried up to {_LARGEST_BATCH}")
        return max_batch + 1

    def _too_many(self, ids: Sequence[str]) -> str:
        return self._expect_refusal(call([self._item(sample_id) for sample_id in ids]), 413)

    def _expect_refusal(self, body: Mapping[str, Any], status: int) -> str:
        expect(self._answer(self._probe.post("/predict", json.dumps(body).encode())), status)
        return f"answers {status}"

    def _rows(self, requests: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        answer = self._answer(self._probe.post("/predict", json.dumps(call(requests)).encode()))
        expect(answer, 200)
        envelope = json_object(answer)
        if envelope.get("schema_version") != SCHEMA:
            raise Broken(f"the answer's schema_version is {quoted(envelope.get('schema_version'))}, not {SCHEMA!r}")
        if unknown := sorted(envelope.keys() - {"schema_version", "responses"}):
            raise Broken(f"the answer has the key {unknown[0]!r}, which {SCHEMA} does not know")
        rows = envelope.get("responses")
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise Broken(f"responses is {quoted(rows)}, not a list of objects")
        answered_ids, sent = [row.get("sample_id") for row in rows], [request["sample_id"] for request in requests]
        if sorted(map(repr, answered_ids)) != sorted(map(repr, sent)):
            raise Broken(f"sent the sample_ids {quoted(sorted(sent))} and got {quoted(sorted(map(str, answered_ids)))}")
        return rows

    def _answer(self, answer: Exchange) -> Exchange:
        if answer.failure is not None:
            self._hangs += 1 if answer.status == 0 else 0
            raise Broken(answer.failure)
        return answer


RULES: Mapping[str, Callable[[Checker], str]] = {
    "health": Checker.health,
    "info": Checker.info,
    "loaded": Checker.loaded,
    "two-ok": Checker.two,
    "ids-echoed": Checker.ids,
    "types": Checker.types,
    "keys": Checker.keys,
    "partial-batch": Checker.partial,
    "other-sample-rate": Checker.rate,
    "oversized-413": lambda checker: checker._too_many([f"check-{i}" for i in range(checker._beyond)]),
    "413-before-duplicates": lambda checker: checker._too_many(["check-same"] * checker._beyond),
    "wrong-schema-400": lambda checker: checker._expect_refusal(
        {"schema_version": "predictions_v0", "requests": [checker._item("check")]}, 400
    ),
    "requests-no-list-400": lambda checker: checker._expect_refusal(
        {"schema_version": SCHEMA, "requests": {"0": checker._item("check")}}, 400
    ),
    "sample-id-missing-400": Checker.id_missing,
    "sample-id-empty-400": lambda checker: checker._expect_refusal(call([checker._item("")]), 400),
    "sample-id-twice-400": Checker.id_twice,
    "hearing": Checker.hearing,
    "no-json-422": Checker.no_json,
    "still-answers": Checker.still_there,
}
"""The rules by name, in the order in which they are tried."""


def _state(answer: Exchange) -> str:
    """How far loading is, as our client understands it. Raises Untried for an /info that it would not take."""
    try:
        return predictions_reply.info(answer.body).state
    except (predictions_reply.Breach, predictions_reply.Garbled) as breach:
        raise Untried(str(breach)) from None


def _one_line(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in text)[:400]
