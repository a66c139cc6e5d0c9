"""Which option a sample has put into its audio or its reasoning: the true one, or one of the others."""

from __future__ import annotations

from pytest_audiobench.datasets.choices import LETTERS, letter_of, tidy_caseless
from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError
from pytest_audiobench.identity import seed


def wrong(sample: Sample) -> str:
    """The letter of an option that is not blank and is not read as a true one, drawn from the sample's id alone.

    Raises UsageError where the reference is no option, or no other option is wrong.
    """
    letter_of(sample)
    known = {"", *(tidy_caseless(truth) for truth in sample.truths)}
    others = [
        letter for letter, choice in zip(LETTERS, sample.choices, strict=False) if tidy_caseless(choice) not in known
    ]
    if not others:
        raise UsageError(f"sample {sample.id!r} offers nothing but its answer {sample.reference!r}: no wrong option")
    return others[seed("injected", "wrong", sample.id) % len(others)]
