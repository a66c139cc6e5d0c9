"""Which option a sample has put into its audio or its reasoning: the true one, or one of the others."""

from __future__ import annotations

import string

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError
from pytest_audiobench.identity import seed


def correct(sample: Sample) -> str:
    """The letter of the first option that is the reference. Raises UsageError where none is."""
    for letter, choice in zip(string.ascii_uppercase, sample.choices, strict=False):
        if _same(choice, sample.reference):
            return letter
    raise UsageError(
        f"sample {sample.id!r}: its answer {sample.reference!r} is none of its choices {list(sample.choices)}, so none "
        "of them can be injected as the correct one; correct the data set"
    )


def wrong(sample: Sample) -> str:
    """The letter of an option with another text than every true one, drawn from the sample's id alone.

    Raises UsageError where the reference is no option, or no other option is wrong.
    """
    correct(sample)
    others = [
        letter
        for letter, choice in zip(string.ascii_uppercase, sample.choices, strict=False)
        if not any(_same(choice, truth) for truth in sample.truths)
    ]
    if not others:
        raise UsageError(f"sample {sample.id!r} offers nothing but its answer {sample.reference!r}: no wrong option")
    return others[seed("injected", "wrong", sample.id) % len(others)]


def _same(one: str, other: str) -> bool:
    return " ".join(one.casefold().split()) == " ".join(other.casefold().split())
