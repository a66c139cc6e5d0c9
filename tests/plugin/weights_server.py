"""A server whose weights are a file's text: "hearing", "deaf" (always A) or "wordy" (right, in other words).

It speaks predictions_v1 and OpenAI's chat, always under the same names. As a script: ``--port N --weights FILE``.
"""

import argparse
import importlib.util
from pathlib import Path

_FILE = Path(__file__).parents[1] / "models" / "stranger.py"
_SPEC = importlib.util.spec_from_file_location("stranger", _FILE)
STRANGERS = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(STRANGERS)


class WeightsServer(STRANGERS.Stranger):
    """``asked_openai`` counts the chats that were answered; ``before_chat`` is called ahead of each."""

    def __init__(self, weights, port=0):
        super().__init__(port)
        self.RequestHandlerClass = Handler
        self.weights, self.chats = weights, 0
        self.before_chat = lambda: True

    @property
    def count(self):
        """The questions that were answered, without the probes for hearing."""
        return len(self.asked) + self.chats

    def word(self, text, sounds):
        weights = self.weights.read_text().strip()
        letter = "A" if weights == "deaf" else STRANGERS.letter(text, sounds)
        return f"The answer is {letter}." if weights == "wordy" else letter

    def answer(self, item):
        response = super().answer(item)
        text = " ".join(message["content"] for message in item["messages"])
        return {
            **response,
            "predictions": [self.word(text, [STRANGERS.sound(audio) for audio in item["audio_inputs"]])],
        }


class Handler(STRANGERS.Handler):
    def reply(self, asked):
        return self._chat(asked) if self.path.endswith("/chat/completions") else super().reply(asked)

    def _chat(self, asked):
        server = self.server
        with server.lock:
            answers = server.before_chat()
        if not answers:
            return self.say(500, {"error": {"message": "out of memory"}})
        parts = [part for message in asked["messages"] for part in _parts(message["content"])]
        text = " ".join(part["text"] for part in parts if part["type"] == "text")
        sounds = [
            STRANGERS.sound({"payload_type": "base64_wav", "data": part["input_audio"]["data"], "sample_rate": 16000})
            for part in parts
            if part["type"] == "input_audio"
        ]
        with server.lock:
            server.chats += 1
        choice = {"message": {"role": "assistant", "content": server.word(text, sounds)}, "finish_reason": "stop"}
        self.say(200, {"choices": [choice], "usage": {"prompt_tokens": 10, "completion_tokens": 1}})


def _parts(content):
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--weights", type=Path, required=True)
    given = parser.parse_args()
    WeightsServer(given.weights, given.port).serve_forever()


if __name__ == "__main__":
    main()
