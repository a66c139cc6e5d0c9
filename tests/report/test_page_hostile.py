"""Hostile texts in every field of a sample, and a look in a real browser for anything that ran. Needs Chromium."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from pytest_audiobench.records.lines import (
    COMPARED_FILE,
    AudioRow,
    ExcerptRow,
    OutputRow,
    PredictionRow,
    ProcessedRow,
    ScoredRow,
)
from pytest_audiobench.records.reading import read_lines
from pytest_audiobench.report import run_writer
from pytest_audiobench.report.json_lines import write_lines
from pytest_audiobench.report.page import html
from pytest_audiobench.report.page.sounds import ENDING
from pytest_audiobench.report.run_writer import PARTS

OWNED = "window.owned = 1"
TEXTS = {
    "tags": f"<script>{OWNED}</script></script><script>{OWNED}</script><!--<script>",
    "handlers": f'"><img src=x onerror="{OWNED}"><svg onload="{OWNED}"><body onpageshow={OWNED}>',
    "links": f"javascript:{OWNED} data:text/html,<script>{OWNED}</script> <a href='javascript:{OWNED}'>x</a>",
    "ends": f"</title></style></textarea></noscript>]]>--><iframe srcdoc='<script>{OWNED}</script>'></iframe>",
    "templates": "{{data}} {{script}} ${alert(1)} \\u003cscript\\u003e \\",
    "unseen": "nul\x00 bell\x07 \x1b[31m \u202eturned\u202c \u2066x\u2069 a\u2028b\u2029c \ufeff",
    "halves": "half \ud800 pair \udfff other \udc00\ud800",
    "word": "w" * 1_000_000,
    "proto": "__proto__",
}


def everywhere(bad: str) -> Any:
    """Puts ``bad`` into each field of a sample's rows of predictions."""

    def amend(number: int, row: PredictionRow) -> PredictionRow:
        return replace(
            row,
            sample_id=bad + str(number),
            question=bad,
            choices=[bad, "x", bad],
            reference=bad,
            references=[bad, f"{bad}."],
            metadata={bad: bad, "__proto__": bad},
            stage=bad,
            prompt=[("user", [0, bad, f"{bad} {bad}"])],
            usage={bad: 1},
            outputs=[OutputRow(bad, "stop")],
            error=bad if number else None,
            audio=[AudioRow(bad, bad, 1.0, 0.5)],
        )

    return amend


def page_of(runs: Any, bad: str) -> Path:
    name = bad[:5_000].encode(errors="replace").decode()
    answers = [(bad, "parsed", False)] * 2
    item = runs.item(0, name, answers, model=name, suite=name, groups={name: bad}, amend=everywhere(bad))
    folder = runs.begun(item)
    (path,) = folder.glob(f"{PARTS}/*.processed.jsonl")
    processed = list(read_lines(path, ProcessedRow))
    write_lines(path, [replace(row, sample_id=bad + row.sample_id[-1], value=bad) for row in processed])
    (path,) = folder.glob(f"{PARTS}/*.scored.jsonl")
    scored = [replace(row, sample_id=bad + row.sample_id[-1], cluster=bad) for row in read_lines(path, ScoredRow)]
    write_lines(path, scored)
    sound = ExcerptRow(
        eval=item.eval,
        model=item.model,
        sample_id=f"{bad}0",
        clip=0,
        version="",
        rank=0,
        seconds=1.0,
        whole_s=2.0,
        mp3=base64.b64encode(b"<script>no sound").decode(),
    )
    write_lines(folder / PARTS / f"1{ENDING}", [sound])
    record = run_writer.collect(folder, runs.heading())
    compared = [runs.compared_row(row, "worse", bad) for row in scored]
    compared = [replace(row, before=replace(row.before, failures=[bad])) for row in compared]
    write_lines(folder / COMPARED_FILE, compared)
    return html.write_page(folder, record)


@pytest.mark.parametrize("bad", TEXTS.values(), ids=TEXTS)
def test_nothing_of_a_sample_runs_or_becomes_markup(runs: Any, opened: Any, bad: str) -> None:
    path = page_of(runs, bad)
    assert path.stat().st_size < 3_000_000
    page = opened(path)
    cards = page.samples()
    page.page.evaluate("for (const one of document.querySelectorAll('#card details')) one.open = true")
    page.page.evaluate("for (const one of document.querySelectorAll('#card .expand')) one.click()")
    page.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    page.page.evaluate("addEventListener('click', (event) => event.preventDefault()); document.links[0].click()")
    shown = page.page.locator("#samples")
    assert len(cards) == 2
    assert page.page.evaluate("typeof window.owned") == "undefined"
    assert shown.locator("script, img, svg, iframe, object, embed, link, style, a, [onerror], [onload]").count() == 0
    assert not page.page.evaluate("Object.getOwnPropertyNames(Object.prototype).some((name) => name.includes('owned'))")
    assert [one for one in page.complaints if "decode" not in one] == []
    assert page.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_a_hostile_address_is_taken_for_text(runs: Any, opened: Any) -> None:
    path = runs.page(runs.item(0, "a", [("(a) cat", "parsed", True)]))
    page = opened(path)
    for address in (
        "#sample=<img src=x onerror=alert(1)>&q=<script>",
        "#answer=__proto__&read=constructor",
        "#=%E0%A4%A",
    ):
        page.page.goto("about:blank")
        page.page.goto(path.as_uri() + address)
        assert page.page.locator("#samples script, #samples img").count() == 0
    assert page.complaints == []
