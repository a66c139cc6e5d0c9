"""Hostile texts, drawn from a seed into every field of a run that others write, in a page that a real browser opens."""

from __future__ import annotations

import contextlib
import random
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from pytest_audiobench.records.lines import LINE_FILES, AudioRow, OutputRow, PredictionRow
from pytest_audiobench.records.reading import read_lines
from tests.browser import CHROMIUM, FLAGS

from ..report.conftest import Opened, Runs
from .tally import Tally

NAME = "browser"
PROMISE = (
    "Whatever a model answers, and whatever else of a run others wrote: the page runs nothing of it, asks for nothing, "
    "and shows every sample."
)
RAN = "window.ran=1"
HANG_MS = 60_000

_FOREIGN = """[...document.querySelectorAll("*")].flatMap((each) =>
  ["IFRAME", "OBJECT", "EMBED", "BASE", "IMG", "TEXTAREA", "MGLYPH"].includes(each.tagName) ? [each.tagName] :
  [...each.attributes].filter((own) => own.name.startsWith("on") || /^\\s*(javascript|data):/i.test(own.value)
    && ["href", "src", "action"].includes(own.name)).map((own) => own.name))"""
"""The elements and attributes of a page that none of its own has."""

_PAYLOADS = [
    f"<script>{RAN}</script>",
    f"</script><script>{RAN}</script>",
    f"<!--<script>{RAN}</script>-->",
    f"<img src=x onerror={RAN}>",
    f"<svg/onload={RAN}>",
    f"<svg><animate onbegin={RAN} attributeName=x dur=1s>",
    f"<iframe srcdoc='<script>parent.{RAN}</script>'>",
    f"<a href=javascript:{RAN}>x</a>",
    f"javascript:{RAN}//",
    "data:text/html,<script>alert(1)</script>",
    f"\"' onmouseover={RAN} onfocus={RAN} autofocus x='",
    f"`${{{RAN}}}`",
    "{{constructor.constructor('alert(1)')()}} {% raw %} ${alert(1)} #{7*7} <%= 7*7 %>",
    "[x](javascript:alert(1)) ![x](http://127.0.0.1:9/x.png) <http://127.0.0.1:9/y>",
    "<link rel=stylesheet href=http://127.0.0.1:9/a.css><style>@import 'http://127.0.0.1:9/b.css'</style>",
    "<meta http-equiv=refresh content='0;url=http://127.0.0.1:9/'><base href=http://127.0.0.1:9/>",
    "<object data=http://127.0.0.1:9/o></object><embed src=http://127.0.0.1:9/e>",
    "<form action=http://127.0.0.1:9/f><input name=x><button autofocus>go</button></form>",
    f"</title></style></textarea></noscript></template>]]>--><script>{RAN}</script>",
    f"<math><mtext><table><mglyph><style><img src=x onerror={RAN}>",
    f"&lt;script&gt;{RAN}&lt;/script&gt; &#60;img src=x onerror={RAN}&#62;",
    f"\\u003cscript\\u003e{RAN}\\u003c/script\\u003e \\x3cscript\\x3e",
    '"}]}</script>',
    "\\",
    "\\\\\"'`",
    "__proto__",
    "constructor",
    "toString",
    "\u2028\u2029",
    "\0",
    "\x1b[31m\x1b]8;;http://127.0.0.1:9/\x07link\x1b]8;;\x07\x9b2J",
    "\u202eturned\u202c\u2066x\u2069",
    "\ud800",
    "\udfff\ud800",
    "\ufeff\u200b\u00ad\u2060\u180e",
    "a\u0300" * 300,
    "﷽" * 50,
    "\r\n\t\v\f",
    "-->",
    "${jndi:ldap://127.0.0.1:9/a}",
    '=HYPERLINK("http://127.0.0.1:9")',
    "\U0001f468\u200d\U0001f469\u200d\U0001f467" * 20,
    "NaN",
    "null",
    "",
]


def run(seeds: Iterable[int]) -> Tally:
    """A page of drawn texts for each seed; none is tried where there is no browser."""
    tally, started = Tally(), time.monotonic()
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        tally.notes.append("Playwright is not installed")
        return tally
    if CHROMIUM is None:
        tally.notes.append("no Chromium on this machine")
        return tally
    with (
        sync_playwright() as playwright,
        contextlib.closing(playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)) as browser,
        tempfile.TemporaryDirectory() as name,
    ):
        for seed in seeds:
            tally.tried += 1
            path = _page(Path(name, str(seed)), random.Random(f"hostile page {seed}"))
            for mistake in _mistakes(browser, path):
                tally.lost += mistake.startswith("lost")
                tally.hangs += "Timeout" in mistake
                tally.mistakes.append(f"seed {seed}: {mistake}")
            shutil.rmtree(Path(name, str(seed)))
    tally.seconds = time.monotonic() - started
    return tally


def _text(drawn: random.Random) -> str:
    """Some payloads, one after or in another; now and then a very long line of them."""
    text = ""
    for _ in range(drawn.choice([1, 1, 2, 3, 6])):
        payload = drawn.choice(_PAYLOADS)
        place = drawn.randrange(len(text) + 1) if drawn.random() < 0.3 else len(text)
        text = text[:place] + payload + text[place:]
    if drawn.random() < 0.02:
        text = (text or "w") * (1_000_000 // max(1, len(text)))
    return text


def _page(folder: Path, drawn: random.Random) -> Path:
    """The page of a run of two evals, whose samples' answers each begin with their own word."""

    def hostile(text: str, share: float = 0.7) -> str:
        return text + _text(drawn) if drawn.random() < share else text

    def amend(eval_number: int) -> Callable[[int, PredictionRow], PredictionRow]:
        def amended(number: int, row: PredictionRow) -> PredictionRow:
            outputs = [OutputRow(hostile(f"seen{eval_number}x{number}x", 0.9), "stop")]
            return replace(
                row,
                question=hostile("Which?"),
                choices=[hostile("cat"), hostile("dog"), "cow", hostile("hen")],
                reference=hostile("cat"),
                references=[hostile("cat"), hostile("a cat")] if drawn.random() < 0.3 else [],
                metadata={hostile("speaker"): hostile("s1"), hostile("take"): hostile("t")},
                stage=hostile("answer", 0.2),
                prompt=[("user", [0, hostile("Which?"), hostile("(a)")])] if drawn.random() < 0.5 else None,
                usage={hostile("tokens", 0.3): 1},
                outputs=[] if row.error is not None else outputs,
                error=None if row.error is None else hostile(f"seen{eval_number}x{number}x"),
                audio=[AudioRow(hostile("data/a.wav"), "0" * 64, 1.0, 0.0)],
            )

        return amended

    def name(text: str, share: float) -> str:
        # Of a test, an option, an error or a field of the data: no half of a surrogate pair gets into these.
        return hostile(text, share).encode(errors="replace").decode()

    runs = Runs(folder)
    statuses = ["parsed", "parsed", "unparsed", "refused", "empty", "error"]
    items = []
    for number in range(2):
        answers = [("x", drawn.choice(statuses), drawn.random() < 0.5) for _ in range(drawn.randint(2, 8))]
        answers = [(text, status, right and status == "parsed") for text, status, right in answers]
        groups = {name("hop", 0.7): name("single", 0.7)}
        names = {"model": name("model", 0.3), "suite": name("suite", 0.3), "dataset": name("set", 0.3)}
        question = hostile("Which animal?")
        items.append(
            runs.item(
                number,
                name(f"eval{number}", 0.5),
                answers,
                **names,
                groups=groups,
                amend=amend(number),
                question=question,
                message=name("why", 0.5),
                clusters=[hostile("c", 0.3) for _ in answers],
            )
        )
    changes: dict[str, Any] = {"notes": [name("a note", 0.7)], "command": ["pytest", name("evals", 0.7)]}
    changes["models"] = [
        runs.model(item.model, spec=name("hf:x", 0.7)) for item in {item.model: item for item in items}.values()
    ]
    return runs.page(*items, **changes)


def _mistakes(browser: Any, path: Path) -> list[str]:
    """What the page of ``path`` does that it must not, and the samples that it does not show."""
    size = path.stat().st_size
    context = browser.new_context(offline=True)
    context.set_default_timeout(HANG_MS)
    try:
        opened = Opened(context.new_page())
        note, page = opened.complaints.append, opened.page
        page.add_init_script("addEventListener('securitypolicyviolation', () => { window.violated = true; })")
        page.on("console", lambda message: note(f"console: {message.text}"))
        page.on("pageerror", lambda error: note(f"error: {error}"))
        page.on("dialog", lambda dialog: (note(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda r: None if r.url.startswith(("file:", "blob:null/")) else note(f"request: {r.url}"))
        page.on("popup", lambda _: note("a window was opened"))
        page.goto(path.as_uri())
        cards = opened.samples()
        page.evaluate("for (const box of document.querySelectorAll('details')) box.open = true")
        page.evaluate("for (const button of document.querySelectorAll('.expand')) button.click()")
        page.evaluate(
            "for (const each of [...document.querySelectorAll('*')].slice(0, 3000))"
            " for (const kind of ['mouseover', 'focus', 'load', 'error']) each.dispatchEvent(new Event(kind))"
        )
        mistakes = [text[:300] for text in opened.complaints]
        if page.evaluate("[window.ran, window.violated].some((value) => value !== undefined && value !== false)"):
            mistakes.append("a script ran, or was stopped by the policy")
        if tags := page.evaluate(_FOREIGN):
            mistakes.append(f"elements and attributes came from a text: {tags}")
        if page.url != path.as_uri() and not page.url.startswith(path.as_uri() + "#"):
            mistakes.append(f"it went to {page.url[:200]}")
        text = "\n".join(cards)
        wanted = _words(path)
        if lost := sorted(word for word in wanted if word not in text):
            mistakes.append(f"lost: {lost} of {len(wanted)} samples, on {len(cards)} cards and {size} bytes")
        return mistakes
    except Exception as error:
        return [f"{type(error).__name__}: {str(error)[:300]}"]
    finally:
        context.close()


def _words(path: Path) -> list[str]:
    """The words with which the answers of the page's samples begin, from the run's own lines."""
    rows = read_lines(path.with_name(LINE_FILES["predictions"]), PredictionRow)
    texts = (row.error or row.outputs[0].text or "" for row in rows)
    return [match[0] for text in texts if (match := re.match(r"seen\dx\dx", text))]
