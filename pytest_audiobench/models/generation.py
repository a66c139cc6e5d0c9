"""A loaded transformers model: prompts and audio in, generated texts out. Imports torch and transformers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch
import transformers as untyped_transformers

from pytest_audiobench.audio.clip import Samples
from pytest_audiobench.audio.heard import Heard
from pytest_audiobench.errors import FatalError
from pytest_audiobench.identity import seed
from pytest_audiobench.models.messages import (
    Ask,
    AudioSlot,
    Finish,
    Message,
    Output,
    Part,
    Request,
    Response,
    Settings,
)

transformers: Any = untyped_transformers  # parts of it are typed and parts are not

S = TypeVar("S")
T = TypeVar("T")

_CLASSES = ("AutoModelForMultimodalLM", "AutoModelForSeq2SeqLM")
_LOADING_FAILS = (OSError, ValueError, ImportError, RuntimeError, KeyError)


class Prompt(NamedTuple):
    """A rendered conversation and its audio, in the order of its slots; ``key`` is the request's."""

    key: str
    text: str
    audio: list[Samples]


class OutOfMemory(Exception):
    """The device or the machine could not hold a batch."""


class Generator:
    """Model and processor, ready to answer. ``shortest`` is the least number of samples a clip is filled up to."""

    def __init__(
        self,
        folder: Path,
        *,
        device: str,
        dtype: str,
        rate_hz: int,
        attention: str | None = None,
        shortest: int = 0,
        threads: str | None = None,
    ) -> None:
        if threads:
            torch.set_num_threads(int(threads))
        if device.startswith("cuda") and not torch.cuda.is_available():
            raise FatalError(f"torch finds no usable device {device!r} on this machine; add ,device=cpu to the model")
        self._folder = folder
        self._device = device
        self._rate_hz = rate_hz
        self._shortest = shortest
        self.oom_splits = 0
        self._processor = _load_processor(folder)
        self._tokenizer = self._processor.tokenizer
        self._tokenizer.padding_side = "left"
        if self._tokenizer.pad_token_id is None:
            self._tokenizer.pad_token = self._tokenizer.eos_token
        self._model = _load_model(folder, getattr(torch, dtype), attention).eval().to(device)
        self._ends = _end_tokens(self._model.generation_config.eos_token_id)
        self._check_that_audio_arrives()

    def answer(self, batch: Sequence[Ask], settings: Settings) -> list[Response]:
        """One response per element. The batch is halved as often as memory demands."""
        prompts = [self._prompt(ask) for ask in batch]
        sound = [prompt for prompt in prompts if self._is_sound(prompt)]
        replies, splits = halving(sound, lambda part: self._generate(part, settings))
        self.oom_splits += splits
        told = dict(zip((prompt.key for prompt in sound), replies, strict=True))
        return [self._told(prompt, told) for prompt in prompts]

    def close(self) -> None:
        del self._model, self._processor
        if self._device.startswith("cuda"):
            torch.cuda.empty_cache()

    def _told(self, prompt: Prompt, told: Mapping[str, Response | None]) -> Response:
        if prompt.key not in told:
            return Response(error="the question holds the model's own audio token, so its clips cannot be told apart")
        return told[prompt.key] or Response(error=f"{self._device} runs out of memory on this request alone")

    def _generate(self, prompts: Sequence[Prompt], settings: Settings) -> list[Response]:
        try:
            inputs = self._inputs(prompts).to(self._device, self._model.dtype)
            with torch.inference_mode(), self._seeded([prompt.key for prompt in prompts], settings):
                tokens = self._model.generate(**inputs, **_how(settings))
        except RuntimeError as error:
            if isinstance(error, torch.OutOfMemoryError) or "can't allocate memory" in str(error):
                raise OutOfMemory from None
            raise
        new = tokens[:, inputs["input_ids"].shape[1] :].tolist()
        asked = inputs["attention_mask"].sum(dim=1).tolist()
        return [self._response(row, n, settings) for row, n in zip(new, asked, strict=True)]

    def _response(self, new: list[int], asked: int, settings: Settings) -> Response:
        end = next((position for position, token in enumerate(new) if token in self._ends), None)
        finish: Finish = "stop" if end is not None else "length" if len(new) >= settings.max_new_tokens else "unknown"
        text = self._tokenizer.decode(new[:end], skip_special_tokens=True, clean_up_tokenization_spaces=False)
        generated = len(new) if end is None else end + 1
        usage = {"prompt_tokens": asked, "completion_tokens": generated}
        return Response(outputs=(Output((Part("text", text),), finish),), usage=usage)

    def _prompt(self, ask: Ask) -> Prompt:
        messages = ask.request.messages
        turns = [{"role": m.role, "content": [_content(part) for part in m.parts]} for m in messages]
        try:
            text = self._processor.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
        except Exception as error:  # a template is a program of the checkpoint's: it may raise anything
            raise FatalError(f"the chat template of {self._folder} fails: {_first_line(error)}") from error
        slots = [part.clip for m in messages for part in m.parts if isinstance(part, AudioSlot)]
        return Prompt(ask.request.key, text, [self._filled_up(ask.audio[clip].samples) for clip in slots])

    def _is_sound(self, prompt: Prompt) -> bool:
        """Whether the prompt has one audio token per clip: a question may hold the token's own text."""
        token = getattr(self._processor, "audio_token", None)
        return token is None or prompt.text.count(str(token)) == len(prompt.audio)

    def _inputs(self, prompts: Sequence[Prompt]) -> Any:
        audio = [clip for prompt in prompts for clip in prompt.audio]
        played = {"audio": audio, "sampling_rate": self._rate_hz} if audio else {}
        return self._processor(text=[p.text for p in prompts], return_tensors="pt", padding=True, **played)

    def _filled_up(self, clip: Samples) -> Samples:
        return np.pad(clip, (0, max(0, self._shortest - len(clip))))

    def _seeded(self, keys: Sequence[str], settings: Settings) -> Any:
        if settings.temperature == "0":
            return nullcontext()
        return _Seeded(seed("sampling", *keys), self._device)

    def _check_that_audio_arrives(self) -> None:
        """A processor that is none drops the audio, and generation runs happily without it."""
        prompt = self._prompt(_trial(self._rate_hz))
        unheard = len(self._tokenizer(prompt.text)["input_ids"])
        if not self._is_sound(prompt) or self._inputs([prompt])["input_ids"].shape[1] <= unheard:
            raise FatalError(
                f"the prompt of {self._folder} does not grow with the audio: its chat template or processor drops it; "
                "save the model's own processor beside the weights"
            )


def _trial(rate_hz: int) -> Ask:
    """A second of silence to be asked about."""
    messages = (Message("user", (AudioSlot(0), "What is heard?")),)
    request = Request("", "", "", "", "open", messages, clips=())
    return Ask(request, (Heard(np.zeros(rate_hz, dtype=np.float32), rate_hz, "", rate_hz, rate_hz, "none"),))


class _Seeded:
    """Sampling from a seed of its own, with the global random state left as it was."""

    def __init__(self, value: int, device: str) -> None:
        self._value = value
        self._fork = torch.random.fork_rng(devices=[device] if device.startswith("cuda") else [])

    def __enter__(self) -> None:
        self._fork.__enter__()
        torch.manual_seed(self._value)

    def __exit__(self, *error: Any) -> None:
        self._fork.__exit__(*error)


def halving(batch: Sequence[S], ask: Callable[[Sequence[S]], list[T]]) -> tuple[list[T | None], int]:
    """``ask`` the batch, or its halves when it raises OutOfMemory, and so on down to single elements.

    Returns one reply per element, None where it did not fit alone, and how many times a batch was split.
    """
    if not batch:
        return [], 0
    try:
        return list(ask(batch)), 0
    except OutOfMemory:
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
    if len(batch) == 1:
        return [None], 0
    middle = (len(batch) + 1) // 2
    (first, splits), (second, more) = halving(batch[:middle], ask), halving(batch[middle:], ask)
    return first + second, 1 + splits + more


def _content(part: str | AudioSlot) -> dict[str, str]:
    return {"type": "audio"} if isinstance(part, AudioSlot) else {"type": "text", "text": part}


def _how(settings: Settings) -> dict[str, Any]:
    """Decoding is what the settings say; of the checkpoint's own generation config only its penalties remain."""
    common: dict[str, Any] = {"max_new_tokens": settings.max_new_tokens, "num_beams": 1}
    if settings.temperature == "0":
        return {**common, "do_sample": False, "temperature": None, "top_p": None, "top_k": None}
    sampling = {"temperature": float(settings.temperature), "top_p": float(settings.top_p), "top_k": 0}
    return {**common, "do_sample": True, **sampling}


def _end_tokens(configured: int | list[int] | None) -> frozenset[int]:
    if configured is None:
        return frozenset()
    return frozenset([configured] if isinstance(configured, int) else configured)


def _load_processor(folder: Path) -> Any:
    try:
        processor = transformers.AutoProcessor.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except _LOADING_FAILS as error:
        raise FatalError(f"the processor in {folder} cannot be loaded: {_first_line(error)}") from error
    if getattr(processor, "feature_extractor", None) is None or getattr(processor, "tokenizer", None) is None:
        raise FatalError(
            f"transformers makes a bare {type(processor).__name__} of {folder}, which would drop the audio; "
            "save the whole processor beside the weights"
        )
    return processor


def _load_model(folder: Path, dtype: Any, attention: str | None) -> Any:
    transformers.utils.logging.disable_progress_bar()
    config = transformers.AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    kind = _class_for(config, folder)
    chosen = {"attn_implementation": attention} if attention else {}
    try:
        model, found = kind.from_pretrained(
            folder,
            config=config,
            dtype=dtype,
            use_safetensors=True,
            local_files_only=True,
            trust_remote_code=False,
            output_loading_info=True,
            **chosen,
        )
    except _LOADING_FAILS as error:
        raise FatalError(f"the model in {folder} cannot be loaded: {_first_line(error)}") from error
    if absent := sorted(found["missing_keys"]) + sorted(map(str, found["mismatched_keys"])):
        raise FatalError(
            f"{len(absent)} weights of {folder} are missing or misshapen ({absent[0]}, …); they would be random"
        )
    return model


def _class_for(config: Any, folder: Path) -> Any:
    for name in _CLASSES:
        kind = getattr(transformers, name, None)
        if kind is not None and type(config) in kind._model_mapping:
            return kind
    raise FatalError(f"{folder} holds a {config.model_type!r} model, which transformers cannot ask with audio and text")


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
