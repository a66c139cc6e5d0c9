"""One clip, its words wanted."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.models.messages import AudioSlot, Message, Response, Settings
from pytest_audiobench.protocols.protocol import Answer, Earlier, Protocol, Reading, Stage

INSTRUCTION = "Transcribe the speech."

# An apostrophe belongs to its word only between letters: "don't" is one word, "'tis'" is tis.
_CURLY = str.maketrans({"’": "'", "‘": "'", "ʼ": "'", "`": "'"})
_LONE_APOSTROPHE = re.compile(r"(?<!\w)'|'(?!\w)")
_PUNCTUATION = re.compile(r"[^\w\s']|_")
_NO_ANSWER = Response()


def transcription(
    *readings: str, prompt: str = INSTRUCTION, system: str | None = None, max_new_tokens: int = 256
) -> Protocol:
    """Ask for the words of the sample's clips, in its own question's words or else in ``prompt``'s.

    The one reading so far is ``wer-basic``: word errors by jiwer between reference and answer, both through
    :func:`basic_words`. Raises UsageError for an unknown reading.
    """

    def render(sample: Sample, earlier: Earlier) -> tuple[Message, ...]:
        slots = tuple(AudioSlot(number) for number in range(len(sample.clips)))
        user = Message("user", (*slots, sample.question or prompt))
        return (user,) if system is None else (Message("system", (system,)), user)

    stage = Stage("answer", render, task="transcription", settings=Settings(max_new_tokens=max_new_tokens))
    available = {"wer-basic": Reading("wer-basic", _SIGNATURE, _parse, _score, ("wer",))}
    asked = Protocol("transcription", (stage,), tuple(available.values()), available, expects="words")
    return asked.reading_as(*readings) if readings else asked


_SIGNATURE = "asr:wer-basic|v:1|norm:nfkc+lower+nopunct|empty:deletions|align:jiwer"


def basic_words(text: str) -> list[str]:
    """``text`` in words: NFKC, lower case, no punctuation or symbols, apostrophes kept inside words only."""
    shown = unicodedata.normalize("NFKC", text).lower().translate(_CURLY)
    return _PUNCTUATION.sub(" ", _LONE_APOSTROPHE.sub(" ", shown)).split()


def word_errors(reference: str, answer: str) -> dict[str, int]:
    """Substitutions, deletions, insertions and reference words (S, D, I, N) of one utterance.

    An empty answer is all deletions. An empty reference has N = 0 and every word of the answer inserted: such an
    utterance adds errors to a pooled WER and no words.
    """
    wanted, said = basic_words(reference), basic_words(answer)
    if not wanted or not said:
        return {"S": 0, "D": len(wanted), "I": len(said), "N": len(wanted)}
    import jiwer  # costs 90 ms, which a run that transcribes nothing need not pay

    counts = jiwer.process_words(" ".join(wanted), " ".join(said))
    return {"S": counts.substitutions, "D": counts.deletions, "I": counts.insertions, "N": len(wanted)}


def _parse(sample: Sample, earlier: Earlier) -> Answer:
    """The answer as it is; "truncated" when the limit of tokens cut it, and then its words still count."""
    response = earlier.get("answer", _NO_ANSWER)
    if not response.text.strip():
        return Answer("empty")
    return Answer("truncated" if response.finish == "length" else "parsed", response.text)


def _score(sample: Sample, answer: Answer) -> Mapping[str, float]:
    errors = word_errors(sample.reference, answer.value or "")
    wrong = errors["S"] + errors["D"] + errors["I"]
    return {**errors, "correct": float(wrong == 0)}
