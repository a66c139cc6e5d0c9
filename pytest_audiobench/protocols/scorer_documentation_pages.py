"""The pages of docs/scorers, drawn from the registry: a page for each family, the index of them and the metrics.

Their examples are computed, not written. Of a scorer that lacks parts on this machine the examples stay as they are.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.metrics.registry import metric_kind, names
from pytest_audiobench.models.messages import Response
from pytest_audiobench.protocols.catalogue import OWN_FAMILIES, family
from pytest_audiobench.protocols.protocol import Answer, Scorer
from pytest_audiobench.protocols.scorer_documentation import Documentation, Example, scorer_documentation

INDEX = "README.md"
MARK = "<!-- printed by: audiobench list scorers --markdown FOLDER -->\n"
"""What stands before it in the index is written by hand, and stays."""

_PARTS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "judged": {
        "judged-scores": ("marks", r"rubric|mmau-pro|audiobench-|voicebench-open|jasco|air-bench-chat"),
        "judged-options": ("which option an answer means", r"(air-bench-)?align|extract"),
    },
    "multiple_choice": {"multiple_choice-faithfulness": ("the faithfulness study's rules", r"faithfulness-")},
    "translation": {
        "translation-bleu-cjk": ("BLEU for Chinese, Japanese and Korean", r"bleu-(zh|ja|ko|char)"),
        "translation-bleu": ("BLEU by other tokenizers", r"bleu-"),
    },
}
"""Further pages of long families: what each is called, what it holds, and how the names of its scorers begin."""

_VERSION = re.compile(
    r"\b(version|nltk|pycocoevalcap|rouge_score|sacrebleu|num2words|whisper(?:-[a-z]+)?|wordllama)([:-])\d+(?:\.(?:post)?\d+)+"
)
"""The version of a library in a signature: the page says which library, a run which version of it."""

_MOST_METRICS = 3
"""Metrics shown of an example."""

_ESCAPES = str.maketrans({"|": "\\|", "\n": " ⏎ ", "<": "&lt;", ">": "&gt;"})


def write_pages(folder: Path) -> list[Path]:
    """The pages, written into ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    pages = {f"{name}.md": list(_family_page(name, _present(folder / f"{name}.md"))) for name in OWN_FAMILIES}
    for name, parts in _PARTS.items():
        pages |= {f"{part}.md": list(_part_page(name, part, _present(folder / f"{part}.md"))) for part in parts}
    pages["metrics.md"] = list(_metrics_page())
    pages[INDEX] = [_present(folder / INDEX).partition(MARK)[0] + MARK, *_index()]
    for name, lines in pages.items():
        (folder / name).write_text("\n".join(lines).rstrip("\n") + "\n", encoding="utf-8")
    return [folder / name for name in pages]


def computed_examples(
    scorer: Scorer, examples: Sequence[Example], stage: str
) -> list[tuple[Example, Answer, Mapping[str, float] | None]]:
    """The examples with what the scorer makes of each; those that it scores together are one set.

    An example's text is what ``stage`` answered; for a scorer of verdicts, what the judge said.
    """
    rows = []
    for number, example in enumerate(examples):
        sample = Sample(
            id=f"example-{number}",
            clips=(),
            question=example.question,
            choices=example.choices,
            reference=example.reference or (example.references[0] if example.references else ""),
            references=example.references,
            metadata=dict(example.metadata),
        )
        responses = {name: Response.of(text) for name, text in example.earlier.items()}
        for name in (scorer.judge or stage, *scorer.further_judges):
            responses[name] = Response.of(example.text, example.finish)
        answer = scorer.parse(sample, responses)
        rows.append((example, sample, answer, scorer.score(sample, answer)))
    further: Iterator[Mapping[str, float]] = iter(())
    if scorer.together is not None:
        further = iter(scorer.together([(sample, answer) for _, sample, answer, scores in rows if scores is not None]))
    return [
        (example, answer, scores if scores is None or scorer.together is None else {**scores, **next(further)})
        for example, _, answer, scores in rows
    ]


def _present(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def _index() -> Iterator[str]:
    yield "| family | asks for | scorers, the default first |\n|---|---|---|"
    for name, asks in OWN_FAMILIES.items():
        protocol = family(name)
        scorers = dict.fromkeys((protocol.scorers[0].name, *protocol.available))
        yield f"| [{name}]({name}.md) | {asks} | {', '.join(f'`{scorer}`' for scorer in scorers)} |"
    yield "\nWhat the metrics mean is in [metrics](metrics.md)."


def _family_page(name: str, present: str) -> Iterator[str]:
    protocol, documentation = family(name), scorer_documentation(name)
    yield f"# {name}\n"
    yield f"{OWN_FAMILIES[name]}. `{name}()` scores by `{protocol.scorers[0].name}` unless other scorers are named.\n"
    parts = [f"[{title}]({part}.md)" for part, (title, _) in _PARTS.get(name, {}).items()]
    if parts:
        yield f"On pages of their own: {', '.join(parts)}.\n"
    yield "| scorer | metrics | source |\n|---|---|---|"
    for scorer in protocol.available.values():
        source = _cell(documentation[scorer.name].source)
        yield f"| [`{scorer.name}`]({_page_of(name, scorer)}#{scorer.name}) | {', '.join(scorer.metrics)} | {source} |"
    yield ""
    yield from _sections(name, (each for each in protocol.available.values() if not _page_of(name, each)), present)


def _part_page(name: str, part: str, present: str) -> Iterator[str]:
    yield f"# {name}: {_PARTS[name][part][0]}\n\nA part of [{name}]({name}.md), where all its scorers are listed.\n"
    scorers = family(name).available.values()
    yield from _sections(name, (each for each in scorers if _page_of(name, each) == f"{part}.md"), present)


def _page_of(name: str, scorer: Scorer) -> str:
    """The further page that a scorer stands on; empty for the family's own."""
    parts = _PARTS.get(name, {}).items()
    return next((f"{part}.md" for part, (_, begins) in parts if re.match(begins, scorer.name)), "")


def _sections(name: str, scorers: Iterable[Scorer], present: str) -> Iterator[str]:
    documentation = scorer_documentation(name)
    for scorer in scorers:
        section = documentation[scorer.name]
        yield from _section(scorer, section)
        rows = (
            _present_rows(scorer.name, present)
            if scorer.missing_parts()
            else list(_example_rows(scorer, section, name))
        )
        if rows:
            options = "options | " if any(example.choices for example in section.examples) else ""
            yield f"| answer | {options}reference | parsed as | score of it alone |"
            yield from (f"|---|{'---|' * bool(options)}---|---|---|", *rows, "")
        else:
            yield "No example is computed here, since it needs parts that no package of this project brings.\n"


def _section(scorer: Scorer, documentation: Documentation) -> Iterator[str]:
    signature = _VERSION.sub(r"\1\2…", scorer.signature)
    yield f"## {scorer.name}\n\nSignature `{signature}`\n\n{_prose(documentation.rule)}"
    if scorer.companions:
        companions = ", ".join(f"`{name}`" for name in scorer.companions)
        yield f"Always reported with it: {companions}."
    if documentation.defects:
        yield f"\n**Known defects.** {_prose(documentation.defects)}"
    yield f"\nSource: {_prose(documentation.source)}.\n"


def _present_rows(name: str, page: str) -> list[str]:
    """The rows of the table of examples that ``page`` has in the scorer's section."""
    section = page.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
    return [line for line in section.split("\n") if line.startswith("| ")][1:]


def _example_rows(scorer: Scorer, documentation: Documentation, name: str) -> Iterator[str]:
    examples = documentation.examples
    has_choices = any(example.choices for example in examples)
    for example, answer, scores in computed_examples(scorer, examples, family(name).stages[-1].name):
        truths = example.references or (example.reference,)
        parsed = answer.status if answer.value is None else _cell(answer.value)
        score = "left out" if scores is None else _score(scorer.metrics[:_MOST_METRICS], scores)
        options = f"{_cell(' / '.join(example.choices))} | " if has_choices else ""
        cut = " (cut by the limit of tokens)" if example.finish == "length" else ""
        texts = " → ".join(_cell(text) for text in (*example.earlier.values(), example.text))
        yield f"| {texts}{cut} | {options}{_cell(' / '.join(truths))} | {parsed} | {score} |"


def _score(metrics: Sequence[str], scores: Mapping[str, float]) -> str:
    values = ((name, metric_kind(name).estimate([scores], None).value) for name in metrics)
    return ", ".join(f"{name} {'–' if math.isnan(value) else f'{value:.3g}'}" for name, value in values)


def _metrics_page() -> Iterator[str]:
    yield "# Metrics\n\n| metric | better | unit | what it is |\n|---|---|---|---|"
    for name in names():
        kind = metric_kind(name)
        alone = "" if kind.poolable else " A suite has no value of it, since it depends on the set."
        yield f"| `{name}` | {kind.direction} | {kind.unit or '–'} | {_cell(kind.about)}{alone} |"


def _prose(text: str) -> str:
    """``text`` with what looks like a tag shown as it is; within backticks it is already."""
    pieces = text.split("`")
    return "`".join(piece if number % 2 else piece.replace("<", "&lt;") for number, piece in enumerate(pieces))


def _cell(text: str) -> str:
    return text.translate(_ESCAPES) if text.strip() else "–"
