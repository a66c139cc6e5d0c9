"""Qwen2.5-Omni with its talker: texts that are spoken too, in one of the checkpoint's voices. Imports torch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from safetensors.torch import load_file

from pytest_audiobench.audio.wav import wav_bytes
from pytest_audiobench.errors import FatalError
from pytest_audiobench.identity import seed
from pytest_audiobench.models.hf.generation import Generator, Prompt, how
from pytest_audiobench.models.hf.loading import load_model, transformers
from pytest_audiobench.models.hf.options import SPEAKERS
from pytest_audiobench.models.messages import Response, Settings

RATE_HZ = 24_000

_PICKLED = "spk_dict.pt"
_MOST_CODES = 4096
_CODES_A_TOKEN = 32
"""The most codes of speech for each token of text that is allowed: a code lasts some 20 ms, a word some tokens."""


class Talker(Generator):
    """The thinker, which writes the answer, and the talker and vocoder, which speak it where speech is requested."""

    def load_model(self) -> Any:
        """The thinker of the whole model; the rest of it stays available."""
        load = self.setup.load
        if load.device_map or load.lora:
            raise FatalError(f"{load.folder} is asked to speak: leave device_map and adapters out")
        voice, speakers = self.setup.options["voice"], self._speakers()
        if voice not in speakers:
            raise FatalError(f"{load.folder} has no speaker {voice!r}; it has {', '.join(sorted(speakers))}")
        kind = transformers.Qwen2_5OmniForConditionalGeneration
        # Its own from_pretrained reads the speakers out of a pickle; that of all models reads the weights alone.
        self._whole = load_model(load, partial(transformers.PreTrainedModel.from_pretrained.__func__, kind))
        if not self._whole.has_talker:
            raise FatalError(f"{load.folder} has no talker: it answers in text alone, without voice=…")
        self._whole.speaker_map = speakers
        thinker = self._whole.thinker
        thinker.generation_config = self._whole.generation_config
        return thinker

    def close(self) -> None:
        del self._whole
        super().close()

    def _speakers(self) -> dict[str, dict[str, Any]]:
        file = self.setup.folder / SPEAKERS
        if not file.is_file():
            remedy = "leave voice=… out"
            if (self.setup.folder / _PICKLED).is_file():
                remedy = f"{_PICKLED} is a pickle, which is not read here; fixtures/convert_speakers.py makes one of it"
            raise FatalError(f"{self.setup.folder} has no {SPEAKERS}: {remedy}")
        speakers: dict[str, dict[str, Any]] = {}
        for name, value in load_file(file).items():
            speaker, _, what = name.rpartition(".")
            speakers.setdefault(speaker, {})[what] = int(value) if what == "bos_token" else value
        return speakers

    def _generate(self, prompts: Sequence[Prompt], settings: Settings) -> list[Response]:
        if not settings.speech:
            return super()._generate(prompts, settings)
        # One by one: the noise that a vocoder begins with is of its own sample then, whatever the batch.
        return [self._spoken(prompt, settings) for prompt in prompts]

    def _spoken(self, prompt: Prompt, settings: Settings) -> Response:
        with self.timed("features_s"):
            inputs = self.on_device(self._inputs([prompt]))
        options = {f"thinker_{name}": value for name, value in how(settings, self.setup.options).items()}
        codes = min(_MOST_CODES, _CODES_A_TOKEN * settings.max_new_tokens)
        device = self.setup.load.device
        with self.timed("generate_s"), torch.random.fork_rng([device] if device.startswith("cuda") else []):
            torch.manual_seed(seed("speech", prompt.key) % 2**63)
            try:
                tokens, wave = self._whole.generate(
                    **inputs, speaker=self.setup.options["voice"], talker_max_new_tokens=codes, **options
                )
            except RuntimeError as error:
                if "non-empty list of Tensors" not in str(error):
                    raise
                # Of an answer that ends with its first token there is nothing to say.
                return super()._generate([prompt], settings)[0]
        new = tokens[0, inputs["input_ids"].shape[1] :].tolist()
        written = self._response(new, int(inputs["attention_mask"].sum()), settings)
        samples = wave.float().cpu().numpy()
        if not len(samples):
            return written
        spoken = Response.spoken(written.text, bytes(wav_bytes(samples, RATE_HZ)), written.finish)
        return replace(spoken, usage=written.usage)
