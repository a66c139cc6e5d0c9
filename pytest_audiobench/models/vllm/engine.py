"""A chat model in vLLM's engine: prompts and clips in, texts out. Imports torch, transformers and vllm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from vllm import LLM, SamplingParams
from vllm.exceptions import VLLMClientError

from pytest_audiobench.errors import FatalError
from pytest_audiobench.identity import seed
from pytest_audiobench.models.hf.checkpoint import first_line
from pytest_audiobench.models.hf.engine import Setup
from pytest_audiobench.models.hf.generation import Generator, Prompt, trial
from pytest_audiobench.models.hf.loading import sealed
from pytest_audiobench.models.messages import Finish, Output, Part, Response, Settings
from pytest_audiobench.models.model import Hearing


class VllmGenerator(Generator):
    """``chosen`` are arguments of vLLM's ``LLM``."""

    def __init__(self, setup: Setup, chosen: Mapping[str, Any]) -> None:
        self._chosen = chosen
        super().__init__(setup)

    def load_model(self) -> Any:
        load = self.setup.load
        try:
            with sealed(load.trust):
                # What earlier batches left in a cache would decide which kernels the next one is computed by.
                return LLM(
                    str(load.folder),
                    dtype=load.dtype,
                    trust_remote_code=load.trust,
                    enable_prefix_caching=False,
                    disable_log_stats=True,
                    **self._chosen,
                )
        except Exception as error:  # its engine is another process, of which any error may come
            raise load.failed("model", error) from error

    def prove(self) -> Hearing:
        one = Settings(max_new_tokens=1)
        prompts = [self._prompt(trial(self.setup.rate_hz, clips)) for clips in (1, 0)]
        heard, unheard = (self._generate([prompt], one)[0] for prompt in prompts)
        if why := heard.error or unheard.error:
            raise FatalError(f"vLLM cannot ask {self.setup.folder}: {why}")
        marked = len(self.processor.tokenizer(prompts[0].text)["input_ids"])
        grown = heard.usage["prompt_tokens"] - max(unheard.usage["prompt_tokens"], marked)
        if grown <= 0 or not self._is_sound(prompts[0]):
            raise FatalError(
                f"the prompt of {self.setup.folder} does not grow with the audio: its chat template drops it; "
                "save the model's own processor beside the weights"
            )
        return Hearing("proven", f"one second of audio adds {grown} tokens to the prompt")

    def close(self) -> None:
        self.model.llm_engine.engine_core.shutdown()
        super().close()

    def _generate(self, prompts: Sequence[Prompt], settings: Settings) -> list[Response]:
        penalty = self.setup.options.get("repetition_penalty") or self._own_penalty()
        todo = [_engine_prompt(prompt, self.setup.rate_hz) for prompt in prompts]
        wanted = [_sampling(prompt, settings, float(penalty)) for prompt in prompts]
        try:
            with self.timed("generate_s"):
                done = self.model.generate(todo, wanted, use_tqdm=False)
        except (ValueError, VLLMClientError) as error:  # one that it does not take, for which it takes none
            if len(prompts) == 1:
                return [Response(error=f"vLLM does not take it: {first_line(error)}", lasting=True)]
            return [reply for prompt in prompts for reply in self._generate([prompt], settings)]
        except Exception as error:
            raise FatalError(f"the engine of vLLM broke on {self.setup.folder}: {first_line(error)}") from error
        return list(map(_response, done))

    def _own_penalty(self) -> Any:
        return self.model.get_default_sampling_params().repetition_penalty


def _engine_prompt(prompt: Prompt, rate_hz: int) -> dict[str, Any]:
    clips = {"multi_modal_data": {"audio": [(clip, rate_hz) for clip in prompt.audio]}} if prompt.audio else {}
    return {"prompt": prompt.text, **clips}


def _sampling(prompt: Prompt, settings: Settings, penalty: float) -> Any:
    common = {"max_tokens": settings.max_new_tokens, "repetition_penalty": penalty}
    if settings.temperature == "0":
        return SamplingParams(temperature=0.0, **common)
    drawn = {"temperature": float(settings.temperature), "top_p": float(settings.top_p)}
    return SamplingParams(seed=seed("sampling", prompt.key) % 2**31, **drawn, **common)


def _response(done: Any) -> Response:
    output = done.outputs[0]
    finishes: dict[str, Finish] = {"stop": "stop", "length": "length"}
    usage = {"prompt_tokens": len(done.prompt_token_ids), "completion_tokens": len(output.token_ids)}
    finish = finishes.get(output.finish_reason, "unknown")
    return Response(outputs=(Output((Part("text", output.text),), finish),), usage=usage)
