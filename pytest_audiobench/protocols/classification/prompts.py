"""Prompts that name the task's labels."""

from __future__ import annotations

from collections.abc import Callable

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.protocols.free_text import filled_template, question_of, template_pieces

_PLACEHOLDERS = ("question", "labels")


def words_of(prompt: str) -> Callable[[Sample], str]:
    """What fills ``prompt`` for a sample: ``{question}`` and ``{labels}`` (its choices, commas between them).

    ``{{`` and ``}}`` are braces. Raises UsageError for another placeholder.
    """
    template = template_pieces(prompt, _PLACEHOLDERS)
    asks = any(name == "question" for _, name in template)

    def words(sample: Sample) -> str:
        values = {"labels": ", ".join(sample.choices)}
        if asks:
            values["question"] = question_of(sample)
        return filled_template(template, values).strip()

    return words
