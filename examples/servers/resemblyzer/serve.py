"""A predictions_v1 server that tells whether two clips are of one speaker, by the speaker encoder of Resemblyzer.

    python fixtures/fetch_weights.py weights resemblyzer
    python serve.py --checkpoint weights/resemblyzer --port 8000
    python serve.py --stub --port 8000          # answers without weights

It understands no language; the README beside this file says all that it does.
"""

import functools
import json
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from checkpoint_files import digest_of
from template_server import Model, main

RATE_HZ, FRAME, HOP = 16000, 400, 160
WINDOW, STEP = 160, 77  # frames of an encoded window, and between the beginnings of two: 1.3 windows a second
LEAST_SHARE = 0.75  # of the last window that must be sound
LEVEL = 10 ** (-30 / 20)  # what softer clips are brought to
NUMBER = re.compile(r"\bnumber\b|\bscore\b|\bhow (likely|similar|alike)\b|\b0 to 1\b", re.IGNORECASE)


class Resemblyzer(Model):
    """The cosine of two clips' encodings, each the mean of windows of 1.6 s."""

    name, model, revision, max_batch, rate_hz = "resemblyzer", "resemblyzer", "not loaded", 32, RATE_HZ
    checkpoint_variable = "RESEMBLYZER_CHECKPOINT"

    @classmethod
    def add_options(cls, parser):
        parser.add_argument("--threshold", type=float, default=0.75, help="cosine from which two clips are one voice's")

    def load(self):
        import torch
        from safetensors.torch import load_file
        from transformers.audio_utils import mel_filter_bank

        folder = Path(self.options.checkpoint)
        settings = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        bands, width = settings["bands"], settings["width"]
        self.network = torch.nn.ModuleDict(
            {
                "lstm": torch.nn.LSTM(bands, width, settings["layers"], batch_first=True),
                "linear": torch.nn.Linear(width, width),
            }
        ).eval()
        self.network.load_state_dict(load_file(folder / "model.safetensors"))
        filters = mel_filter_bank(FRAME // 2 + 1, bands, 0, RATE_HZ / 2, RATE_HZ, norm="slaney", mel_scale="slaney")
        self.filters = torch.from_numpy(filters).float()
        self.revision = f"sha256 {digest_of(folder)}, rule 1, threshold {self.options.threshold:g}"
        # A list of trials names each clip many times.
        self.encoded = functools.lru_cache(maxsize=4096)(self._encoded)

    def answer(self, questions):
        return [self._answer(question) for question in questions]

    def _answer(self, question):
        text = next((m["content"] for m in reversed(question["messages"]) if m["role"] == "user"), "")
        clips = [samples for samples, _ in question["audio"]]
        usage = {"prompt_tokens": len(text.split()), "completion_tokens": 1}
        if not clips:
            return "I cannot tell: there is no sound.", "stop", usage
        if len(clips) == 1:
            middle = len(clips[0]) // 2
            clips = [clips[0][:middle], clips[0][middle:]]
        if len(clips) > 2:
            return ValueError(f"{len(clips)} clips: a trial has two, or one whose halves are compared")
        (first, windows), (second, others) = (self.encoded(bytes(memoryview(_floats(clip)))) for clip in clips)
        cosine = float(first @ second)
        usage["prompt_tokens"] += windows + others
        if NUMBER.search(text):
            return f"{min(max(cosine, 0.0), 1.0):.6f}", "stop", usage
        return "Yes" if cosine >= self.options.threshold else "No", "stop", usage

    def _encoded(self, content):
        """The encoding of a clip, of length 1, and of how many windows it is."""
        import numpy
        import torch

        samples = numpy.frombuffer(content, dtype="float32")
        level = float(numpy.sqrt(numpy.mean(numpy.square(samples, dtype="float64")))) if len(samples) else 0.0
        wave = samples * (max(level, LEVEL) / level) if level else samples
        count = len(wave) // HOP + 1
        starts = list(range(0, max(1, count - WINDOW + STEP + 1), STEP))
        if len(starts) > 1 and (len(wave) / HOP - starts[-1]) / WINDOW < LEAST_SHARE:
            starts.pop()
        padded = numpy.pad(wave, (0, max(0, (starts[-1] + WINDOW) * HOP - len(wave)))).astype("float32")
        with torch.inference_mode():
            window = torch.hann_window(FRAME)
            spectrum = torch.stft(
                torch.from_numpy(padded), FRAME, HOP, window=window, pad_mode="constant", return_complex=True
            )
            mel = spectrum.abs().square().T @ self.filters
            _, (states, _) = self.network["lstm"](torch.stack([mel[start : start + WINDOW] for start in starts]))
            encoded = torch.nn.functional.normalize(self.network["linear"](states[-1]).relu(), dim=1)
            mean = torch.nn.functional.normalize(encoded.mean(dim=0), dim=0)
        return mean.numpy(), len(starts)


def _floats(samples):
    import numpy

    return numpy.ascontiguousarray(samples, dtype="float32")


if __name__ == "__main__":
    main(Resemblyzer)
