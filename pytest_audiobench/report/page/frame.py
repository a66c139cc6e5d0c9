"""The frame of a page's data: its style, its scripts and the policy that allows these and nothing else."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

STYLES = ("base.css", "numbers.css", "perturbations.css", "samples.css", "scenes.css")
SCRIPTS = (
    "elements.js",
    "sections.js",
    "saving.js",
    "long_lists.js",
    "plots.js",
    "theme.js",
    "numbers.js",
    "scores.js",
    "grid.js",
    "comparison.js",
    "perturbations.js",
    "noise.js",
    "findings.js",
    "published.js",
    "changes.js",
    "labels.js",
    "columns.js",
    "events.js",
    "scorers.js",
    "rows.js",
    "filters.js",
    "audio.js",
    "scenes.js",
    "card.js",
    "smallest_flips.js",
    "selection.js",
    "samples.js",
    "results.js",
    "start.js",
)
"""One style and one script on the page, in this order."""
FIGURE_SCRIPTS = ("elements.js", "sections.js", "saving.js", "plots.js", "theme.js")
"""What a smaller page with figures needs before its own script: figures are saved, and drawn when they are opened."""


_COMMENT = re.compile(r"^ *//.*\n", re.MULTILINE)
_ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


@dataclass(frozen=True)
class Layout:
    """A kind of page: what its body holds, its one style and its one script, each of the two from files in order."""

    body: str
    styles: tuple[str, ...]
    scripts: tuple[str, ...]
    allows: str = "media-src blob:"
    """What the page may do in addition, as directives of its policy."""


REPORT = Layout("run.html", STYLES, SCRIPTS)


@dataclass(frozen=True)
class Library:
    """A script that others wrote, under ``vendor/``; ``style`` is the text of the style elements that it makes."""

    script: str
    style: str | None = None


PLOT = Library("vendor/plot.min.js", "vendor/plot.css")
"""Draws all plots; vendor/README.md says why this one."""


def page_frame(title: str, libraries: Sequence[Library] = (), layout: Layout = REPORT) -> tuple[bytes, bytes]:
    """What stands before and after the JSON of the page's data; libraries are script elements before the page's own."""
    style = "".join(map(_resource, layout.styles))
    # A page need not carry what is said to those who read its source.
    own = _COMMENT.sub("", "".join(map(_resource, layout.scripts)))
    script = f'"use strict";\n(async () => {{\n{own}}})();\n'
    borrowed = [_resource(library.script) for library in libraries]
    styles = [style, *(_resource(library.style) for library in libraries if library.style)]
    parts = {
        "policy": (
            f"default-src 'none'; style-src {_sources(styles)}; script-src {_sources([*borrowed, script])}; "
            f"{layout.allows}; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'"
        ),
        "style": style,
        "libraries": "".join(f"<script>{text}</script>\n" for text in borrowed),
        "script": script,
        "title": html.escape(title),
    }
    before, after = _resource("page.html").replace("{{body}}", _resource(layout.body)).split("{{data}}")
    return encoded(_filled(before, parts)), encoded(_filled(after, parts))


def whole_page(
    title: str, content: Any, layout: Layout, libraries: Sequence[Library] = (), elements: Iterable[bytes] = ()
) -> Iterator[bytes]:
    """A page in pieces: its frame around its data, and further script ``elements`` behind these."""
    before, after = page_frame(f"{title} · pytest-audiobench", libraries, layout)
    yield from (before, encoded(escaped_json(encode(content))), *elements, after)


def escaped_json(text: str) -> str:
    """JSON text that may stand in a script element: no tag, entity or line separator of it can end the element."""
    for character, escape in _ESCAPES.items():
        text = text.replace(character, escape)
    return text


def encoded(text: str) -> bytes:
    """UTF-8, in which half of a surrogate pair is a replacement character and a whole pair its character."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()


def _filled(template: str, parts: Mapping[str, str]) -> str:
    # One pass, so that what looks like a part's name within a part stays what it is.
    pieces = template.split("{{")
    return pieces[0] + "".join(parts[name] + rest for name, _, rest in (piece.partition("}}") for piece in pieces[1:]))


def _sources(texts: Sequence[str]) -> str:
    digests = (hashlib.sha256(text.encode()).digest() for text in texts)
    return " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)


def _resource(name: str) -> str:
    return (files("pytest_audiobench.report.page") / name).read_text(encoding="utf-8")
