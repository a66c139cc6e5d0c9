"""The page of a run: one self-contained HTML file that opens from disk with no network.

Everything that comes from outside lies in one escaped JSON blob, which the page's script puts into the
document as text and never as markup; a content security policy allows the page's own style and script by
their digests and nothing else, so that an answer that got through all the same would find nothing to run.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pytest_audiobench.evaluation.garbage_collection import collector_paused
from pytest_audiobench.protocols.failures import FAILURES
from pytest_audiobench.report import perturbations, view_model
from pytest_audiobench.report.answer_comparison import COLUMNS, AnswerComparison, answer_comparisons
from pytest_audiobench.report.atomic_files import write_chunks
from pytest_audiobench.report.changes import changes
from pytest_audiobench.report.failure_breakdown import sentence
from pytest_audiobench.report.findings_table import findings_view
from pytest_audiobench.report.joined_samples import joined
from pytest_audiobench.report.label_tables import LabelCounts, LabelTable
from pytest_audiobench.report.page.page_frame import PLOT, encoded, page_frame
from pytest_audiobench.report.page.page_samples import BUDGET_BYTES, PageSamples, bytes_on_page, page_samples
from pytest_audiobench.report.page.page_sounds import PageSounds, page_sounds
from pytest_audiobench.report.perturbation_grid import EvalScores, Grid, grids
from pytest_audiobench.report.run_files import COMPARED_FILE, LINE_FILES
from pytest_audiobench.report.run_parts import FOLDER
from pytest_audiobench.report.scorer_comparison import Sides
from pytest_audiobench.report.smallest_flips import Flip, FlippedSamples, SmallestFlips
from pytest_audiobench.report.verdict import run_verdict

PAGE = "report.html"
_OF_RUN = ("run", "started", "finished", "command", "models", "hashes", "runtime", "notes", "epochs")
_OF_ITEM = ("outcome", "message", "errors", "warnings", "hashes", "agreement", "asking")
_OF_EVAL = ("name", "model", "mark", "verdict", "tone")
_OF_BLOCK = ("scorer", "signature", "answered", "unanswered", "folded")
_OF_SIDES = ("metric", "leading", "compared", "sentence")
_OF_SUITE = ("name", "model", "evals")
_MOST_CURVES = 120
"""Curves on the page, of which each is some kilobytes; the leading metrics' come first."""
_MOST_CELLS = 30_000
"""Cells of the grids of perturbations, of which each is some hundred bytes; the leading metrics' come first."""
_OF_CELL = ("value", "interval", "n", "answered", "fewer", "drop", "drop_interval", "p", "against", "at")
_ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def write_page(folder: Path, record: Mapping[str, Any], budget_bytes: int = BUDGET_BYTES) -> Path:
    """Write ``report.html`` into a run's folder from its record and its merged line files; returns its path.

    The page holds all numbers, and as many samples as these leave room for within ``budget_bytes``, or within a quarter
    of it where the numbers are so many; samples are shared among the evals. The page says what it left out.
    """
    drawn = _content(record)
    frame = page_frame(f"{record['run']} · pytest-audiobench", [PLOT] if _has_plots(drawn) else [])
    content = _encode(drawn)
    left = budget_bytes - sum(map(len, frame)) - bytes_on_page(content)
    kept_back = budget_bytes // 10
    counts, flips = LabelCounts(record["items"]), FlippedSamples(record["items"])
    path = folder / PAGE
    with collector_paused():
        samples = flips.watch(counts.watch(joined(folder)))
        shown = page_samples(samples, record["items"], max(left - kept_back, budget_bytes // 4))
        tables = _within(kept_back, counts.tables())
        flipped = flips.found()
        listed = [(flip.eval, flip.model, flip.sample_id) for one in flipped for flip in one.flips]
        sounds = page_sounds(folder / FOLDER, first=listed)
        beside = {"labels": f"[{','.join(tables)}]", "flipped": _encode([_flipped(one, sounds) for one in flipped])}
        write_chunks(path, _page(frame, content, beside, shown, sounds))
    return path


def escaped_json(text: str) -> str:
    """JSON text that may stand in a script element: no tag, entity or line separator of it can end the element."""
    for character, escape in _ESCAPES.items():
        text = text.replace(character, escape)
    return text


def _within(budget_bytes: int, tables: Sequence[LabelTable]) -> list[str]:
    """As many of the tables, as JSON, as a budget allows, and null for each of the others."""
    findings_view = []
    for table in tables:
        text = _encode(table._asdict())
        budget_bytes -= bytes_on_page(text)
        findings_view.append(text if budget_bytes >= 0 else "null")
    return findings_view


def _page(
    frame: tuple[bytes, bytes], content: str, beside: Mapping[str, str], shown: PageSamples, sounds: PageSounds
) -> Iterator[bytes]:
    """The page in pieces; ``beside`` are further members of its data, as JSON, that the samples had to be read for."""
    yield frame[0]
    further = "".join(f',"{name}":{text}' for name, text in beside.items())
    rest = f'{further},"samples":{_encode(shown.index(sounds))}}}'
    yield encoded(escaped_json(content[:-1] + rest))
    # What is not needed at once lies in elements of its own, so that it is not parsed at once.
    for attributes, text in (*shown.elements(), *sounds.elements()):
        yield f"</script>\n<script {attributes}>".encode()
        yield encoded(escaped_json(text))
    yield frame[1]


def _content(record: Mapping[str, Any]) -> dict[str, Any]:
    changed = changes(record)
    words = _Words()
    return {
        **{name: record[name] for name in _OF_RUN},
        "verdict": run_verdict(record)._asdict(),
        "several": len(view_model.aliases(record)) > 1,
        "facts": [asdict(facts) for facts in view_model.models(record)],
        "banners": [asdict(banner) for banner in view_model.banners(record)],
        "evals": [
            {
                **{name: getattr(one, name) for name in _OF_EVAL},
                **{name: item[name] for name in _OF_ITEM},
                "checks": [asdict(check) for check in one.checks],
                "failures": [asdict(failure) for failure in one.failures],
                "sides": list(map(_sides, one.sides)),
                "blocks": [_block(block, words) for block in one.blocks],
                "scorers": [scorer["name"] for scorer in item["scorers"]],
                "wrong": sentence(one.failures),
            }
            for one, item in zip(view_model.evals(record), record["items"], strict=True)
        ],
        "suites": [
            {
                **{name: getattr(suite, name) for name in _OF_SUITE},
                "blocks": [_block(block, words) for block in suite.blocks],
                "sides": list(map(_sides, suite.sides)),
            }
            for suite in view_model.suites(record)
        ],
        "grids": _grids(grids(record)),
        "held": [_held(one) for one in answer_comparisons(record)],
        "heldColumns": COLUMNS,
        "perturbations": _perturbations(record),
        "findings": [asdict(one) for one in findings_view(record)],
        "changes": None if changed is None else asdict(changed),
        "words": list(words.places),
        "failures": FAILURES,
        "files": [*LINE_FILES.values(), *([] if changed is None else [COMPARED_FILE])],
    }


@dataclass
class _Words:
    """Texts that many numbers share, each once: its place stands for it."""

    places: dict[str, int] = field(default_factory=dict)

    def place(self, text: str) -> int:
        return self.places.setdefault(text, len(self.places))


def _block(block: view_model.Block, words: _Words) -> dict[str, Any]:
    def shown(one: view_model.Figure) -> list[Any]:
        # Groups can be thousands, so each is what its cells and its mark need and no more.
        texts = [one.metric, one.value, one.interval, one.n]
        return [*texts, one.at, one.low, one.high, words.place(one.unit), words.place(one.method)]

    figures = [shown(one) for one in block.figures]
    groups = [[one.group, *shown(one)] for one in block.groups]
    return {**{name: getattr(block, name) for name in _OF_BLOCK}, "figures": figures, "groups": groups}


def _sides(one: Sides) -> dict[str, Any]:
    return {**{name: getattr(one, name) for name in _OF_SIDES}, "rows": [asdict(row) for row in one.rows]}


def _perturbations(record: Mapping[str, Any]) -> dict[str, Any]:
    curves, summaries = perturbations.curves(record), perturbations.summaries(record)
    return {
        "curves": [asdict(one) for one in curves[:_MOST_CURVES]],
        "summaries": [asdict(one) for one in summaries[:_MOST_CURVES]],
        "more": max(0, len(curves) - _MOST_CURVES),
    }


def _held(one: AnswerComparison) -> dict[str, Any]:
    return {**one._asdict(), "blocks": [block._asdict() for block in one.blocks]}


def _grids(findings_view: Sequence[Grid]) -> list[dict[str, Any]]:
    """As page.grid.js takes them apart; sheets beyond what a page may hold are counted."""
    left, drawn = _MOST_CELLS, []
    for grid in findings_view:
        kept = []
        for sheet in grid.sheets:
            left -= len(grid.rows) * len(grid.columns)
            if left >= 0:
                kept.append(_sheet(sheet))
        if kept:
            about = {"suites": grid.suites, "rows": [list(row) for row in grid.rows], "columns": grid.columns}
            drawn.append({**about, "sheets": kept, "more": len(grid.sheets) - len(kept)})
    return drawn


def _flipped(one: SmallestFlips, sounds: PageSounds) -> dict[str, Any]:
    def heard(flip: Flip) -> list[list[Any]]:
        return [list(sound) for sound in sounds.of.get((flip.eval, flip.model, flip.sample_id), ())]

    about = {name: getattr(one, name) for name in ("of", "model", "family", "perturbation", "dose", "count", "n")}
    return {**about, "flips": [{**flip._asdict(), "sounds": heard(flip)} for flip in one.flips]}


def _sheet(sheet: EvalScores) -> dict[str, Any]:
    cells = [[cell and [getattr(cell, name) for name in _OF_CELL] for cell in row] for row in sheet.cells]
    about = {name: getattr(sheet, name) for name in ("model", "metric", "scorer", "unit", "low", "high")}
    return {**about, "cells": cells}


def _has_plots(content: Mapping[str, Any]) -> bool:
    """Whether there is more than one number of a kind, a curve, or a difference from a baseline."""
    owners = (*content["evals"], *content["suites"])
    blocks = [block for owner in owners for block in owner["blocks"]]
    names = [figure[0] for block in blocks for figure in block["figures"]]
    return bool(
        content["changes"]
        or content["perturbations"]["curves"]
        or content["findings"]
        or any(owner["sides"] for owner in owners)
        or any(block["groups"] for block in blocks)
        or len(names) > len(set(names))
    )
