"""The page of a run: one self-contained HTML file that opens from disk with no network.

Everything that comes from outside lies in one escaped JSON blob, which the page's script puts into the
document as text and never as markup; a content security policy allows the page's own style and script by
their digests and nothing else, so that an answer that got through all the same would find nothing to run.
What only some runs have, such as perturbations, is imported by those alone.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_audiobench.audio.events import EVENT_TYPES
from pytest_audiobench.evaluation.garbage_collection import collector_paused
from pytest_audiobench.io.mistakes import listed
from pytest_audiobench.protocols.answer_failures import FAILURES
from pytest_audiobench.protocols.protocol import gives_letters
from pytest_audiobench.records.fields import Record, plain
from pytest_audiobench.records.lines import COMPARED_FILE, LINE_FILES
from pytest_audiobench.records.run import ModelRecord, RunRecord
from pytest_audiobench.report import summary_footer, view_model
from pytest_audiobench.report.atomic_files import write_chunks
from pytest_audiobench.report.failure_breakdown import failure_sentence
from pytest_audiobench.report.formatting import axis_value
from pytest_audiobench.report.joined_samples import joined
from pytest_audiobench.report.label_tables import LabelCounts, LabelTable
from pytest_audiobench.report.page.frame import PLOT, encode, encoded, escaped_json, page_frame
from pytest_audiobench.report.page.result_rows import ResultRows
from pytest_audiobench.report.page.samples import BUDGET_BYTES, Numbered, PageSamples, bytes_on_page, page_samples
from pytest_audiobench.report.page.sounds import PageSounds, page_sounds
from pytest_audiobench.report.run_writer import PARTS
from pytest_audiobench.report.scene_columns import columns, typed
from pytest_audiobench.report.scorer_comparison import ScorerComparison, ScorerRow
from pytest_audiobench.report.verdict import absent_set, baseline_changes, is_control, run_verdict

if TYPE_CHECKING:
    from pytest_audiobench.report.changes import Changes
    from pytest_audiobench.report.page.scenes import EventCounts
    from pytest_audiobench.report.smallest_flips import FlippedSamples, SmallestFlips

PAGE = "report.html"
_OF_RUN = ("run", "started", "finished", "command", "commit", "models", "hashes", "runtime", "notes", "epochs")
_OF_ITEM = ("outcome", "message", "errors", "warnings", "hashes", "agreement", "asking", "protocol")
_OF_EVAL = ("name", "model", "suite", "control", "mark", "verdict", "tone")
_OF_BLOCK = ("scorer", "signature", "parse_rate", "unparsed", "folded")
_OF_SUITE = ("name", "model", "evals")
_MOST_CURVES = 120
"""Curves on the page, of which each is some kilobytes; the leading metrics' come first."""
_MOST_CELLS = 30_000
"""Cells of the grids of perturbations, of which each is some hundred bytes; the leading metrics' come first."""
_MOST_MODELS, _MOST_SUITES = 3, 2
"""Names in the page's title."""
_MOST_PLAIN = 2_000_000
"""Characters of the page's data that stand there as JSON; of many evals it is deflated, to a quarter or less."""
_OF_CELL = ("value", "interval", "n", "parse_rate", "fewer", "drop", "drop_interval", "p", "against", "at", "eval")
_OF_SHEET = ("model", "metric", "scorer", "unit", "low", "high")


@collector_paused()
def write_page(folder: Path, record: RunRecord, budget_bytes: int = BUDGET_BYTES) -> Path:
    """Write ``report.html`` into a run's folder from its record and its merged line files; returns its path.

    The page holds all numbers, and as many samples as these leave room for within ``budget_bytes``, or within a quarter
    of it where the numbers are so many; samples are shared among the evals. The page says what it left out.
    """
    changes, words = baseline_changes(record), Numbered()
    values = _content(record, changes, words)
    title = " · ".join(filter(None, (values["title"], record.run, "pytest-audiobench")))
    frame = page_frame(title, [PLOT] if _has_plots(values) else [])
    content = encode(values)
    left = budget_bytes - sum(map(len, frame)) - bytes_on_page(content)
    reserve = budget_bytes // 10
    counts, events, flipped = LabelCounts(record.items), _event_counts(record), _flipped_samples(record)
    results = ResultRows(record, changes.lines if changes else ())
    path = folder / PAGE
    samples = results.watch(counts.watch(joined(folder)))
    samples = events.watch(samples) if events else samples
    samples = flipped.watch(samples) if flipped else samples
    on_page = page_samples(samples, record.items, max(left - reserve, budget_bytes // 4))
    tables = _within(reserve, counts.tables())
    smallest = flipped.smallest() if flipped else []
    listed = [(flip.eval, flip.model, flip.sample_id) for each in smallest for flip in each.flips]
    sounds = page_sounds(folder / PARTS, first=listed)
    sounds.recorded = all(model.device == "recorded" for model in record.models)
    further = {
        "results": encode(_results(results, words)),
        "changedCounts": encode([[*owner, flips.counts_text] for owner, flips in results.flips.items()]),
        "words": encode(list(words.texts)),
        "labels": f"[{','.join(tables)}]",
        "events": encode(events.tables() if events else []),
        "flips": encode([_flips(each, sounds) for each in smallest]),
    }
    write_chunks(path, _page(frame, content, further, on_page, sounds))
    return path


def _within(budget_bytes: int, tables: Sequence[LabelTable]) -> list[str]:
    embedded = []
    for table in tables:
        text = encode(table._asdict())
        budget_bytes -= bytes_on_page(text)
        embedded.append(text if budget_bytes >= 0 else "null")
    return embedded


def _page(
    frame: tuple[bytes, bytes], content: str, further: Mapping[str, str], samples: PageSamples, sounds: PageSounds
) -> Iterator[bytes]:
    """The page in pieces; ``further`` are members of its data, as JSON, that the samples had to be read for."""
    yield frame[0]
    members = "".join(f',"{name}":{text}' for name, text in further.items())
    rest = f'{members},"samples":{encode(samples.index(sounds))}}}'
    yield _embedded(content[:-1] + rest)
    # What is not needed at once lies in elements of its own, so that it is not parsed at once.
    for attributes, text in (*samples.elements(), *sounds.elements()):
        yield f"</script>\n<script {attributes}>".encode()
        yield encoded(escaped_json(text))
    yield frame[1]


def _embedded(data: str) -> bytes:
    if len(data) <= _MOST_PLAIN:
        return encoded(escaped_json(data))
    return base64.b64encode(zlib.compress(encoded(data)))


def _content(record: RunRecord, changes: Changes | None, words: Numbered) -> dict[str, Any]:
    evals, suites = view_model.evals(record), view_model.suites(record)
    return {
        **_members(record, _OF_RUN),
        "verdict": run_verdict(record)._asdict(),
        "title": _title(record),
        "several": len(view_model.aliases(record)) > 1,
        "answers": summary_footer.answers_line(record),
        "facts": [asdict(facts) for facts in summary_footer.models(record)],
        "banners": [asdict(banner) for banner in view_model.cautions(record)],
        "evals": [
            {
                **{name: getattr(view, name) for name in _OF_EVAL},
                **_members(item, _OF_ITEM),
                "perturbation": item.perturbation.name if item.perturbation else "",
                "isControl": is_control(item),
                "letters": [scorer.name for scorer in item.scorers if gives_letters(scorer.signature)],
                "absent": absent_set(item),
                "checks": [asdict(check) for check in view.checks],
                "failures": [asdict(failure) for failure in view.failures],
                "comparisons": [_scorer_comparison(one, words) for one in view.comparisons],
                "blocks": [_block(block, words) for block in view.blocks],
                "scorers": [scorer.name for scorer in item.scorers],
                "failureSentence": failure_sentence(view.failures),
            }
            for view, item in zip(evals, record.items, strict=True)
        ],
        "averages": [each for suite in suites for each in _averages(suite, words)],
        "suites": [
            {
                **{name: getattr(suite, name) for name in _OF_SUITE},
                "blocks": [_block(block, words) for block in suite.blocks],
                "comparisons": [_scorer_comparison(one, words) for one in suite.comparisons],
            }
            for suite in suites
        ],
        "grids": list(_grids(record)),
        "columns": _columns(evals),
        **_answer_comparisons(record),
        "perturbations": _perturbations(record),
        "noise": _noise(record),
        "findings": _findings(record),
        "published": _published(record),
        "directions": {metric.name: metric.direction for item in record.items for metric in item.metrics}
        | {metric.name: metric.direction for suite in record.suites for metric in suite.metrics},
        "changes": None if changes is None else asdict(changes),
        "failures": FAILURES,
        "files": [*LINE_FILES.values(), *([] if changes is None else [COMPARED_FILE])],
    }


def _members(record: Record, names: Sequence[str]) -> dict[str, Any]:
    return {name: plain(getattr(record, name)) for name in names}


def _compact(figure: view_model.Figure, words: Numbered) -> list[Any]:
    # Groups can be thousands, so each is what its cells and its mark need and no more.
    texts = [words.of(figure.metric), figure.value, figure.interval, figure.n]
    return [*texts, figure.at, figure.low, figure.high, words.of(figure.unit), words.of(figure.method)]


def _title(record: RunRecord) -> str:
    """``poor: bundled, compared with good``: the models, what they were asked, and what it is compared with."""
    baseline = record.baseline
    base = baseline.model if baseline and baseline.run == record.run else ""
    subjects = [model for model in record.models if model.role == "subject" and model.alias != base]
    suites = list(dict.fromkeys(item.suite for item in record.items if item.scorers))
    asked = ", ".join(suites) if len(suites) <= _MOST_SUITES else f"{len(suites)} suites"
    models = listed([*map(_subject, subjects)], _MOST_MODELS)
    parts = ": ".join(filter(None, (models or "No model", asked)))
    if baseline is None:
        return parts
    # A model of the same name says less than where its answers are from.
    is_other = baseline.model and baseline.model not in {model.alias for model in subjects}
    return f"{parts}, compared with {baseline.model if is_other else baseline.source}"


def _subject(model: ModelRecord) -> str:
    """A model by its alias, and by its spec where that has another name: ``candidate (hf:checkpoints/step-2000)``."""
    return model.alias if model.alias in model.spec else f"{model.alias} ({model.spec})"


def _results(results: ResultRows, words: Numbered) -> list[dict[str, Any]]:
    return [{**row, "figure": row["figure"] and _compact(row["figure"], words)} for row in results.rows()]


def _averages(suite: view_model.Suite, words: Numbered) -> Iterator[dict[str, Any]]:
    for name, figures in suite.averages.items():
        for block, figure in figures:
            about = {
                "name": f"{suite.name}, {name}",
                "model": suite.model,
                "scorer": block.title or block.scorer,
            }
            yield {**about, "figure": _compact(figure, words)}


def _block(block: view_model.Block, words: Numbered) -> dict[str, Any]:
    figures = [_compact(figure, words) for figure in block.figures]
    groups = [[words.of(figure.group), *_compact(figure, words)] for figure in block.groups]
    some = {"columns": [_compact(figure, words) for figure in block.columns], "evals": block.evals}
    some = {name: value for name, value in some.items() if value}
    return {**{name: getattr(block, name) for name in _OF_BLOCK}, "figures": figures, "groups": groups, **some}


def _columns(evals: Sequence[view_model.Eval]) -> dict[str, Any]:
    figures = (figure for eval_ in evals for block in eval_.blocks for figure in block.columns)
    names = list(dict.fromkeys(figure.metric for figure in figures))
    return {"all": columns(names), "typed": list(typed(names).items()), "types": EVENT_TYPES}


def _scorer_comparison(comparison: ScorerComparison, words: Numbered) -> dict[str, Any]:
    table = comparison.table

    def row_of(row: ScorerRow) -> list[Any]:
        texts = map(words.of, (row.scorer, row.signature, row.wording, row.why))
        drawn = (axis_value(value, table.unit) for value in (row.value, row.lower, row.upper))
        told = (row.value_text, row.interval_text, comparison.difference(row), comparison.is_headline(row))
        return [*texts, row.n, row.skipped, row.unparsed, *drawn, *told]

    return {
        "metric": table.metric,
        "leading": comparison.leading,
        "reference": comparison.reference.scorer,
        "sentence": comparison.sentence,
        "rows": [row_of(row) for row in table.rows],
    }


def _published(record: RunRecord) -> list[dict[str, Any]]:
    if not any(item.published for item in record.items):
        return []
    from pytest_audiobench.report.published_values import published_values

    return [asdict(value) for value in published_values(record)]


def _noise(record: RunRecord) -> list[dict[str, Any]]:
    if not view_model.has_conditions(record):
        return []
    from pytest_audiobench.report.noise_tables import noise_tables

    return [asdict(table) for table in noise_tables(record)]


def _findings(record: RunRecord) -> list[dict[str, Any]]:
    if not view_model.has_findings(record):
        return []
    from pytest_audiobench.report.findings_tables import findings_view

    return [asdict(view) for view in findings_view(record)]


def _perturbations(record: RunRecord) -> dict[str, Any]:
    if not view_model.has_perturbations(record):
        return {"curves": [], "summaries": [], "more": 0}
    from pytest_audiobench.report import perturbation_view

    curves, summaries = perturbation_view.curves(record.suites), perturbation_view.summaries(record.suites)
    return {
        "curves": [asdict(curve) for curve in curves[:_MOST_CURVES]],
        "summaries": [asdict(summary) for summary in summaries[:_MOST_CURVES]],
        "more": max(0, len(curves) - _MOST_CURVES),
    }


def _answer_comparisons(record: RunRecord) -> dict[str, Any]:
    if not view_model.has_comparisons(record):
        return {"comparisons": [], "comparisonColumns": {}}
    from pytest_audiobench.report.answer_comparison import COLUMNS, answer_comparisons

    comparisons = [
        {**comparison._asdict(), "blocks": [block._asdict() for block in comparison.blocks]}
        for comparison in answer_comparisons(record)
    ]
    return {"comparisons": comparisons, "comparisonColumns": COLUMNS}


def _grids(record: RunRecord) -> Iterator[dict[str, Any]]:
    """As grid.js takes them apart; sheets beyond what a page may hold are counted."""
    if not view_model.has_perturbations(record):
        return
    from pytest_audiobench.report.perturbation_grid import grids

    left = _MOST_CELLS
    for grid in grids(record):
        sheets = []
        for sheet in grid.sheets:
            left -= len(grid.rows) * len(grid.columns)
            if left >= 0:
                cells = [[cell and [getattr(cell, name) for name in _OF_CELL] for cell in row] for row in sheet.cells]
                sheets.append({**{name: getattr(sheet, name) for name in _OF_SHEET}, "cells": cells})
        if sheets:
            heads = {"suites": grid.suites, "rows": [list(row) for row in grid.rows], "columns": grid.columns}
            yield {**heads, "sheets": sheets, "more": len(grid.sheets) - len(sheets)}


def _event_counts(record: RunRecord) -> EventCounts | None:
    if all(item.protocol != "soundscape" for item in record.items):
        return None
    from pytest_audiobench.report.page.scenes import EventCounts

    return EventCounts(record.items)


def _flipped_samples(record: RunRecord) -> FlippedSamples | None:
    if all(item.perturbation is None or item.perturbation.dose is None for item in record.items):
        return None
    from pytest_audiobench.report.smallest_flips import FlippedSamples

    return FlippedSamples(record.items)


def _flips(smallest: SmallestFlips, sounds: PageSounds) -> dict[str, Any]:
    heads = {name: getattr(smallest, name) for name in ("of", "model", "family", "perturbation", "dose", "count", "n")}
    owners = [(flip, (flip.eval, flip.model, flip.sample_id)) for flip in smallest.flips]
    flips = [{**flip._asdict(), "sounds": list(map(list, sounds.of.get(owner, ())))} for flip, owner in owners]
    return {**heads, "flips": flips}


def _has_plots(content: Mapping[str, Any]) -> bool:
    owners = (*content["evals"], *content["suites"])
    blocks = [block for owner in owners for block in owner["blocks"]]
    measured = [owner for owner in content["evals"] if any(block["figures"] for block in owner["blocks"])]
    names = [figure[0] for block in blocks for figure in block["figures"]]
    return bool(
        content["changes"]
        or content["perturbations"]["curves"]
        or content["findings"]
        or any(owner["comparisons"] for owner in owners)
        or any(block["groups"] for block in blocks)
        or len(names) > len(set(names))
        or len(measured) > 1
    )
