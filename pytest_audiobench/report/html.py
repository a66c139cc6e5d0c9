"""The page of a run: one self-contained HTML file that opens from disk with no network.

Everything that comes from outside lies in one escaped JSON blob, which the page's script puts into the
document as text and never as markup; a content security policy allows the page's own style and script by
their digests and nothing else, so that an answer that got through all the same would find nothing to run.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pytest_audiobench.protocols.failures import FAILURES
from pytest_audiobench.report import view
from pytest_audiobench.report.atomic import write_chunks
from pytest_audiobench.report.page_frame import PLOT, encoded, page_frame
from pytest_audiobench.report.page_samples import BUDGET_BYTES, PageSamples, bytes_on_page, page_samples
from pytest_audiobench.report.page_sounds import PageSounds, page_sounds
from pytest_audiobench.report.parts import FOLDER
from pytest_audiobench.report.run_files import LINE_FILES
from pytest_audiobench.report.samples import joined
from pytest_audiobench.report.side_by_side import Sides
from pytest_audiobench.report.went_wrong import sentence

PAGE = "report.html"
_OF_RUN = ("run", "started", "finished", "command", "models", "hashes", "runtime", "notes", "epochs")
_OF_ITEM = ("outcome", "message", "errors", "warnings", "hashes", "agreement", "asking")
_OF_EVAL = ("name", "model", "verdict", "tone")
_OF_BLOCK = ("reading", "signature", "answered", "unanswered", "folded")
_OF_SIDES = ("metric", "leading", "compared", "sentence")
_OF_SUITE = ("name", "model", "evals")
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
    taken = sum(map(len, frame)) + bytes_on_page(content)
    shown = page_samples(joined(folder), record["items"], max(budget_bytes - taken, budget_bytes // 4))
    path = folder / PAGE
    write_chunks(path, _page(frame, content, shown, page_sounds(folder / FOLDER)))
    return path


def escaped_json(text: str) -> str:
    """JSON text that may stand in a script element: no tag, entity or line separator of it can end the element."""
    for character, escape in _ESCAPES.items():
        text = text.replace(character, escape)
    return text


def _page(frame: tuple[bytes, bytes], content: str, shown: PageSamples, sounds: PageSounds) -> Iterator[bytes]:
    yield frame[0]
    yield encoded(escaped_json(f'{content[:-1]},"samples":{_encode(shown.index(sounds))}}}'))
    # What is not needed at once lies in elements of its own, so that it is not parsed at once.
    for attributes, text in (*shown.elements(), *sounds.elements()):
        yield f"</script>\n<script {attributes}>".encode()
        yield encoded(escaped_json(text))
    yield frame[1]


def _content(record: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **{name: record[name] for name in _OF_RUN},
        "exit": view.exit_text(record),
        "failed": record["exit_status"] != 0,
        "several": len(view.aliases(record)) > 1,
        "facts": [asdict(facts) for facts in view.models(record)],
        "banners": [asdict(banner) for banner in view.banners(record)],
        "evals": [
            {
                **{name: getattr(one, name) for name in _OF_EVAL},
                **{name: item[name] for name in _OF_ITEM},
                "checks": [asdict(check) for check in one.checks],
                "failures": [asdict(failure) for failure in one.failures],
                "sides": list(map(_sides, one.sides)),
                "blocks": list(map(_block, one.blocks)),
                "readings": [reading["name"] for reading in item["readings"]],
                "wrong": sentence(one.failures),
            }
            for one, item in zip(view.evals(record), record["items"], strict=True)
        ],
        "suites": [
            {
                **{name: getattr(suite, name) for name in _OF_SUITE},
                "blocks": list(map(_block, suite.blocks)),
                "sides": list(map(_sides, suite.sides)),
            }
            for suite in view.suites(record)
        ],
        "failures": FAILURES,
        "files": list(LINE_FILES.values()),
    }


def _block(block: view.Block) -> dict[str, Any]:
    # Groups can be thousands, so each is the texts of its cells and no more.
    groups = [[one.group, one.metric, one.value, one.interval, one.n] for one in block.groups]
    figures = [[one.metric, one.value, one.interval, one.n, one.method] for one in block.figures]
    return {**{name: getattr(block, name) for name in _OF_BLOCK}, "figures": figures, "groups": groups}


def _sides(one: Sides) -> dict[str, Any]:
    return {**{name: getattr(one, name) for name in _OF_SIDES}, "rows": [asdict(row) for row in one.rows]}


def _has_plots(content: Mapping[str, Any]) -> bool:
    return any(owner["sides"] for owner in (*content["evals"], *content["suites"]))
