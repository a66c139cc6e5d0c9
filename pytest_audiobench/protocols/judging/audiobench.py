"""AudioBench's parse of a judge's words (github AudioLLMs/AudioBench, src/dataset_src/eval_methods/)."""

from __future__ import annotations


def score(words: str) -> float | None:
    """The last token of the judge's answer as a number; None where it is none.

    AudioBench writes 0 with success 0 for such an answer, and counts the 0.
    """
    tokens = words.split()
    try:
        return float(tokens[-1]) if tokens else None
    except ValueError:
        return None
