"""A predictions_v1 server that predicts how good speech sounds, by DNSMOS P.835: a number from 1 to 5.

    python fixtures/fetch_weights.py weights dnsmos
    python serve.py --checkpoint weights/dnsmos --port 8000
    python serve.py --stub --port 8000          # answers without weights

It understands no language; the README beside this file says all that it does.
"""

import hashlib
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from template_server import Model, main

FILE = "sig_bak_ovr.onnx"
WINDOW_S = 9.01  # a shorter clip is repeated; windows of a longer one begin a second apart
SCALES = {  # of each, how a question names it, and the polynomial that its output is published with
    "signal": (r"\bsignal\b|\bspeech itself\b", (-0.08397278, 1.22083953, 0.0052439)),
    "background": (r"\bbackground\b|\bnoise\b", (-0.13166888, 1.60915514, -0.39604546)),
    "overall": (r"", (-0.06766283, 1.11546468, 0.04602535)),
}


class Dnsmos(Model):
    """DNSMOS P.835 by ONNX Runtime on one thread; the mean over windows."""

    name, model, revision, max_batch, rate_hz = "dnsmos", "dnsmos", "not loaded", 32, 16000
    checkpoint_variable = "DNSMOS_CHECKPOINT"

    def load(self):
        import onnxruntime

        weights = (Path(self.options.checkpoint) / FILE).read_bytes()
        settings = onnxruntime.SessionOptions()
        settings.intra_op_num_threads = settings.inter_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(weights, settings, providers=["CPUExecutionProvider"])
        self.revision = f"sha256 {hashlib.sha256(weights).hexdigest()[:16]}, rule 1"

    def answer(self, questions):
        return [self._answer(question) for question in questions]

    def _answer(self, question):
        text = next((m["content"] for m in reversed(question["messages"]) if m["role"] == "user"), "")
        usage = {"prompt_tokens": len(text.split()), "completion_tokens": 1}
        if not question["audio"] or not len(question["audio"][-1][0]):
            return "I cannot tell: there is no sound.", "stop", usage
        scale = next(i for i, (named, _) in enumerate(SCALES.values()) if re.search(named, text, re.IGNORECASE))
        scores = self._scores(question["audio"][-1][0])
        usage["prompt_tokens"] += len(scores)
        return f"{sum(row[scale] for row in scores) / len(scores):.4f}", "stop", usage

    def _scores(self, samples):
        """A row for each window: signal, background and overall."""
        import numpy

        samples = numpy.asarray(samples, dtype="float32")
        length = int(WINDOW_S * self.rate_hz)
        while len(samples) < length:
            samples = numpy.append(samples, samples)
        rows = []
        for second in range(int(len(samples) / self.rate_hz - WINDOW_S) + 1):
            window = samples[second * self.rate_hz : second * self.rate_hz + length]
            (raw,) = self.session.run(None, {"input_1": window[None]})[0]
            pairs = zip(SCALES.values(), raw.tolist(), strict=True)
            rows.append([float(numpy.polyval(curve, value)) for (_, curve), value in pairs])
        return rows


if __name__ == "__main__":
    main(Dnsmos)
