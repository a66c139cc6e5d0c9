"""AIR-Bench's scorer of its foundation questions (github OFA-Sys/AIR-Bench, score_foundation.py).

The first character, or else the last but one ("The answer is A."), is the option when it is a capital A to D. Line
breaks and white space at the ends are taken away before; the text "None" is none.
"""

from __future__ import annotations

from pytest_audiobench.datasets.sample import LETTERS
from pytest_audiobench.models.messages import Finish
from pytest_audiobench.protocols.multiple_choice.unanswered import unanswered
from pytest_audiobench.protocols.protocol import Answer

_KNOWN = "ABCD"


def read(text: str, choices: tuple[str, ...], finish: Finish = "stop") -> Answer:
    """The option by that rule; "out_of_range" for a letter that the question does not offer."""
    shown = text.strip().replace("\n", "")
    places = () if shown == "None" else (shown[:1], shown[-2:-1])
    for character in places:
        if character and character in _KNOWN:
            offered = character in LETTERS[: len(choices)]
            return Answer("parsed", character) if offered else Answer("out_of_range")
    return unanswered(text, finish)
