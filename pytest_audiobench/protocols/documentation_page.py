"""The list of protocols and metrics in Markdown, drawn from the registry; its examples are computed, not written."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.metrics.registry import metric_kind, names
from pytest_audiobench.models.messages import Response
from pytest_audiobench.protocols.catalogue import FAMILIES, family
from pytest_audiobench.protocols.protocol import Answer, Example, Protocol, Scorer

_VERSION = re.compile(
    r"\b(version|nltk|pycocoevalcap|rouge_score|sacrebleu|num2words|whisper(?:-[a-z]+)?)([:-])\d+(?:\.\d+)+"
)
"""The version of a library in a signature: the list says which library, a run which version of it."""

_SHOWN = 3
"""Metrics shown of an example."""

_ESCAPES = str.maketrans({"|": "\\|", "\n": " ⏎ ", "<": "&lt;", ">": "&gt;"})


def markdown() -> str:
    """Every family, scorer and metric. Needs the parts of every scorer, since the examples are computed."""
    lines: list[str] = []
    for name, asks in FAMILIES.items():
        lines += _family(name, asks, family(name))
    lines += _metrics()
    return "\n".join(lines) + "\n"


def worked(scorer: Scorer, stage: str) -> list[tuple[Example, Answer, Mapping[str, float] | None]]:
    """The scorer's examples with what it makes of each; those that it scores together are one set.

    An example's text is what ``stage`` answered; for a scorer of verdicts, what the judge said.
    """
    found = []
    for number, example in enumerate(scorer.about.examples):
        sample = Sample(
            id=f"example-{number}",
            clips=(),
            question=example.question,
            choices=example.choices,
            reference=example.reference or (example.references[0] if example.references else ""),
            references=example.references,
            metadata=dict(example.metadata),
        )
        said = {name: Response.of(text) for name, text in example.earlier.items()}
        said[scorer.judge or stage] = Response.of(example.text, example.finish)
        answer = scorer.parse(sample, said)
        found.append((example, sample, answer, scorer.score(sample, answer)))
    further: Iterator[Mapping[str, float]] = iter(())
    if scorer.together is not None:
        further = iter(scorer.together([(sample, answer) for _, sample, answer, scores in found if scores is not None]))
    return [
        (example, answer, scores if scores is None or scorer.together is None else {**scores, **next(further)})
        for example, _, answer, scores in found
    ]


def _family(name: str, asks: str, protocol: Protocol) -> Iterator[str]:
    yield f"## {name}"
    yield ""
    headline = protocol.scorers[0].name
    yield f"{asks}. `{name}()` reads by `{headline}` unless told otherwise."
    yield ""
    yield "| scorer | metrics | source |"
    yield "|---|---|---|"
    for scorer in protocol.available.values():
        metrics = ", ".join(scorer.metrics)
        yield f"| [`{scorer.name}`](#{_anchor(name, scorer.name)}) | {metrics} | {_cell(scorer.about.source)} |"
    yield ""
    for scorer in protocol.available.values():
        yield from _reading(name, scorer, protocol.stages[-1].name)


def _reading(family_: str, scorer: Scorer, stage: str) -> Iterator[str]:
    about = scorer.about
    yield f"### {family_}: {scorer.name}"
    yield ""
    signature = _VERSION.sub(r"\1\2…", scorer.signature)
    yield f"Signature `{signature}`"
    yield ""
    yield _prose(about.rule)
    if scorer.beside:
        kept = ", ".join(f"`{name}`" for name in scorer.beside)
        yield f"It leaves answers out of its score; {kept} is shown beside it."
    if about.defects:
        yield ""
        yield f"**Known defects.** {_prose(about.defects)}"
    yield ""
    yield f"Source: {_prose(about.source)}."
    yield ""
    if scorer.lacking():
        yield "No example is computed here, since it needs parts that no package of this project brings."
        yield ""
        return
    rows = worked(scorer, stage)
    if rows:
        yield from _examples(scorer.metrics[:_SHOWN], rows)
        yield ""


def _examples(
    metrics: Sequence[str], rows: Sequence[tuple[Example, Answer, Mapping[str, float] | None]]
) -> Iterator[str]:
    has_choices = any(example.choices for example, _, _ in rows)
    yield f"| answer | {'options | ' if has_choices else ''}reference | read as | it alone scores |"
    yield f"|---|{'---|' if has_choices else ''}---|---|---|"
    for example, answer, scores in rows:
        truths = example.references or (example.reference,)
        read = answer.status if answer.value is None else _cell(answer.value)
        scored = "left out" if scores is None else _scored(metrics, scores)
        options = f"{_cell(' / '.join(example.choices))} | " if has_choices else ""
        cut = " (cut by the limit of tokens)" if example.finish == "length" else ""
        texts = " → ".join(_cell(text) for text in (*example.earlier.values(), example.text))
        yield f"| {texts}{cut} | {options}{_cell(' / '.join(truths))} | {read} | {scored} |"


def _scored(metrics: Sequence[str], scores: Mapping[str, float]) -> str:
    """The metrics over this one sample alone."""
    values = ((name, metric_kind(name).estimate([scores], None).value) for name in metrics)
    return ", ".join(f"{name} {'–' if math.isnan(value) else f'{value:.3g}'}" for name, value in values)


def _metrics() -> Iterator[str]:
    yield "## Metrics"
    yield ""
    yield "| metric | better | unit | what it is |"
    yield "|---|---|---|---|"
    for name in names():
        kind = metric_kind(name)
        alone = "" if kind.poolable else " A suite has no value of it, since it depends on the set."
        yield f"| `{name}` | {kind.direction} | {kind.unit or '–'} | {_cell(kind.about)}{alone} |"


def _anchor(family_: str, scorer: str) -> str:
    return f"{family_}-{scorer}".lower()


def _prose(text: str) -> str:
    """``text`` with what looks like a tag shown as it is; within backticks it is already."""
    pieces = text.split("`")
    return "`".join(piece if number % 2 else piece.replace("<", "&lt;") for number, piece in enumerate(pieces))


def _cell(text: str) -> str:
    return text.translate(_ESCAPES) if text.strip() else "–"
