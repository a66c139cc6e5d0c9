"""The page of a run: one self-contained HTML file that opens from disk with no network.

Everything that comes from outside lies in one escaped JSON blob, which the page's script puts into the
document as text and never as markup; a content security policy allows the page's own style and script by
their digests and nothing else, so that an answer that got through all the same would find nothing to run.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from importlib.resources import files
from pathlib import Path
from typing import Any

from pytest_audiobench.report import view
from pytest_audiobench.report.atomic import write_chunks
from pytest_audiobench.report.page_samples import BUDGET_BYTES, Shown, page_samples
from pytest_audiobench.report.run_files import LINE_FILES
from pytest_audiobench.report.samples import joined

PAGE = "report.html"

_OF_RUN = ("run", "started", "finished", "command", "models", "hashes", "runtime", "notes", "epochs")
_OF_ITEM = ("outcome", "message", "errors", "warnings", "hashes", "agreement", "asking")
_OF_SUITE = ("name", "model", "evals")
_ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def write_page(folder: Path, record: Mapping[str, Any], budget_bytes: int = BUDGET_BYTES) -> Path:
    """Write ``report.html`` into a run's folder from its record and its merged line files; returns its path.

    Samples are embedded up to ``budget_bytes``, shared among the evals; the page says what it left out.
    """
    shown = page_samples(joined(folder), record["items"], budget_bytes)
    path = folder / PAGE
    write_chunks(path, _page(record, shown))
    return path


def escaped_json(text: str) -> str:
    """JSON text that may stand in a script element: no tag, entity or line separator of it can end the element."""
    for character, escape in _ESCAPES.items():
        text = text.replace(character, escape)
    return text


def _page(record: Mapping[str, Any], shown: list[Shown]) -> Iterator[bytes]:
    style, script = _resource("page.css"), _resource("page.js")
    parts = {
        "policy": _policy(style, script),
        "style": style,
        "script": script,
        "title": html.escape(f"{record['run']} · pytest-audiobench"),
    }
    before, after = _resource("page.html").split("{{data}}")
    yield _bytes(_filled(before, parts))
    yield _bytes(escaped_json(_encode(_content(record))[:-1] + ',"samples":['))
    for number, item in enumerate(shown):
        opening = _encode({"item": item.index, "total": item.total, "embedded": len(item.rows)})[:-1] + ',"rows":['
        yield _bytes(escaped_json(("," if number else "") + opening + ",".join(item.rows) + "]}"))
    yield b"]}"
    yield _bytes(_filled(after, parts))


def _content(record: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **{name: record[name] for name in _OF_RUN},
        "exit": view.exit_text(record),
        "failed": record["exit_status"] != 0,
        "several": len(view.aliases(record)) > 1,
        "facts": [asdict(facts) for facts in view.models(record)],
        "banners": [asdict(banner) for banner in view.banners(record)],
        "evals": [
            {**asdict(one), **{name: item[name] for name in _OF_ITEM}}
            for one, item in zip(view.evals(record), record["items"], strict=True)
        ],
        "suites": [
            {**{name: suite[name] for name in _OF_SUITE}, "blocks": [asdict(block) for block in view.blocks(suite)]}
            for suite in record["suites"]
        ],
        "files": list(LINE_FILES.values()),
    }


def _filled(template: str, parts: Mapping[str, str]) -> str:
    for name, text in parts.items():
        template = template.replace("{{" + name + "}}", text)
    return template


def _policy(style: str, script: str) -> str:
    return (
        f"default-src 'none'; style-src '{_source(style)}'; script-src '{_source(script)}'; "
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'"
    )


def _source(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _resource(name: str) -> str:
    return (files("pytest_audiobench.report") / name).read_text(encoding="utf-8")


def _bytes(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()
