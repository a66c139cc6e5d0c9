"""In-process audio models of the transformers library, of the families in :mod:`pytest_audiobench.models.hf.families`.

Weights come from safetensors only, and no code of a checkpoint is run unless its repository is trusted by name.
torch and transformers are imported by :meth:`HfModel.load` alone.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from pytest_audiobench.audio.clip import PlayedAudio
from pytest_audiobench.audio.long_sound import pieces
from pytest_audiobench.errors import AudiobenchError, FatalError, UsageError, install_command
from pytest_audiobench.identity import file_digest
from pytest_audiobench.models.hf import lora
from pytest_audiobench.models.hf.checkpoint import Checkpoint, FrontEnd, chat_template, special_tokens
from pytest_audiobench.models.hf.families import (
    FAMILIES,
    FLAT,
    GENERATOR,
    OWN_TEMPLATE,
    SINCE,
    Family,
    definition,
    family_of,
    is_added,
)
from pytest_audiobench.models.hf.options import (
    DEVICE_MAPS,
    DTYPES,
    FAMILY_OPTIONS,
    OPTIONS,
    PADDINGS,
    SPEAKERS,
    check_template,
    has_cuda,
    label_map,
    split_target,
)
from pytest_audiobench.models.messages import TASKS, Ask, AudioSlot, Finish, Output, Part, Response, Settings
from pytest_audiobench.models.model import Hearing, Limits, missing_library
from pytest_audiobench.models.spec import check_options, number, one_of, written

_WINDOW_S = 30.0
"""The window of Whisper's feature extractor, which families of many windows fill one after the other."""


class HfModel:
    """``hf:FOLDER`` or ``hf:owner/name``, and ``hf:BASE+ADAPTER`` for a LoRA adapter on top of one.

    Options: ``device`` (default cuda where there is one, else cpu), ``device_map=auto`` (over several devices, by
    accelerate), ``dtype`` (bfloat16 on cuda, float32 on cpu), ``batch`` (most requests in a batch, 64), ``batch_s``
    (most seconds in a batch, 480, counted as :class:`Limits` says), ``attn`` (attention implementation), ``pad_s``
    (shorter clips are filled up with silence to this length, as some models were trained), ``padding`` (the side on
    which a batch's shorter prompts are filled up: left, or right to see what that does), ``revision`` and
    ``download=yes`` for names on the hub,
    ``trust=yes`` (run the code that comes with this very checkpoint), ``compile=yes`` (the steps of an answer compiled
    by torch, over a cache of fixed size).
    Some families take ``beams``, ``repetition_penalty``, ``language``, ``labels``, ``template`` or ``voice``.
    """

    batching: Literal["planned", "opaque"] = "planned"
    listens = True
    in_process = True
    kind, adapter = "hf", "hf/3"
    takes: tuple[str, ...] = (*OPTIONS, *FAMILY_OPTIONS)
    usual_batch, usual_batch_s = 64, 480.0

    def __init__(
        self, target: str, options: Mapping[str, str] | None = None, digest_of: Callable[[Path], str] = file_digest
    ) -> None:
        """``digest_of`` hashes a file; a run replaces it by one that remembers, since weights are large.

        Raises UsageError for an unknown option or a value that none can have.
        """
        self._options = dict(options or {})
        check_options(self.kind, self._options, self.takes)
        self.spec = written(self.kind, target, self._options)
        self._target = target
        self._base, self._adapter = split_target(target)
        self.digest_of = digest_of
        self._batch = number(self.kind, self._options, "batch", self.usual_batch, whole=True)
        self._batch_s = number(self.kind, self._options, "batch_s", self.usual_batch_s)
        self._dtype = one_of(self.kind, self._options, "dtype", DTYPES)
        self._padding = one_of(self.kind, self._options, "padding", PADDINGS) or "left"
        self._download = one_of(self.kind, self._options, "download", ("yes", "no")) == "yes"
        self._compiled = one_of(self.kind, self._options, "compile", ("yes", "no")) == "yes"
        if self._compiled and "beams" in self._options:
            raise UsageError("compile=yes of an hf model is for greedy and sampled answers: leave beams=… out")
        if one_of(self.kind, self._options, "device_map", DEVICE_MAPS) and "device" in self._options:
            raise UsageError("device=… and device_map=… of an hf model both say where it runs; give one")
        number(self.kind, self._options, "beams", 1, whole=True)
        number(self.kind, self._options, "repetition_penalty", 1.0, least=0.01)
        label_map(self._options.get("labels", ""))
        if "template" in self._options:
            check_template(self._options["template"])
        self._trusted = one_of(self.kind, self._options, "trust", ("yes", "no")) == "yes"
        self._engine: Any = None

    @cached_property
    def device(self) -> str:
        """Where the model runs, told from the machine without importing torch."""
        return self._options.get("device") or ("cuda" if has_cuda() else "cpu")

    @property
    def dtype(self) -> str:
        return self._dtype or ("bfloat16" if self.device.startswith("cuda") else "float32")

    def missing_parts(self) -> str:
        """What asking lacks, with the remedy: a library, or a chat template that takes sound; "" for nothing."""
        libraries = {"torch": "hf", "transformers": "hf", **({"peft": "lora"} if self._adapter else {})}
        return missing_library(libraries) or self._too_old() or self._template_error()

    def _too_old(self) -> str:
        """What is wrong with the installed transformers, where it lacks the family or asks it wrongly."""
        type_ = str(self._checkpoint.config().get("model_type"))
        if type_ not in SINCE or is_added(self._family):
            return ""
        from packaging.version import Version

        since, here = SINCE[type_], version("transformers")
        if Version(here) >= Version(since):
            return ""
        needs = f"{type_!r} models need transformers {since} or newer"
        return f"{needs}, and {here} is installed: pip install 'transformers>={since}'"

    def _template_error(self) -> str:
        """What is wrong with the chat template, of a family whose prompts it makes."""
        family, flat = self._family, self._family.render == FLAT
        if family.engine != GENERATOR or not (flat or family.render is None):
            return ""
        try:
            from pytest_audiobench.models.hf.template_limits import rendering_error
        except ImportError:
            # Loading says what of it cannot be used here; where all answers are known nothing is loaded.
            return ""
        folder = self._checkpoint.folder
        file, template = chat_template(folder)
        remedy = "save that of the model which this one was trained from"
        if not template:
            # What brings code of its own, or a processor's class that transformers has, may have a template there;
            # and of what is no family of ours more may be lacking, which loading tells.
            type_ = self._checkpoint.config().get("model_type")
            may_do = is_added(family) or self._trusted or type_ in OWN_TEMPLATE or type_ not in FAMILIES
            return "" if may_do else f"{folder} has no chat template; {remedy}"
        why = rendering_error(template, special_tokens(folder), is_text=flat)
        return f"the chat template in {file} cannot be rendered: {why}; correct it, or {remedy}" if why else ""

    @cached_property
    def limits(self) -> Limits:
        """Rate and window of the checkpoint's front end, the batch limits, and what the family takes.

        Raises UsageError for an option that the checkpoint's family has not, FatalError for a missing front end.
        """
        family, front_end = self._family, self._front_end
        for option in FAMILY_OPTIONS:
            if option in self._options and option not in family.options:
                takes = ", ".join(family.options) or "none of its own"
                raise UsageError(f"{option}=… does not apply to {self._target}, whose family's options are: {takes}")
        if "voice" in self._options and (other := "beams" if "beams" in self._options else "compile" * self._compiled):
            raise UsageError(f"{self._target} cannot speak what was written by {other}=…: leave it or voice=… out")
        if "padding" in self._options and family.engine != GENERATOR:
            raise UsageError(f"padding=… does not apply to {self._target}, which is given no prompt of tokens")
        if self._compiled and "beams" not in family.options:
            raise UsageError(f"compile=yes does not apply to {self._target}, which writes no answer step by step")
        window_s = _WINDOW_S if family.many_windows else front_end.window_s
        return Limits(
            max_batch=int(self._batch),
            max_batch_s=self._batch_s,
            rate_hz=front_end.rate_hz,
            max_clip_s=front_end.window_s,
            min_clips=0 if family.tasks == TASKS else 1,
            max_clips=family.max_clips,
            pads_to_s=window_s if family.fills_window else None,
            tasks=family.tasks,
            speaks="voice" in self._options,
            chunked_tasks=family.chunked,
        )

    @cached_property
    def pad_s(self) -> float:
        """Shorter clips are filled up with silence at their end to this length."""
        return max(number(self.kind, self._options, "pad_s", 0.0, least=0.0), self._family.shortest_s)

    def fingerprint(self) -> Mapping[str, str]:
        """Digests of the checkpoint's parts, and everything of this adapter that may change an answer.

        Raises UsageError when the checkpoint is missing, incomplete or pickled, FatalError when it has no processor.
        """
        limits = self.limits
        chosen = {name: self._options[name] for name in FAMILY_OPTIONS if name in self._options}
        speakers = self._checkpoint.folder / SPEAKERS
        return {
            **self._checkpoint.digests(self.digest_of, code=self._trusted),
            **({"speakers": self.digest_of(speakers)} if "voice" in self._options and speakers.is_file() else {}),
            **({} if self._lora is None else {"lora": self._lora.digest(self.digest_of)}),
            "adapter": self.adapter,
            "dtype": self.dtype,
            "attention": self._options.get("attn", "default"),
            "front_end": f"{limits.rate_hz} Hz|window {limits.max_clip_s} s|pad {self.pad_s} s",
            "batch": f"{limits.max_batch} items|{limits.max_batch_s} s",
            **({"padding": self._padding} if self._padding != "left" else {}),
            **({"steps": "compiled, static cache"} if self._compiled else {}),
            **({"chosen": written("", "", chosen)[2:]} if chosen else {}),
            **({"family": definition(self._family)} if is_added(self._family) else {}),
        }

    @property
    def hearing(self) -> Hearing | None:
        """Whether audio reaches the model, found when it was loaded."""
        hearing: Hearing | None = self._engine.hearing if self._engine else None
        return hearing

    @property
    def oom_splits(self) -> int:
        """How often a batch was halved because memory ran out."""
        return self._engine.oom_splits if self._engine else 0

    @property
    def seconds(self) -> Mapping[str, float]:
        """What asking was spent on so far: ``features_s`` and ``generate_s``, of chat models."""
        return self._engine.seconds if self._engine else {}

    @property
    def peak_memory_bytes(self) -> int | None:
        """The most memory in use so far: on CUDA what torch took there, else the whole process; None before loading."""
        if self._engine is None:
            return None
        from pytest_audiobench.models.hf.engine import peak_memory_bytes

        return peak_memory_bytes(self.device)

    def forget_peak_memory(self) -> None:
        """Measure the most memory from now on, where a card tells it; a process does not forget its own."""
        if self._engine is not None:
            self._engine.forget_peak_memory()

    def load(self) -> None:
        """Raises FatalError when the library, the device or the checkpoint will not do, or no audio arrives."""
        if self._engine is not None:
            return
        self._checkpoint.weights()
        family = self._family
        if family.status == "unproven":
            warnings.warn(
                f"{self._target} is of type {self._checkpoint.config().get('model_type')!r}, "
                "which the tests of pytest-audiobench have not run: look at its answers",
                stacklevel=2,
            )
        try:
            from pytest_audiobench.models.hf.engine import Setup
            from pytest_audiobench.models.hf.loading import Load
        except ImportError as error:
            raise FatalError(f"{self.spec} needs {error.name}: {install_command(self.kind)}") from None
        own_code = "; it comes with code of its own, which is run for those who trust it: add ,trust=yes to the model"
        load = Load(
            self._checkpoint.folder,
            family,
            device=self.device,
            dtype=self.dtype,
            attention=self._options.get("attn"),
            device_map=self._options.get("device_map"),
            lora=self._lora.folder if self._lora else None,
            trust=self._trusted,
            trust_hint="" if self._trusted or not self._checkpoint.has_code() else own_code,
        )
        setup = Setup(
            load,
            self.limits.rate_hz,
            self.limits.max_clip_s,
            shortest=round(self.pad_s * self.limits.rate_hz),
            options={name: self._options[name] for name in FAMILY_OPTIONS if name in self._options},
            padding=self._padding,
            compiled=self._compiled,
            threads=os.environ.get("AUDIOBENCH_THREADS"),
        )
        try:
            self._engine = self.engine_of(setup)
        except AudiobenchError:
            raise
        except Exception as error:  # what its files say may break it where it is tried
            raise load.failed("checkpoint", error) from error

    def engine_of(self, setup: Any) -> Any:
        """What asks the checkpoint, loaded."""
        engine = self._family.hook("talker" if "voice" in self._options else "engine")
        assert engine is not None
        return engine(setup)

    def prepare_audio(self, audio: Sequence[PlayedAudio]) -> None:
        """Make features of clips that will be asked about, on the thread that decoded them, where the model is on a
        card: next to a model on the processor they would take its time.
        """
        if self._engine is not None and self.device.startswith("cuda"):
            self._engine.prepare_audio(audio)

    def ask(self, batch: Sequence[Ask]) -> list[Response]:
        """Greedy unless a request's temperature is not "0"; then seeded by the keys of the batch."""
        self.load()
        from pytest_audiobench.models.hf.loading import sealed

        answers = [Response(error=why, lasting=True) if (why := self._refusal(ask)) else None for ask in batch]
        groups: dict[Settings, list[int]] = {}
        for position, ask in enumerate(batch):
            if answers[position] is None:
                groups.setdefault(ask.request.settings, []).append(position)
        for settings, positions in groups.items():
            with sealed(self._trusted):
                replies = self._responses([batch[position] for position in positions], settings)
            for position, reply in zip(positions, replies, strict=True):
                answers[position] = reply
        return [answer for answer in answers if answer is not None]

    def close(self) -> None:
        if self._engine is not None:
            self._engine.close()
            self._engine = None

    def _responses(self, asks: Sequence[Ask], settings: Settings) -> list[Response]:
        """Asked as they are where all fit into the window; else in pieces, a batch's worth at a time."""
        window_s = self.limits.max_clip_s
        counts = [_number_of_pieces(ask, window_s) for ask in asks]
        pieces_at_once = max(
            1, min(self.limits.max_batch, int(self.limits.max_batch_s / (window_s or self.limits.max_batch_s)))
        )
        width = len(asks) if sum(counts) == len(asks) else pieces_at_once
        parts = (part for ask, count in zip(asks, counts, strict=True) for part in _pieces(ask, window_s, count))
        replies: list[Response] = []
        while portion := list(islice(parts, width)):
            replies += self._engine.answer(portion, settings)
        left = iter(replies)
        return [_joined_response(list(islice(left, count))) for count in counts]

    def _refusal(self, ask: Ask) -> str | None:
        """Why this element cannot be asked; clips are never dropped and never cut here."""
        request, limits = ask.request, self.limits
        if request.task not in limits.tasks:
            return f"{self.spec} can do {' and '.join(limits.tasks)} and nothing else, and is asked for {request.task}"
        slots = sum(isinstance(part, AudioSlot) for message in request.messages for part in message.parts)
        if slots > limits.max_clips:
            return f"{request.sample_id} plays {slots} clips, and {self.spec} takes {limits.max_clips} at most"
        if not slots and self._family.tasks != TASKS:
            return f"{request.sample_id} plays no clip, and {self.spec} can do nothing without one"
        for clip in ask.audio:
            if clip.rate_hz != limits.rate_hz:
                return f"{request.sample_id} is at {clip.rate_hz} Hz, and {self.spec} hears {limits.rate_hz} Hz"
            window_s = limits.max_clip_s
            if window_s is None or clip.duration_s <= window_s:
                continue
            if request.task not in limits.chunked_tasks:
                return f"{request.sample_id} lasts {clip.duration_s:.2f} s, and {self.spec} hears {window_s:g} s"
            if len(ask.audio) > 1:
                return (
                    f"{request.sample_id} plays several clips, one of them {clip.duration_s:.2f} s long, and "
                    f"{self.spec} hears {window_s:g} s: only a single clip can be taken piece by piece"
                )
        return None

    @cached_property
    def _checkpoint(self) -> Checkpoint:
        checkpoint = Checkpoint.find(self._base, self._options.get("revision"), self._download, self._trusted)
        foreign = [name for name in checkpoint.code_repositories() if name != self._base] if self._trusted else []
        if foreign:
            raise FatalError(
                f"{self._base} would run code of another repository, {foreign[0]}, which nobody trusted; "
                "keep the code beside the weights"
            )
        return checkpoint

    @cached_property
    def _lora(self) -> lora.Lora | None:
        if self._adapter is None:
            return None
        adapter = lora.Lora.find(self._adapter, self._download)
        adapter.note_other_base(self._base)
        return adapter

    @cached_property
    def _front_end(self) -> FrontEnd:
        family = self._family
        front_end = self._checkpoint.front_end(family.rate_hz)
        if front_end.window_s is None or family.many_windows:
            return front_end._replace(window_s=family.window_s)
        return front_end

    @cached_property
    def _family(self) -> Family:
        return family_of(self._checkpoint.config())


def _number_of_pieces(ask: Ask, window_s: float | None) -> int:
    if window_s is None or len(ask.audio) != 1 or ask.audio[0].duration_s <= window_s:
        return 1
    clip = ask.audio[0]
    return math.ceil(len(clip.samples) / round(window_s * clip.rate_hz))


def _pieces(ask: Ask, window_s: float | None, count: int) -> Iterator[Ask]:
    """A request of one clip beyond the window as one for each window's length of it; another as it is."""
    if window_s is None or count == 1:
        yield ask
        return
    clip = ask.audio[0]
    for place, samples in enumerate(pieces(clip.samples, round(window_s * clip.rate_hz))):
        request = replace(ask.request, key=f"{ask.request.key}/{place}")
        yield Ask(request, (replace(clip, samples=samples, pcm_digest=""),))


def _joined_response(pieces: Sequence[Response]) -> Response:
    if len(pieces) == 1:
        return pieces[0]
    for place, piece in enumerate(pieces, 1):
        if piece.error is not None:
            return Response(error=f"{piece.error} (piece {place} of {len(pieces)})")
    usage: dict[str, int] = {"pieces": len(pieces)}
    for piece in pieces:
        for name, count in piece.usage.items():
            usage[name] = usage.get(name, 0) + count
    finishes = {piece.finish for piece in pieces}
    worst: tuple[Finish, ...] = ("length", "refusal", "unknown", "stop")
    text = " ".join(filter(None, (piece.text.strip() for piece in pieces)))
    finish = next(finish for finish in worst if finish in finishes)
    return Response(outputs=(Output((Part("text", text),), finish),), usage=usage)
