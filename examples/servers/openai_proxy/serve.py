"""A predictions_v1 server in front of chat completions with audio: OpenAI, Gemini, vLLM, or any server like them.

    OPENAI_BASE_URL=https://api.openai.com OPENAI_MODEL=gpt-audio python serve.py --port 8000
    VLLM_UPSTREAM_BASE_URL=http://127.0.0.1:8001 VLLM_MODEL_ID=Qwen/Qwen2-Audio-7B-Instruct python serve.py --port 8000
    python serve.py --port 8000 --stub

It needs Python 3.9 or later and nothing else.
"""

import base64
import hashlib
import io
import json
import sys
import wave
from array import array
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from chat_client import ChatClient, add_options, on, setting
from template_server import PLACEHOLDER, Model, main

SAMPLING = ("max_tokens", "temperature", "top_p")
FORMATS = ("input_audio", "audio_url_data")


def wav(samples, rate_hz):
    """The clip as a WAV file of 16 bits: unchanged where it came as one of one channel."""
    if hasattr(samples, "clip"):
        data = (samples * 32768).round().clip(-32768, 32767).astype("<i2").tobytes()
    else:
        values = array("h", (max(-32768, min(32767, round(sample * 32768))) for sample in samples))
        if sys.byteorder == "big":
            values.byteswap()
        data = values.tobytes()
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(rate_hz)
        sound.writeframes(data)
    return file.getvalue()


def part_of(clip, form):
    data = base64.b64encode(wav(*clip)).decode()
    if form == "audio_url_data":
        return {"type": "audio_url", "audio_url": {"url": f"data:audio/wav;base64,{data}"}}
    return {"type": "input_audio", "input_audio": {"data": data, "format": "wav"}}


def with_audio(messages, parts):
    """The messages with every clip where its placeholder stands; without any, all before the last user's words."""
    if not any(PLACEHOLDER in message["content"] for message in messages):
        last = max((i for i, message in enumerate(messages) if message["role"] == "user"), default=None)
        if last is None:
            return [*messages, {"role": "user", "content": parts}]
        content = [*parts, *_text(messages[last]["content"])]
        return [*messages[:last], {"role": "user", "content": content}, *messages[last + 1 :]]
    clips, placed = iter(parts), []
    for message in messages:
        first, *rest = message["content"].split(PLACEHOLDER)
        content = _text(first)
        for words in rest:
            content += [next(clips), *_text(words)]
        placed.append({**message, "content": content if rest else message["content"]})
    return placed


def _text(words):
    return [{"type": "text", "text": words.strip()}] if words.strip() else []


class Proxy(Model):
    name, model, revision, max_batch = "openai-proxy", "openai-compatible", "unnamed", 32

    @classmethod
    def add_options(cls, parser):
        add_options(parser)
        form = setting("OPENAI_PROXY_AUDIO_FORMAT", "VLLM_AUDIO_CONTENT_FORMAT", default=FORMATS[0])
        parser.add_argument("--audio-format", choices=FORMATS, default=form, help="how clips are sent")
        words = setting("OPENAI_PROXY_SYSTEM_PROMPT", default="")
        parser.add_argument("--system-prompt", default=words, help="where the question brings none")
        parser.add_argument("--audio-only", action="store_true", default=on("VLLM_AUDIO_ONLY"), help="send no words")
        modalities = setting("VLLM_OUTPUT_MODALITIES", default="")
        parser.add_argument("--modalities", default=modalities, help="what to ask back, such as text; with commas")
        effort = setting("GEMINI_REASONING_EFFORT")
        parser.add_argument("--reasoning-effort", default=effort, help="none, low, medium or high")
        least = setting("GEMINI_MIN_MAX_TOKENS", default=1024)
        parser.add_argument(
            "--gemini-min-max-tokens", type=int, default=least, help="Gemini's thoughts count as tokens"
        )
        parser.set_defaults(
            stub=on("OPENAI_PROXY_STUB", "VLLM_ADAPTER_STUB"),
            max_audio_s=setting("OPENAI_PROXY_MAX_AUDIO_SECONDS", "VLLM_ADAPTER_MAX_AUDIO_SECONDS"),
            max_batch=setting("OPENAI_PROXY_MAX_BATCH_SIZE", "VLLM_MAX_BATCH_SIZE"),
        )

    def load(self):
        if self.options.audio_format not in FORMATS:
            raise ValueError(f"clips are sent as {' or '.join(FORMATS)}, not as {self.options.audio_format}")
        self.chat = ChatClient(self.options)
        self.model = self.options.model
        changes = {
            name: getattr(self.options, name)
            for name in ("system_prompt", "extra_body", "audio_only", "reasoning_effort")
        }
        changes = json.dumps({name: value for name, value in changes.items() if value}, sort_keys=True)
        asked = f", asked in the way {hashlib.sha256(changes.encode()).hexdigest()[:8]}" if changes != "{}" else ""
        self.revision = f"{self.options.revision} at {self.chat.host}{asked}"
        self.chat.wait()

    def answer(self, questions):
        return self.chat.ask_all([self.body(question) for question in questions])

    def body(self, question):
        parts = [part_of(clip, self.options.audio_format) for clip in question["audio"]]
        messages = with_audio(question["messages"], parts) if parts else question["messages"]
        if self.options.audio_only and parts:
            messages = [{"role": "user", "content": parts}]
        if self.options.system_prompt and not any(message["role"] == "system" for message in messages):
            messages = [{"role": "system", "content": self.options.system_prompt}, *messages]
        config = question["generation_config"]
        body = {"messages": messages, **{name: config[name] for name in SAMPLING if config.get(name) is not None}}
        if self.options.modalities:
            body["modalities"] = [name.strip() for name in self.options.modalities.split(",")]
        if self.options.reasoning_effort:
            body["reasoning_effort"] = self.options.reasoning_effort
        if self.chat.gemini:
            body["max_tokens"] = max(body.get("max_tokens", 0), self.options.gemini_min_max_tokens)
        return body


if __name__ == "__main__":
    main(Proxy)
