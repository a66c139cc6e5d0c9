"""Scenes on the page, as a browser shows them: timeline, pairs, orders and tables of events. Needs Chromium."""

from __future__ import annotations

import base64
import csv
import io
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from msgspec.structs import replace

from pytest_audiobench.audio.events import AudioEvent
from pytest_audiobench.protocols.soundscape.columns import clip_statistics, other_statistics
from pytest_audiobench.protocols.soundscape.task import soundscape
from pytest_audiobench.records.lines import AudioRow, ExcerptRow, PredictionRow, ProcessedRow, ScoredRow
from pytest_audiobench.records.run import ItemRecord
from pytest_audiobench.report.terminal import summary_lines
from tests.browser import new_context, wait_until

from .conftest import Made

SECONDS = 24.0
SERIOUS = ("serious", "critical")
TRUTHS: list[dict[str, Any]] = [
    {"type": "music", "start_time": 0.0, "end_time": 24.0, "description": "slow waltz on an accordion, wistful"},
    {
        "type": "speech",
        "start_time": 0.9,
        "end_time": 5.6,
        "transcription": "Anyone can pull a muscle because of overuse, muscle fatigue, or through a fall.",
        "speaker_id": "speaker_1",
        "language": "en",
        "emotion": "matter-of-fact",
        "speaking_style": "even, clear",
    },
    {
        "type": "speech",
        "start_time": 4.1,
        "end_time": 9.1,
        "transcription": "因为我礼拜天的时候已经去看过了。",
        "speaker_id": "speaker_2",
        "language": "zh",
        "emotion": "content",
    },
    {"type": "vocal_burst", "start_time": 9.2, "end_time": 9.9, "speaker_id": "speaker_1", "vocal_burst": "a sigh"},
    {
        "type": "sound_event",
        "start_time": 9.8,
        "end_time": 18.8,
        "description": "a cat meows",
        "loudness": "moderate",
    },
]
GUESSES: list[dict[str, Any]] = [
    {"type": "music", "start_time": 0.0, "end_time": 20.0, "description": "accordion", "loudness": "quiet"},
    {
        "type": "speech",
        "start_time": 1.2,
        "end_time": 7.1,
        "transcription": "Anyone can pull a mussel because of muscle fatigue",
        "speaker_id": "A",
        "language": "en",
        "emotion": "slightly annoyed",
    },
    {
        "type": "speech",
        "start_time": 7.1,
        "end_time": 9.8,
        "transcription": "我禮拜天的时候去看过了",
        "speaker_id": "A",
        "language": "zh",
        "emotion": "surprised",
    },
    {"type": "sound_event", "start_time": 8.7, "end_time": 9.8, "description": "a high electronic tone"},
    {"type": "sound_event", "start_time": 10.0, "end_time": 18.0, "description": "meowing", "loudness": "loud"},
    {"type": "sound_event", "start_time": 10.5, "end_time": 12.0, "description": "a door slams"},
]


def pair(truth: int, guess: int, score: float, accuracy: float | None = None, right: bool | None = None) -> Any:
    return {
        "truth": truth,
        "guess": guess,
        "iou": 0.8,
        "accuracy": accuracy,
        "cosine": 0.6,
        "speaker_right": right,
        "score": score,
    }


PAIRS = [pair(0, 0, 0.5), pair(1, 1, 0.31, 0.64, True), pair(2, 2, 0.0, 0.5, False), pair(4, 4, 0.72)]


def details(truths: Any = TRUTHS, guesses: Any = GUESSES, pairs: Any = PAIRS, **changes: Any) -> str:
    counts = {"invalid": {"time": 1}, "repairs": {"prose": 1, "key": 2}}
    scene = {"duration": SECONDS, "truths": truths, "guesses": guesses, "pairs": pairs, **counts, **changes}
    return json.dumps(scene)


_EVENTS = [[AudioEvent(**event) for event in events] for events in (TRUTHS, GUESSES)]
STATISTICS = {
    **clip_statistics(*_EVENTS, 1, SECONDS, lambda first, second: 0.5),
    **other_statistics(*_EVENTS, SECONDS, lambda first, second: 0.1),
}
METRICS = soundscape().scorers[0].metrics


@dataclass
class MadeScenes(Made):
    """An item whose scorers tell ``details`` of its samples; the statistics are those of ``rewards``."""

    details: Sequence[str | None] = ()
    rewards: Sequence[float] = ()

    def _processed(self) -> Iterator[ProcessedRow]:
        for row, own in zip(super()._processed(), self.details, strict=True):
            yield replace(row, details=own, value='{"events": []}')

    def _scored(self) -> Iterator[ScoredRow]:
        for row, scores in zip(super()._scored(), self._statistics(), strict=True):
            yield replace(row, scores=scores)

    def _statistics(self) -> list[dict[str, float]]:
        return [{**STATISTICS, "reward": 5.0 * reward} for reward in self.rewards or [0.4] * len(self.details)]

    @property
    def record(self) -> ItemRecord:
        metrics = [self._metric(name, "letters", self._statistics()) for name in METRICS]
        known = [metric if math.isfinite(metric.value) else replace(metric, value=None) for metric in metrics]
        return replace(super().record, protocol="soundscape", metrics=known)


def scenes(*own: str | None, **changes: Any) -> MadeScenes:
    def amend(number: int, row: PredictionRow) -> PredictionRow:
        clip = AudioRow(f"scene {number}", "0" * 64, SECONDS, 0.0)
        bed = ("music", "none")[number % 2]
        return replace(row, question="", choices=[], reference=json.dumps(TRUTHS), metadata={"bed": bed}, audio=[clip])

    answers = [(f"Sure! {json.dumps(GUESSES)}", "parsed", False)] * len(own)
    return MadeScenes(0, "scenes", answers, suite="soundscape", details=own, amend=amend, **changes)


def sound(item: MadeScenes, number: int = 0) -> ExcerptRow:
    file = io.BytesIO()
    tone = 0.1 * np.sin(np.arange(int(SECONDS * 16_000)) / 16_000 * 2 * np.pi * 220)
    soundfile.write(file, tone, 16_000, format="MP3", subtype="MPEG_LAYER_III")
    mp3 = base64.b64encode(file.getvalue()).decode()
    return ExcerptRow(
        eval=item.eval,
        model=item.model,
        sample_id=f"s{number:05d}",
        clip=0,
        version="",
        rank=2,
        seconds=SECONDS,
        whole_s=SECONDS,
        mp3=mp3,
    )


def tall(opened: Any, path: Any, width: int) -> Any:
    """The page in a window of a width."""
    page = opened(path)
    page.page.set_viewport_size({"width": width, "height": 900})
    page.page.locator(".scene svg.events").first.wait_for()
    return page


@pytest.mark.parametrize("width", [1280, 400])
def test_a_scene_is_drawn_at_any_width(runs: Any, opened: Any, width: int) -> None:
    page = tall(opened, runs.page(scenes(details(), details(truths=[], guesses=[], pairs=[]))), width)
    assert page.page.evaluate("document.documentElement.scrollWidth") == width
    drawn = page.page.locator(".events .event")
    assert drawn.count() == len(TRUTHS) + len(GUESSES)
    assert page.page.locator(".events .missed").count() == 1
    assert page.page.locator(".events .invented").count() == 2
    assert page.page.locator(".events .join").count() == len(PAIRS)
    lanes = page.page.locator(".names text").all_text_contents()
    assert lanes == [
        *("Answer key", "speaker_1", "speaker_2", "vocal burst", "sound", "music"),
        *("Answer", "A", "sound", "music"),
    ]
    plot = page.page.locator(".plot").bounding_box()
    music = page.page.get_by_role("button", name="Answer key: music").bounding_box()
    assert music["width"] == pytest.approx(plot["width"], abs=2)
    page.page.locator("body").press("j")
    page.page.get_by_text("no events").first.wait_for()
    assert page.complaints == []


def test_a_timeline_can_be_saved_as_a_drawing_and_as_its_events(runs: Any, opened: Any) -> None:
    page = tall(opened, runs.page(scenes(details())), 1280)
    found = {}
    for kind in ("SVG", "CSV"):
        page.page.locator("#card .menu summary").click()
        with page.page.expect_download() as waiting:
            page.page.get_by_role("button", name=kind).click()
        found[kind] = Path(waiting.value.path()).read_text()
    assert found["SVG"].count('class="event') == len(TRUTHS) + len(GUESSES) + 1
    assert "var(" not in found["SVG"]
    rows = list(csv.DictReader(io.StringIO(found["CSV"])))
    assert [row["of"] for row in rows] == ["answer key"] * len(TRUTHS) + ["answer"] * len(GUESSES)
    assert sum(row["matched"] == "yes" for row in rows) == 2 * len(PAIRS)


def test_pairs_stand_with_their_numbers_and_the_difference_of_their_words(runs: Any, opened: Any) -> None:
    page = tall(opened, runs.page(scenes(details())), 1280)
    rows = [" ".join(text.split()) for text in page.page.locator(".pairs tr.joined").all_inner_texts()]
    assert rows == [
        "music 0.80 – 0.60 – 0.50",
        "speech · speaker_1 → A · en 0.80 0.64 0.60 ✓ right 0.31",
        "speech · speaker_2 → A · zh 0.80 0.50 0.60 ✗ wrong 0.00",
        "sound 0.80 – 0.60 – 0.72",
    ]
    words, characters = page.page.locator(".pairs .differs").all()
    assert words.locator("del").all_inner_texts() == ["muscle", "overuse", "or through a fall"]
    assert words.locator("ins").all_inner_texts() == ["mussel"]
    assert "characters as the scorer compares them" in characters.inner_text()
    missed, invented = (" ".join(text.split()) for text in page.page.locator(".alone").all_inner_texts())
    assert missed == "Missed: 1 of 5 9.2–9.9 s vocal burst a sigh · speaker_1"
    assert invented.startswith("Invented: 2 of 6 8.7–9.8 s sound a high electronic tone")
    page.page.get_by_text("Repairs in reading the answer: prose 1, key 2; invalid events: time 1.").wait_for()
    (answer,) = page.answers()
    assert answer.startswith(f"Sure! {json.dumps(GUESSES)}"[:600])


def test_a_click_on_an_event_plays_from_where_it_begins(runs: Any, opened: Any) -> None:
    item = scenes(details())
    page = tall(opened, runs.page(item, sounds=[sound(item)]), 1280)
    wait_until(page.page, "document.querySelector('#card audio').readyState > 0")
    page.page.evaluate(
        """() => {
          const audio = document.querySelector("#card audio");
          window.sought = [];
          window.played = 0;
          audio.addEventListener("seeking", () => window.sought.push(audio.currentTime));
          audio.addEventListener("play", () => { window.played += 1; });
        }"""
    )

    def sought(count: int) -> float:
        wait_until(page.page, f"window.sought.length === {count}")
        return float(page.page.evaluate("window.sought.at(-1)"))

    page.page.get_by_role("button", name="Answer key: sound").click()
    assert sought(1) == pytest.approx(9.8, abs=0.1)
    wait_until(page.page, "window.played === 1")
    assert "a cat meows · moderate matched: IoU 0.80" in page.page.locator(".reading").inner_text()
    assert page.page.locator(".event.chosen").count() == 2
    page.page.locator(".alone").get_by_role("button", name="Play from 10.5 s").click()
    assert sought(2) == pytest.approx(10.5, abs=0.1)
    plot = page.page.locator(".plot")
    size = plot.bounding_box()
    plot.click(position={"x": size["width"] * 3 / 4, "y": size["height"] - 5})
    assert sought(3) == pytest.approx(18.0, abs=0.2)


def test_the_timeline_is_read_by_keys(runs: Any, opened: Any) -> None:
    item = scenes(details())
    page = tall(opened, runs.page(item, sounds=[sound(item)]), 1280)
    own = "document.activeElement.getAttribute('aria-label')"
    page.page.locator(".events .event[tabindex='0']").focus()
    for key, name in (
        ("ArrowRight", "Answer key: speech by speaker_1 in en, 0.9–5.6 s"),
        ("ArrowDown", "Answer: speech by A in en, 1.2–7.1 s"),
        ("ArrowUp", "Answer key: speech by speaker_1"),
        ("End", "Answer: sound, 10.5–12.0 s · a door slams; invented"),
        ("ArrowUp", "Answer key: sound, 9.8–18.8 s"),
    ):
        page.page.keyboard.press(key)
        assert page.page.evaluate(own).startswith(name)
    wait_until(page.page, "document.querySelector('#card audio').readyState > 0")
    page.page.keyboard.press("Enter")
    wait_until(page.page, "document.querySelector('#card audio').currentTime >= 9.8")
    assert page.page.locator(".events .event[tabindex='0']").count() == 1
    page.page.keyboard.press("Escape")
    assert page.page.evaluate("document.activeElement.id") == "list"


def test_scenes_are_put_in_order_and_filtered(runs: Any, opened: Any) -> None:
    clean = details(guesses=GUESSES[:1], pairs=PAIRS[:1], invalid={})
    every = [details(), clean, details(), details(truths=[], guesses=[], pairs=[], invalid={})]
    item = scenes(*every, rewards=[0.5, 0.9, 0.1, 0.7], group_of=lambda number: {"overlap": ("yes", "no")[number % 2]})
    page = tall(opened, runs.page(item), 1280)

    def listed() -> list[str]:
        return page.page.locator("#rows .row .id").all_inner_texts()

    assert listed() == ["s00002", "s00000", "s00003", "s00001"]
    page.page.get_by_label("Order").select_option("as in the run")
    assert listed() == ["s00000", "s00001", "s00002", "s00003"]
    page.page.get_by_label("Order").select_option("worst reward")
    assert listed() == ["s00002", "s00000", "s00003", "s00001"]
    assert "s00002" in page.page.locator("#card header").inner_text()
    assert page.page.locator("#rows .second").first.inner_text() == "reward 10.0 % · 1 of 5 missed · 2 of 6 invented"
    page.page.get_by_label("Order").select_option("most invented")
    assert listed() == ["s00000", "s00002", "s00001", "s00003"]
    page.page.get_by_label("overlap").select_option("yes (2)")
    assert listed() == ["s00000", "s00002"]
    page.page.wait_for_url("**order=most+invented*")
    page.page.get_by_label("Search").fill("A DOOR SLAMS")
    page.page.locator("#place").filter(has_text="2 of 4 samples").wait_for()
    page.page.get_by_role("button", name="Clear filters").click()
    assert listed() == ["s00002", "s00000", "s00003", "s00001"]
    page.page.get_by_label("Order").select_option("as in the run")
    assert listed() == ["s00000", "s00001", "s00002", "s00003"]


HOSTILE = '"><img src=x onerror="window.owned=1"></text></svg><script>window.owned=1</script> \u202e \x00 \ud800'


def test_hostile_texts_of_events_are_shown_and_run_nothing(runs: Any, opened: Any) -> None:
    texts = ("transcription", "speaker_id", "language", "emotion", "vocal_burst", "description", "loudness")
    events = [{**event, **dict.fromkeys(texts, HOSTILE)} for event in TRUTHS]
    pairs = [pair(place, place, 0.5, 0.5, False) for place in range(4)]
    own = details(events, events, pairs, invalid={HOSTILE: 1}, repairs={HOSTILE: 2, "__proto__": 1})
    page = tall(opened, runs.page(scenes(own)), 400)
    for button in page.page.locator(".events .event").all():
        button.dispatch_event("click")
    assert "<img src=x" in page.page.locator(".reading").inner_text()
    assert page.page.evaluate("window.owned") is None
    assert page.page.locator("img, iframe").count() == 0
    assert page.page.locator("script:not([type])").count() == 1
    assert page.page.evaluate("document.documentElement.scrollWidth") == 400
    assert page.complaints == []


def test_details_that_are_none_leave_a_sample_as_any_other(runs: Any, opened: Any) -> None:
    outside = [{**TRUTHS[0], "end_time": -1.0}]
    broken = [
        *("{", "[]", "1", '{"duration": 1}', "[" * 100_000),
        *(details(pairs=[pair(7, 0, 0.5)]), details(duration=0.0), details(truths=outside, pairs=[])),
    ]
    page = opened(runs.page(scenes(None, *broken)))
    assert len(page.samples()) == 1 + len(broken)
    assert page.page.locator(".scene").count() == 0
    assert page.page.locator("#events").is_hidden()
    assert page.complaints == []


def test_events_are_counted_by_what_is_known_of_them(runs: Any, opened: Any) -> None:
    page = opened(runs.page(scenes(details(), details())))
    tables = [
        [" ".join(row.split()) for row in table.locator("tbody tr").all_inner_texts()]
        for table in page.page.locator("#events table").all()
    ]
    assert tables == [
        [
            "speech 4 100 % 0.15 0 %",
            "vocal burst 2 0 % 0.00 –",
            "sound event 2 100 % 0.72 67 %",
            "music 2 100 % 0.50 0 %",
        ],
        ["en 2 100 % 0.31", "zh 2 100 % 0.00"],
        ["yes 6 100 % 0.27", "no 4 50 % 0.36"],
        ["music 4 75 % 0.26", "none 4 75 % 0.26"],
        ["moderate 2 100 % 0.72"],
        ["under 1 s 2 0 % 0.00", "1 to 5 s 4 100 % 0.15", "over 5 s 4 100 % 0.61"],
    ]


def test_all_columns_stand_side_by_side_with_what_each_tells(runs: Any, opened: Any) -> None:
    page = tall(opened, runs.page(scenes(details(), details())), 1280)
    published, own, typed = page.page.locator("#columns table").all()
    heads = [text.split("\n")[0] for text in published.locator("tbody th").all_inner_texts()]
    assert heads[:6] == ["Reward", "F1", "recall", "precision", "IoU", "IoU × cos"]
    assert {"reward_1to1", "reward_other", "adds_over_other", "wer_all"} < {*own.locator("tbody th").all_inner_texts()}
    assert typed.locator("tbody th").all_inner_texts()[:2] == ["found", "claimed"]
    assert all(text.strip().endswith(".") for text in page.page.locator("#columns td.about").all_inner_texts())
    main = page.page.locator("#verdicts tbody td:nth-child(3)").all_inner_texts()
    assert main == ["reward", "scene_f1", "halluc", "adds_over_other", "matched_wer", "spk_acc"]


def test_a_terminal_of_80_columns_shows_the_main_metrics(runs: Any) -> None:
    _, record = runs.collected(scenes(*[details()] * 30))
    lines = [text for text, _ in summary_lines(record, 80)]
    assert max(map(len, lines)) <= 80
    start = lines[0].index("metric")
    metrics = [line[start:].split()[0] for line in lines[: lines.index("")]]
    assert metrics[:7] == ["metric", "reward", "scene_f1", "halluc", "adds_over_other", "matched_wer", "spk_acc"]
    assert "of scenes the main metrics; all of them, with what each tells: report.html" in lines


def test_a_terminal_of_80_columns_shows_the_published_columns_of_however_many_evals(runs: Any) -> None:
    items = [scenes(*[details()] * 30) for _ in range(12)]
    _, record = runs.collected(*items)
    lines = [text for text, _ in summary_lines(record, 80)]
    assert max(map(len, lines)) <= 80
    (start,) = (number for number, line in enumerate(lines) if line.startswith("scenes in the columns"))
    assert lines[start + 1].split() == [
        *("Reward", "F1", "rec", "prec", "IoU", "IoU×cos", "WER", "how", "snd", "burst", "spk", "halluc"),
        *("pred", "true"),
    ]
    assert len(lines[start + 3].split()) == 14


def test_many_scenes_of_many_events_keep_the_page_small(runs: Any) -> None:
    long = "a long sentence about what is heard in this place and how it sounds to somebody who listens, " * 3
    events = [
        {"type": "sound_event", "start_time": float(n), "end_time": n + 0.9, "description": f"{n} {long}"}
        for n in range(20)
    ]
    own = details(events, events, [pair(n, n, 0.5) for n in range(20)])
    item = scenes(*[own.replace("a long", f"{number} long") for number in range(200)])
    path = runs.page(item)
    assert path.stat().st_size < 8_000_000


def test_a_list_of_very_many_events_is_cut_and_counted(runs: Any, opened: Any) -> None:
    many = [{**GUESSES[3], "start_time": n / 100, "end_time": n / 100 + 0.5} for n in range(500)]
    page = tall(opened, runs.page(scenes(details(TRUTHS, many, [pair(4, 499, 0.5)]))), 1280)
    assert page.page.locator(".events .event").count() == len(TRUTHS) + 120
    assert page.page.locator(".events .join").count() == 1
    page.page.get_by_text("380 more events of the answer are not shown").wait_for()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_in_a_scene(runs: Any, browser: Any, scheme: Any) -> None:
    pytest.importorskip("axe_playwright_python", reason="axe-playwright-python is not installed")
    axe = (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
    item = scenes(details())
    context = new_context(browser, offline=True, color_scheme=scheme, viewport={"width": 400, "height": 900})
    page = context.new_page()
    page.goto(runs.page(item, sounds=[sound(item)]).as_uri())
    page.locator(".scene svg.events").first.wait_for()
    page.evaluate(axe)
    violations = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")["violations"]
    serious = [(each["id"], each["nodes"][0]["html"][:200]) for each in violations if each["impact"] in SERIOUS]
    assert not serious
    context.close()
