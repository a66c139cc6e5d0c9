"""Prompts that name the task's labels."""

from __future__ import annotations

import string
from collections.abc import Callable

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError
from pytest_audiobench.protocols.free_text import question_of

_PLACEHOLDERS = ("question", "labels")


def words_of(prompt: str) -> Callable[[Sample], str]:
    """What fills ``prompt`` for a sample: ``{question}`` and ``{labels}`` (its choices, commas between them).

    ``{{`` and ``}}`` are braces. Raises UsageError for another placeholder.
    """
    try:
        pieces = list(string.Formatter().parse(prompt))
    except ValueError as error:
        raise UsageError(f"the prompt {prompt!r} cannot be read ({error}); write a brace as {{{{ or }}}}") from None
    for _, name, specification, conversion in pieces:
        if name is not None and (name not in _PLACEHOLDERS or specification or conversion):
            raise UsageError(
                f"the prompt {prompt!r} has the unknown placeholder {{{name}}}; known are {{question}} and {{labels}}"
            )

    def words(sample: Sample) -> str:
        said = {"": "", "labels": ", ".join(sample.choices)}
        if any(name == "question" for _, name, _, _ in pieces):
            said["question"] = question_of(sample)
        return "".join(literal + said[name or ""] for literal, name, _, _ in pieces).strip()

    return words
