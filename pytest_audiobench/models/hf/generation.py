"""Chat models that hear: prompts and audio in, generated texts out. Imports torch and transformers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import torch

from pytest_audiobench.audio.clip import PlayedAudio, Samples
from pytest_audiobench.errors import FatalError, UsageError
from pytest_audiobench.identity import seed
from pytest_audiobench.models.hf.checkpoint import chat_template, first_line
from pytest_audiobench.models.hf.engine import Engine, Setup
from pytest_audiobench.models.hf.template_limits import TemplateTooCostly, limited_rendering
from pytest_audiobench.models.messages import Ask, AudioSlot, Finish, Message, Output, Part, Request, Response, Settings
from pytest_audiobench.models.model import Hearing

_SMUGGLED = Response(
    error="the question holds the model's own audio token, so its clips cannot be distinguished", lasting=True
)

_RENDERED = 4096
"""Prompts remembered: evals often ask one question about every clip, and each again in the next epoch."""


class Prompt(NamedTuple):
    """A conversation as the template wants it and as text, with its audio in the order of its slots.

    ``key`` is the request's. ``text`` is empty where a family's processor renders and encodes at once. ``digests`` are
    of the clips' samples, "" where one has none.
    """

    key: str
    turns: list[dict[str, Any]]
    text: str
    audio: list[Samples]
    digests: list[str]


class Generator(Engine):
    """A chat model and its processor."""

    def __init__(self, setup: Setup) -> None:
        self._render = setup.family.hook("render") or _by_template
        self._inputs_of = setup.family.hook("inputs") or by_processor
        self._rendered: dict[tuple[Message, ...], str] = {}
        super().__init__(setup)

    def prove(self) -> Hearing:
        """A processor that is none drops the audio, and generation runs happily without it."""
        if shorten := self.setup.family.hook("shorten"):
            shorten(self.processor, self.model)
        self._tokenizer = self.processor.tokenizer
        self._tokenizer.padding_side = self.setup.padding
        if self._tokenizer.pad_token_id is None:
            self._tokenizer.pad_token = self._tokenizer.eos_token
        ends = self.model.generation_config.eos_token_id
        self._ends = {ends} if isinstance(ends, int) else set(ends or ())
        heard, unheard = self._prompt(trial(self.setup.rate_hz, 1)), self._prompt(trial(self.setup.rate_hz, 0))
        deaf = FatalError(
            f"the prompt of {self.setup.folder} does not grow with the audio: its chat template or processor drops it; "
            "save the model's own processor beside the weights"
        )
        if not self._is_sound(heard):
            raise deaf
        played, plain = self._inputs([heard]), self._inputs([unheard])
        marked = len(self._tokenizer(heard.text)["input_ids"]) if heard.text else 0
        grown = played["input_ids"].shape[1] - max(plain["input_ids"].shape[1], marked)
        features = [name for name in played if name not in plain]
        if grown <= 0 or not any(played[name].is_floating_point() for name in features):
            raise deaf
        return Hearing("proven", f"one second of audio adds {grown} tokens to the prompt, and {' and '.join(features)}")

    def reply(self, batch: Sequence[Ask], settings: Settings) -> list[Response]:
        prompts = [self._prompt(ask) for ask in batch]
        answers = [None if self._is_sound(prompt) else _SMUGGLED for prompt in prompts]
        calls: dict[int, list[int]] = {}  # one of all, or one for each number of clips
        for i, prompt in enumerate(prompts):
            if answers[i] is None:
                calls.setdefault(len(prompt.audio) if self.setup.family.even else 0, []).append(i)
        for positions in calls.values():
            for i, reply in zip(positions, self._generate([prompts[i] for i in positions], settings), strict=True):
                answers[i] = reply
        return [answer for answer in answers if answer is not None]

    def _generate(self, prompts: Sequence[Prompt], settings: Settings) -> list[Response]:
        with self.timed("features_s"):
            inputs = self.on_device(self._inputs(prompts))
        seeded = _own_seed([prompt.key for prompt in prompts], settings, self.setup.load.device)
        with self.timed("generate_s"), seeded:
            room = self.steps(inputs["input_ids"].shape[1] + settings.max_new_tokens)
            tokens = self.model.generate(**inputs, **how(settings, self.setup.options), **room)
        new = tokens[:, inputs["input_ids"].shape[1] :].tolist()
        lengths = inputs["attention_mask"].sum(dim=1).tolist()
        return [self._response(row, length, settings) for row, length in zip(new, lengths, strict=True)]

    def _response(self, new: list[int], prompt_tokens: int, settings: Settings) -> Response:
        end = next((position for position, token in enumerate(new) if token in self._ends), None)
        finish: Finish = "stop" if end is not None else "length" if len(new) >= settings.max_new_tokens else "unknown"
        text = self._tokenizer.decode(new[:end], skip_special_tokens=True, clean_up_tokenization_spaces=False)
        generated = len(new) if end is None else end + 1
        usage = {"prompt_tokens": prompt_tokens, "completion_tokens": generated}
        return Response(outputs=(Output((Part("text", text),), finish),), usage=usage)

    def _prompt(self, ask: Ask) -> Prompt:
        messages = ask.request.messages
        turns = [{"role": m.role, "content": [_content(part) for part in m.parts]} for m in messages]
        if (text := self._rendered.get(messages)) is None:
            text = self._rendered[messages] = self._text(turns)
            if len(self._rendered) > _RENDERED:
                self._rendered.pop(next(iter(self._rendered)))
        slots = [part.clip for m in messages for part in m.parts if isinstance(part, AudioSlot)]
        played = [ask.audio[clip] for clip in slots]
        clips = [self.filled_up(one.samples) for one in played]
        return Prompt(ask.request.key, turns, text, clips, [one.pcm_digest for one in played])

    def _text(self, turns: list[dict[str, Any]]) -> str:
        try:
            with limited_rendering():
                return str(self._render(self.processor, turns))
        except TemplateTooCostly as error:
            file, _ = chat_template(self.setup.folder)
            raise UsageError(
                f"the chat template in {file} cannot be rendered: {error}; correct it, or "
                "save that of the model which this one was trained from"
            ) from None
        except Exception as error:  # a template is a program of the checkpoint's: it may raise anything
            raise FatalError(f"the chat template of {self.setup.folder} fails: {first_line(error)}") from error

    def _is_sound(self, prompt: Prompt) -> bool:
        """Whether the prompt has one audio token per clip: a question may hold the token's own text."""
        token = getattr(self.processor, "audio_token", None)
        return token is None or not prompt.text or prompt.text.count(str(token)) == len(prompt.audio)

    def _inputs(self, prompts: Sequence[Prompt]) -> Any:
        inputs = self._inputs_of(self.processor, prompts, self.setup.rate_hz)
        mask, padding = inputs["attention_mask"], self.setup.padding
        if padding == "right" and not mask[:, 0].all():
            raise FatalError(
                f"the processor of {self.setup.folder} pads on the left whatever it is asked: leave padding=right out"
            )
        if padding == "left" and not mask[:, -1].all():
            raise FatalError(
                f"the processor of {self.setup.folder} pads on the right, behind which a model continues with "
                "nonsense; give its family an inputs hook that pads on the left"
            )
        return inputs


def _by_template(processor: Any, turns: list[dict[str, Any]]) -> str:
    return str(processor.apply_chat_template(turns, tokenize=False, add_generation_prompt=True))


def by_processor(processor: Any, prompts: Sequence[Prompt], rate_hz: int) -> Any:
    """The tensors of a batch as the checkpoint's own processor makes them."""
    audio = [clip for prompt in prompts for clip in prompt.audio]
    played = {"audio": audio, "sampling_rate": rate_hz} if audio else {}
    return processor(text=[prompt.text for prompt in prompts], return_tensors="pt", padding=True, **played)


def trial(rate_hz: int, clips: int) -> Ask:
    parts: tuple[str | AudioSlot, ...] = (*(AudioSlot(i) for i in range(clips)), "What is heard?")
    request = Request("", "", "", "", "open", (Message("user", parts),), clips=())
    silence = PlayedAudio(np.zeros(rate_hz, dtype=np.float32), rate_hz, "", rate_hz, rate_hz, "none")
    return Ask(request, (silence,) * clips)


@contextmanager
def _own_seed(keys: Sequence[str], settings: Settings, device: str) -> Iterator[None]:
    """Sampling from its own seed, with the global random state left as it was."""
    if settings.temperature == "0":
        yield
        return
    with torch.random.fork_rng(devices=[device] if device.startswith("cuda") else []):
        torch.manual_seed(seed("sampling", *keys))
        yield


def how(settings: Settings, options: Any) -> dict[str, Any]:
    """Decoding is what the settings and the spec say; of the checkpoint's own generation config penalties remain."""
    common: dict[str, Any] = {"max_new_tokens": settings.max_new_tokens, "num_beams": int(options.get("beams", 1))}
    if "repetition_penalty" in options:
        common["repetition_penalty"] = float(options["repetition_penalty"])
    if settings.temperature == "0":
        return {**common, "do_sample": False, "temperature": None, "top_p": None, "top_k": None}
    sampling = {"temperature": float(settings.temperature), "top_p": float(settings.top_p), "top_k": 0}
    return {**common, "do_sample": True, **sampling}


def _content(part: str | AudioSlot) -> dict[str, str]:
    return {"type": "audio"} if isinstance(part, AudioSlot) else {"type": "text", "text": part}
