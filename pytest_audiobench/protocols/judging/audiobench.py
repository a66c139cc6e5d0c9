"""AudioBench's parse of a judge's words (github AudioLLMs/AudioBench, src/dataset_src/eval_methods/)."""

from __future__ import annotations

import math


def score(words: str) -> float | None:
    """The last token of the judge's answer as a number; None where it is none, or not a finite one.

    AudioBench writes 0 with success 0 for such an answer, and counts the 0; "nan" would be its mean.
    """
    tokens = words.split()
    try:
        found = float(tokens[-1]) if tokens else math.nan
    except ValueError:
        return None
    return found if math.isfinite(found) else None
