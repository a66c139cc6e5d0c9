"""BEANS-Next's post-processing, as published: an answer becomes segments, which named steps split and then clean.

Facts from github earthspecies/beans-next, beans_next/post_process/pipeline.py (0.1.0).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

from pytest_audiobench.protocols.bioacoustic import extraction, matching, splitting
from pytest_audiobench.protocols.bioacoustic.segments import PipelineError, Segments

StepFunction: TypeAlias = Callable[..., Segments]


class Step(NamedTuple):
    """A step by name, with the parameters that it is given."""

    name: str
    params: Mapping[str, Any] = MappingProxyType({})


class Steps(NamedTuple):
    """All that happens to an answer: first every parser, then every cleaner, each in order."""

    parsers: tuple[Step, ...] = ()
    cleaners: tuple[Step, ...] = ()


PARSERS: Mapping[str, StepFunction] = MappingProxyType({"parse_labels_comma": splitting.parse_labels_comma})
CLEANERS: Mapping[str, StepFunction] = MappingProxyType(
    {
        "normalize_whitespace": splitting.normalize_whitespace,
        "strip_eos": splitting.strip_eos,
        "fuzzy_match_to_labels": matching.fuzzy_match_to_labels,
        "conservative_match_to_labels": matching.conservative_match_to_labels,
        "extract_label_from_text": matching.extract_label_from_text,
        "extract_scientific_name_from_text": extraction.extract_scientific_name_from_text,
        "extract_mcq_choice_from_text": extraction.extract_mcq_choice_from_text,
        "extract_hz_bucket_from_text": extraction.extract_hz_bucket_from_text,
    }
)


def process(raw: str, steps: Steps) -> Segments:
    """``raw`` as one segment, through all parsers and then all cleaners.

    Raises PipelineError for an unknown step, and where a step cannot work with its parameters.
    """
    segments: tuple[str, ...] = (raw,)
    warnings: tuple[str, ...] = ()
    for kind, known, named in (("parser", PARSERS, steps.parsers), ("cleaner", CLEANERS, steps.cleaners)):
        for step in named:
            done = _function(kind, known, step.name)(segments, **step.params)
            segments, warnings = done.segments, warnings + done.warnings
    return Segments(segments, warnings)


def _function(kind: str, known: Mapping[str, StepFunction], name: str) -> StepFunction:
    if name not in known:
        raise PipelineError(f"no {kind} is called {name!r}; there are {', '.join(sorted(known))}")
    return known[name]


def steps_named(parsers: Sequence[Sequence[Any]], cleaners: Sequence[Sequence[Any]]) -> Steps:
    """Steps from pairs of name and parameters."""
    return Steps(tuple(Step(*one) for one in parsers), tuple(Step(*one) for one in cleaners))
