"""The documentation of scorers: ``scorers/<family>.md`` next to this module, read only where somebody asks for it."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Iterator, Mapping
from importlib.resources import files
from types import MappingProxyType
from typing import Any, NamedTuple

from pytest_audiobench.datasets.sample import Field
from pytest_audiobench.models.messages import Finish
from pytest_audiobench.protocols.catalogue import OWN_FAMILIES
from pytest_audiobench.protocols.protocol import Scorer

_SECTION = re.compile(
    r"^## (?P<name>.+)\n\n(?P<rule>(?:.+\n)+)"
    r"(?:\n\*\*Known defects\.\*\* (?P<defects>(?:.+\n)+))?"
    r"\nSource: (?P<source>(?:.+\n)+)"
    r"(?:\n```yaml\n(?P<examples>(?:(?!```$).*\n)+)```\n)?",
    re.M,
)


class Example(NamedTuple):
    """A sample and an answer to it. What a scorer makes of them is computed where it is shown, never written down."""

    text: str
    reference: str = ""
    question: str = ""
    choices: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    metadata: Mapping[str, Field] = MappingProxyType({})
    finish: Finish = "stop"
    earlier: Mapping[str, str] = MappingProxyType({})
    """The answers of the stages before, by stage."""


class Documentation(NamedTuple):
    """The documentation of a scorer."""

    rule: str
    """The whole rule."""
    source: str
    """The paper, or the repository and file, that the rule comes from; "ours" for our own."""
    examples: tuple[Example, ...] = ()
    defects: str = ""
    """What is known to be wrong with a published rule, and what our default does otherwise."""


@functools.cache
def scorer_documentation(family: str) -> Mapping[str, Documentation]:
    """The documentation of the family's scorers, by the scorers' names."""
    text = files(__package__).joinpath("scorer_pages", f"{family}.md").read_text(encoding="utf-8")
    sections = {match["name"]: _documentation(match) for match in _SECTION.finditer(text)}
    if headings := set(re.findall(r"^## (.+)$", text, re.M)) - set(sections):
        raise ValueError(f"scorers/{family}.md: a section needs a rule and its source: {', '.join(sorted(headings))}")
    return MappingProxyType(sections)


def documentation_of(family: str, scorer: Scorer) -> Documentation:
    """The documentation of one of the family's scorers; of one without a page, the docstring of its ``parse``."""
    own = scorer_documentation(family) if family in OWN_FAMILIES else {}
    if scorer.name in own:
        return own[scorer.name]
    rule = " ".join((inspect.getdoc(scorer.parse) or "not documented").split())
    return Documentation(rule, scorer.parse.__module__)


def _documentation(match: re.Match[str]) -> Documentation:
    rule, source, defects = (" ".join((match[part] or "").split()) for part in ("rule", "source", "defects"))
    return Documentation(rule, source, tuple(_examples(match["examples"] or "")), defects)


def _examples(text: str) -> Iterator[Example]:
    """The examples of a YAML list: each entry is what samples have in common, with the ``answers`` to them."""
    import yaml

    for entry in yaml.safe_load(text) or ():
        fields: dict[str, Any] = {name: tuple(value) if type(value) is list else value for name, value in entry.items()}
        yield from (Example(answer, **fields) for answer in fields.pop("answers"))
