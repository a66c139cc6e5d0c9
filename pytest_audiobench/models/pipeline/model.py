"""``pipeline:FILE.toml``: several models that report what they hear, and one that makes a list of events of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np

from pytest_audiobench.audio.clip import PlayedAudio, Samples
from pytest_audiobench.errors import FatalError, UsageError
from pytest_audiobench.identity import digest, file_digest
from pytest_audiobench.io.mistakes import Mistakes
from pytest_audiobench.models.messages import Ask, AudioSlot, Message, Request, Response
from pytest_audiobench.models.model import Limits, Model
from pytest_audiobench.models.pipeline import segmenters
from pytest_audiobench.models.pipeline.file import PYTHON, TEMPLATE, PartDeclaration, read_pipeline
from pytest_audiobench.models.pipeline.fusion import Report, Window, fused_by_template, fusion_prompt, places
from pytest_audiobench.models.pipeline.voices import Voices
from pytest_audiobench.models.registry import make
from pytest_audiobench.models.spec import check_options, parse_spec

_PROMPTS = {"transcribe": "Transcribe the speech.", "describe": "Describe what is heard in a few words."}


class StoredResponse(Protocol):
    """What a run's store holds under one key."""

    @property
    def response(self) -> Response: ...


class PartStore(Protocol):
    """Where the answers of parts are, by key: the run's store, so that they outlive a run that is killed."""

    def find(self, keys: Sequence[bytes], fresh: bool = False) -> Mapping[bytes, StoredResponse]: ...

    def put_batch(
        self,
        answers: Mapping[bytes, tuple[Response, Mapping[str, object]]],
        failures: Mapping[bytes, tuple[str, bool]],
        fresh: bool = False,
    ) -> object: ...


class _Question(NamedTuple):
    """What a part is asked: a span of the clip, or a text."""

    window: Window
    samples: Samples
    messages: tuple[Message, ...]


class _PartError(Exception):
    """A part failed at one sample; its text says why."""


class Part:
    """One program of a pipeline: a model, a segmenter, one's own function, or the template."""

    def __init__(self, declaration: PartDeclaration, folder: Path) -> None:
        """Raises UsageError for a function or model that cannot be."""
        self.declaration = declaration
        self.model: Model | None = make(parse_spec(declaration.spec)) if declaration.spec else None
        self._function: Callable[[Any], Any] | None = None
        self._source = ""
        if declaration.use.startswith(PYTHON):
            self._function, self._source = segmenters.python_function(declaration.use, folder)
        self._voices = Voices(Path(declaration.voices)) if declaration.voices else None
        self._loaded = False

    @cached_property
    def identity(self) -> Mapping[str, str]:
        """What its answers depend on in addition to the question."""
        declaration = self.declaration
        if self.model is not None:
            return {str(key): str(value) for key, value in self.model.fingerprint().items()}
        voices = self._voices.fingerprint() if self._voices is not None else {}
        if self._source:
            return {"function": declaration.use, "source": self._source, **voices}
        if declaration.step == "segment":
            return {**segmenters.segmenter_identity(declaration.use, declaration.model), **voices}
        return {"template": "template/1"}

    @property
    def is_mere_name(self) -> bool:
        return bool(getattr(self.model, "is_mere_name", False))

    @property
    def window_s(self) -> float | None:
        """The longest piece that it is played."""
        wanted = self.declaration.window_s
        most = self.model.limits.window_s(self.declaration.task) if self.model is not None else None
        return min(filter(None, (wanted, most)), default=None)

    def missing(self) -> str:
        """Which library is not installed that it needs; "" for none."""
        if self.model is not None:
            return str(getattr(self.model, "missing_parts", str)())
        lacking = [self._voices.missing] if self._voices is not None else []
        if self.declaration.step == "segment":
            lacking.append(segmenters.missing_package(self.declaration.use))
        return "; ".join(filter(None, lacking))

    def answer(self, request: Request, question: _Question) -> Response:
        """Its answer to one question alone, so that none depends on what else is asked."""
        if self.model is not None:
            if not self._loaded:
                self.model.load()
                self._loaded = True
            return self.model.ask(
                [Ask(request, () if self.declaration.step == "fuse" else (_played(question.samples),))]
            )[0]
        if self._function is None:
            self._function = segmenters.segmenter(self.declaration.use, self.declaration.model)
        given: Any = question.samples if self.declaration.step != "fuse" else question.messages[0].parts[0]
        try:
            result = self._function(given)
            if self._voices is not None:
                result = self._voices.labelled(question.samples, list(result))
        except FatalError:
            raise
        except Exception as error:
            return Response(error=f"{self.declaration.use} raised {type(error).__name__}: {error}")
        text = result if self.declaration.step != "segment" else _spans_text(result)
        if not isinstance(text, str):
            wanted = "a text" if self.declaration.step != "segment" else "[(start, end, voice), …]"
            return Response(error=f"{self.declaration.use} gave {repr(result)[:80]}, which is not {wanted}")
        return Response.of(text)

    def close(self) -> None:
        if self.model is not None and self._loaded:
            self.model.close()
        self._loaded = False


class Pipeline:
    """A model whose answers to the task of listing events are made of what its parts report.

    Each part is asked each question by itself. What it answers is kept in the run's store under the part's own
    identity, what it was played and what it was asked, so that where one part is exchanged no other is asked again.
    """

    batching: Literal["planned", "opaque"] = "opaque"
    listens = True
    device = "parts"

    def __init__(self, target: str, options: Mapping[str, str] | None = None) -> None:
        """Raises UsageError with all mistakes of the file, and of the models that it names."""
        check_options("pipeline", options or {}, ())
        self.spec, path = f"pipeline:{target}", Path(target)
        self.part_store: Callable[[], PartStore] | None = None
        self.budget: Any = None
        self.digest_of: Callable[[Path], str] = file_digest
        mistakes, self._parts = Mistakes(), list[Part]()
        for declaration in read_pipeline(path, mistakes):
            with mistakes.catching(f"{path.name}, {declaration.name}: "):
                self._parts.append(Part(declaration, path.resolve().parent))
        for part in self._parts:
            task = part.declaration.task
            if part.model is not None and part.declaration.step != "fuse":
                with mistakes.catching(f"{path.name}, {part.declaration.name}: "):
                    _check_limits(part.model.limits, task, part.declaration.spec)
        mistakes.check()

    @property
    def limits(self) -> Limits:
        return Limits(max_batch=8, max_batch_s=600.0, rate_hz=segmenters.RATE_HZ, tasks=("events",))

    @property
    def is_mere_name(self) -> bool:
        """Whether that is all that is known of one of its parts."""
        return any(part.is_mere_name for part in self._parts)

    def fingerprint(self) -> Mapping[str, str]:
        """The fingerprints of all parts, with what each is asked about."""
        self._equip()
        identities = {
            f"{number} {part.declaration.name}": digest([_wording(part.declaration), dict(part.identity)])
            for number, part in enumerate(self._parts, start=1)
        }
        return {"pipeline": "pipeline/1", "fusion hears": "no audio, only the reports of the parts", **identities}

    def missing_parts(self) -> str:
        """Every library that is not installed and that a part needs."""
        lacking = [f"{part.declaration.name}: {text}" for part in self._parts if (text := part.missing())]
        return "; ".join(lacking)

    def load(self) -> None:
        """Nothing: a part is loaded by the first question that the store does not answer."""
        self._equip()

    def ask(self, batch: Sequence[Ask]) -> list[Response]:
        """One response for each element: the last part's, or the error of the first that failed."""
        return [self._answer(ask) for ask in batch]

    def close(self) -> None:
        for part in self._parts:
            part.close()

    def _equip(self) -> None:
        for part in self._parts:
            for name in ("digest_of", "budget"):
                if hasattr(part.model, name):
                    setattr(part.model, name, getattr(self, name))

    def _answer(self, ask: Ask) -> Response:
        if len(ask.audio) != 1:
            return Response(error=f"{ask.request.sample_id} plays {len(ask.audio)} clips, and {self.spec} takes one")
        audio, reports = ask.audio[0], list[Report]()
        try:
            for part in self._parts[:-1]:
                reports += self._reports(part, ask.request, audio, reports)
            fusion = self._parts[-1]
            if fusion.declaration.use == TEMPLATE:
                return Response.of(fused_by_template(reports))
            text = fusion_prompt(_text_of(ask.request.messages), fusion.declaration.prompt, reports)
            question = _Question(Window(0.0, 0.0, (0.0, 0.0)), audio.samples[:0], (Message("user", (text,)),))
            return self._responses(fusion, ask.request, [question], "open")[0]
        except _PartError as error:
            return Response(error=str(error))

    def _reports(self, part: Part, request: Request, audio: PlayedAudio, earlier: Sequence[Report]) -> list[Report]:
        declaration = part.declaration
        questions = [
            _Question(window, samples, self._messages(declaration, request))
            for window in places(declaration.only, audio.duration_s, earlier, part.window_s)
            if len(samples := audio.samples[round(window.start * audio.rate_hz) : round(window.end * audio.rate_hz)])
        ]
        responses = self._responses(part, request, questions, declaration.task)
        reports = [
            Report(declaration, window.start, window.end, response.text, window.whole)
            for (window, *_), response in zip(questions, responses, strict=True)
        ]
        if declaration.step != "segment":
            return reports
        return [
            Report(declaration, round(report.start + start, 3), round(min(report.start + end, report.end), 3), voice)
            for report in reports
            for start, end, voice in json.loads(report.text)
            if 0 <= start < min(end, report.end - report.start)
        ]

    def _messages(self, declaration: PartDeclaration, request: Request) -> tuple[Message, ...]:
        if declaration.task == "events" and not declaration.prompt:
            return request.messages
        return (Message("user", (AudioSlot(0), declaration.prompt or _PROMPTS.get(declaration.step, ""))),)

    def _responses(self, part: Part, request: Request, questions: Sequence[_Question], task: Any) -> list[Response]:
        """What the store knows, and what the part answers to the others: each kept as soon as it is there."""
        keys = [_key(part, request, question, task) for question in questions]
        store = self.part_store() if self.part_store is not None else None
        # Of a part of which only its name is known, answers of other runs prove nothing.
        fresh = part.is_mere_name
        known = {key: row.response for key, row in store.find(keys, fresh).items()} if store else {}
        responses = []
        for key, question in zip(keys, questions, strict=True):
            response = known.get(key)
            if response is None:
                clips = request.clips if part.declaration.step != "fuse" else ()
                asked = replace(request, key=key.hex(), task=task, messages=question.messages, clips=clips)
                response = part.answer(asked, question)
                if response.error is not None:
                    raise _PartError(f"{part.declaration.name}: {response.error}")
                if store:
                    store.put_batch({key: (response, {"part": part.declaration.name})}, {}, fresh)
                known[key] = response
            responses.append(response)
        return responses


def _spans_text(spans: Any) -> str | None:
    """What a segmenter gave, as JSON; None where it is not a list of begin, end and voice."""
    try:
        return json.dumps([[float(start), float(end), str(voice)] for start, end, voice in spans])
    except (TypeError, ValueError):
        return None


def _check_limits(limits: Limits, task: str, spec: str) -> None:
    if limits.rate_hz != segmenters.RATE_HZ:
        raise UsageError(f"{spec} is played {limits.rate_hz} Hz, and parts are played {segmenters.RATE_HZ}")
    if task not in limits.tasks:
        raise UsageError(f"{spec} cannot be asked for {task}; it does {', '.join(limits.tasks)}")


def _key(part: Part, request: Request, question: _Question, task: str) -> bytes:
    settings = request.settings
    payload: dict[str, Any] = {
        "part": dict(part.identity),
        "step": part.declaration.step,
        "pcm": hashlib.sha256(question.samples.tobytes()).hexdigest(),
        "messages": [
            [role, [piece if isinstance(piece, str) else piece.clip for piece in parts]]
            for role, parts in question.messages
        ],
        "task": task,
        "settings": [settings.max_new_tokens, settings.temperature, settings.top_p],
        "epoch": request.epoch,
    }
    return bytes.fromhex(digest(payload))


def _wording(declaration: PartDeclaration) -> dict[str, str]:
    # What these name is in the part's identity.
    return {key: str(value) for key, value in asdict(declaration).items() if key not in ("use", "voices")}


def _played(samples: Samples) -> PlayedAudio:
    samples = np.ascontiguousarray(samples, dtype=np.float32)
    pcm = hashlib.sha256(samples.tobytes()).hexdigest()
    return PlayedAudio(samples, segmenters.RATE_HZ, pcm, segmenters.RATE_HZ, len(samples), "pipeline")


def _text_of(messages: Sequence[Message]) -> str:
    return "\n".join(part for message in messages for part in message.parts if isinstance(part, str))
