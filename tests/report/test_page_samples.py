"""The samples on the page, as a browser shows them: what is kept, filtered, linked, compared. Needs Chromium."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from msgspec.structs import replace

from pytest_audiobench.records.lines import BaselineAnswer, ComparedRow, ExcerptRow, PredictionRow
from pytest_audiobench.report.json_lines import write_lines
from pytest_audiobench.report.page.sounds import ENDING, page_sounds
from tests.browser import wait_until

RIGHT, WRONG = ("(a) cat", "parsed", True), ("(b) dog", "parsed", False)
UNREAD, FAILED = ("who knows", "unparsed", False), ("no samples in the file", "error", False)


def before(
    number: int, change: Any, text: str | None = "(c) cow", scores: Any = None, failures: Sequence[str] = ()
) -> ComparedRow:
    return ComparedRow(
        eval="a",
        model="listener",
        sample_id=f"s{number:05d}",
        epoch=0,
        scorer="letters",
        change=change,
        before=BaselineAnswer("parsed", scores or {"correct": float(change == "worse")}, text, failures),
    )


def listed(page: Any) -> list[str]:
    return page.page.locator("#rows .row .id").all_inner_texts()


def test_filters_narrow_the_samples_and_count_what_each_would_leave(runs: Any, opened: Any) -> None:
    answers = [RIGHT, WRONG, UNREAD, FAILED, ("(a) cat, purring", "parsed", True)]
    items = [runs.item(0, "one", answers, groups={"hop": "multi"}), runs.item(1, "two", [RIGHT], groups={"hop": "one"})]
    page = opened(runs.page(*items))
    assert page.counts("Answer") == {"wrong": 2, "right": 3, "unparsed": 1, "asking failed": 1}
    # What is unparsed is among the wrong ones, and is not to be added to them.
    chips = page.page.get_by_role("group", name="Answer").inner_text().split("\n")
    assert " ".join(chips) == "Answer wrong 2 right 3 of them unparsed 1 asking failed 1"
    page.choose("Answer", "wrong")
    assert page.answers() == ["(b) dog", "who knows"]
    page.choose("Answer", "right")
    page.page.get_by_label("hop").select_option("multi (2)")
    assert page.counts("Answer") == {"wrong": 2, "right": 2, "unparsed": 1, "asking failed": 1}
    page.page.get_by_label("Search").fill("PURRING")
    page.page.locator("#place").filter(has_text="1 of 6 samples").wait_for()
    assert page.answers() == ["(a) cat, purring"]
    page.page.get_by_label("Search").fill("no such text")
    page.page.get_by_text("No sample matches.").wait_for()
    page.page.get_by_role("button", name="Clear filters").click()
    page.page.get_by_label("Eval", exact=True).select_option("two (1)")
    assert len(page.samples()) == 1
    assert page.complaints == []


def test_a_filter_and_a_sample_can_be_linked_to(runs: Any, opened: Any) -> None:
    path = runs.page(runs.item(0, "a&b=c", [RIGHT, WRONG] * 50), runs.item(1, "two", [RIGHT, WRONG]))
    page = opened(path)
    page.choose("Answer", "wrong")
    page.page.locator("#rows .row").nth(3).click()
    page.page.wait_for_url(re.compile("answer=wrong&sample=s00007"))
    address = page.page.url
    page.page.goto("about:blank")
    page.page.goto(address)
    assert "s00007" in page.page.locator("#card header").inner_text()
    assert page.page.locator(".row[aria-selected=true] .id").inner_text() == "s00007"
    assert page.counts("Answer") == {"wrong": 51, "right": 51}
    page.page.evaluate("location.hash = '#sample=s00001&of=two'")
    page.page.locator("#card header").filter(has_text="two").wait_for()
    page.page.evaluate("location.hash = '#sample=gone'")
    page.page.get_by_text("is not on the page: look for it in predictions.jsonl").wait_for()


def test_a_link_that_is_followed_is_not_taken_back_by_a_choice_made_just_before(runs: Any, opened: Any) -> None:
    page = opened(runs.page(runs.item(0, "a", [RIGHT, WRONG] * 5))).page
    page.evaluate(
        "document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'j', bubbles: true }));"
        "location.hash = '#results'"
    )
    page.wait_for_timeout(600)  # longer than an address waits to be written
    assert page.evaluate("location.hash") == "#results"


def test_the_list_is_used_by_keys_and_holds_only_what_is_seen(runs: Any, opened: Any) -> None:
    page = opened(runs.page(runs.item(0, "many", [RIGHT] * 3000)))
    assert page.page.locator(".row").count() < 40
    body = page.page.locator("body")
    body.press("j")
    body.press("j")
    body.press("k")
    assert "s00001" in page.page.locator("#card header").inner_text()
    # From then on the keys are those of the list.
    page.page.keyboard.press("ArrowDown")
    assert "s00002" in page.page.locator("#card header").inner_text()
    page.page.keyboard.press("End")
    assert "s02999" in page.page.locator("#card header").inner_text()
    last = page.page.locator("#list").get_attribute("aria-activedescendant")
    assert page.page.locator(f"#{last}").get_attribute("aria-posinset") == "3000"
    page.page.keyboard.press("Enter")
    page.page.keyboard.press("k")
    assert page.page.evaluate("document.activeElement.matches('article.sample')")
    page.page.keyboard.press("Escape")
    assert page.page.evaluate("document.activeElement.id") == "list"
    body.press("?")
    assert "the next sample" in page.page.get_by_role("dialog").inner_text()
    page.page.get_by_role("button", name="Close").click()
    body.press("/")
    assert page.page.evaluate("document.activeElement.id") == "search"


def test_what_changed_since_the_baseline_comes_first_with_both_answers(runs: Any, opened: Any) -> None:
    answers = [RIGHT, RIGHT, WRONG, WRONG, RIGHT]
    compared = [
        before(0, "same", "(a) cat"),
        before(1, "better"),
        before(2, "worse", failures=["loop"]),
        before(4, "same"),
    ]
    page = opened(runs.page(runs.item(0, "a", answers), compared=compared))
    assert listed(page) == ["s00002", "s00003", "s00001", "s00000", "s00004"]
    assert page.counts("Since the baseline") == {"worse": 1, "better": 1, "same": 2, "not in it": 1}
    text = re.sub(r"\s+", " ", page.samples()[0])
    assert re.search(r"This run ✗ wrong \(b\) dog .* The baseline ✓ right loop \(c\) cow", text)
    assert "correct=" not in text
    assert "(c) cow → (b) dog" in page.page.locator(".row").first.inner_text()


def test_a_baseline_without_texts_says_so(runs: Any, opened: Any) -> None:
    compared = [before(0, "worse", None), before(1, "better", None)]
    page = opened(runs.page(runs.item(0, "a", [WRONG, RIGHT]), compared=compared))
    assert re.search(r"The baseline\s+✓ right\s+cat\s+The parsed label: the baseline", page.samples()[0])
    assert re.search(r"The baseline\s+✗ wrong\s+The baseline stores no texts\.", page.samples()[1])


def test_the_answers_of_all_models_stand_side_by_side(runs: Any, opened: Any) -> None:
    items = [
        runs.item(n, "a", [answer], model=name) for n, (name, answer) in enumerate({"x": RIGHT, "y": WRONG}.items())
    ]
    page = opened(runs.page(*items))
    sides = page.page.locator("#card .side").all_inner_texts()
    assert [re.sub(r"\s+", " ", side)[:18] for side in sides] == ["y ✗ wrong (b) dog ", "x ✓ right (a) cat "]


@pytest.mark.parametrize("large_is", [0, 1])
def test_a_large_run_is_cut_to_the_budget_fairly_and_says_so(runs: Any, opened: Any, large_is: int) -> None:
    items = [runs.item(large_is, "large", [RIGHT] * 2000), runs.item(1 - large_is, "small", [RIGHT] * 3)]
    path = runs.page(*items, budget_bytes=600_000)
    assert path.stat().st_size < 600_000
    page = opened(path)
    assert re.search(r"has \d+ of 2,003 samples, to stay small", page.page.locator("#cut").inner_text())
    page.page.get_by_label("Eval", exact=True).select_option("small (3)")
    assert len(page.samples()) == 3


def test_what_changed_and_what_went_wrong_is_kept_where_the_budget_is_short(runs: Any, opened: Any) -> None:
    answers = [RIGHT] * 2000 + [WRONG] * 5
    path = runs.page(
        runs.item(0, "a", answers), budget_bytes=150_000, compared=[before(n, "better") for n in range(1900, 1910)]
    )
    page = opened(path)
    assert "all 10 that became better, all 5 that failed" in page.page.locator("#cut").inner_text()
    assert page.counts("Since the baseline")["better"] == 10
    assert page.counts("Answer")["wrong"] == 5


def test_the_prompt_is_shown_as_it_was_sent(runs: Any, opened: Any) -> None:
    def amend(number: int, row: PredictionRow) -> PredictionRow:
        question = "Q: Which animal is heard?\n(a) cat\n(b) dog\nAnswer."
        prompt = [("system", ["Listen."]), ("user", [0, question])]
        return replace(row, prompt=prompt, metadata={"speaker": f"p{number}", "loud": True})

    path = runs.page(runs.item(0, "a", [RIGHT] * 30, amend=amend))
    assert path.read_text().count("Listen.") == 1
    page = opened(path)
    page.page.get_by_text("The prompt as it was sent").click()
    told = page.page.locator(".prompt").inner_text()
    assert re.search(
        r"system\s+Listen\.\s+user\s+♪ clip 1\s+Q: Which animal is heard\?\n\(a\) cat\n\(b\) dog\nAnswer\.", told
    )
    page.page.get_by_text("Metadata", exact=True).click()
    assert re.search(r"loud\s+True\s+speaker\s+p0", page.page.locator("#card").inner_text())


def test_what_is_filtered_is_printed_within_bounds(runs: Any, opened: Any) -> None:
    page = opened(runs.page(runs.item(0, "a", [RIGHT] * 300 + [WRONG] * 2)))
    page.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.page.locator("#printed article").count() == 2  # the wrong ones
    page.choose("Answer", "right")
    page.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.page.locator("#printed article").count() == 200
    assert "100 more samples are not printed" in page.page.locator("#printed").text_content()
    page.choose("Answer", "wrong")
    page.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    page.page.emulate_media(media="print")
    assert page.page.locator("article.sample:visible").count() == 2


def sound(number: int, hz: float, seconds: float = 0.5, rank: int = 0) -> ExcerptRow:
    file = io.BytesIO()
    tone = np.sin(np.arange(int(seconds * 16_000)) / 16_000 * hz * 2 * np.pi) * 0.5
    soundfile.write(file, tone, 16_000, format="MP3", subtype="MPEG_LAYER_III")
    return ExcerptRow(
        eval="a",
        model="listener",
        sample_id=f"s{number:05d}",
        clip=0,
        version="",
        rank=rank,
        seconds=seconds,
        whole_s=2.0,
        mp3=base64.b64encode(file.getvalue()).decode(),
    )


def test_a_sound_is_played_and_drawn_by_the_browser(runs: Any, opened: Any) -> None:
    page = opened(runs.page(runs.item(0, "a", [WRONG, WRONG]), sounds=[sound(1, 1_000.0)]))
    assert page.counts("Sound") == {"on this page": 1}
    assert page.page.locator("#card audio").count() == 0
    page.page.locator("body").press("j")
    page.page.locator("canvas[data-drawn]").wait_for()
    assert "the first 0.5 s of 2.0 s that were played to the model" in page.page.locator("#card").inner_text()
    # The spectrogram is brightest an eighth of the way up, where a tone of 1 kHz lies.
    brightest = page.page.evaluate(
        """() => {
          const canvas = document.querySelector("canvas.sound");
          const scale = canvas.height / 208;
          const column = canvas.getContext("2d").getImageData(canvas.width / 2, 64 * scale, 1, 128 * scale).data;
          const light = (at) => column[4 * at] + column[4 * at + 1] + column[4 * at + 2];
          const rows = Array.from({ length: column.length / 4 }, (_, at) => at);
          return 1 - rows.reduce((best, at) => (light(at) > light(best) ? at : best)) / rows.length;
        }"""
    )
    assert brightest == pytest.approx(0.125, abs=0.03)
    page.page.locator("body").press("p")
    wait_until(page.page, "document.querySelector('#card audio').currentTime > 0")
    assert page.complaints == []


def test_a_sound_is_drawn_anew_where_the_page_becomes_dark(runs: Any, opened: Any) -> None:
    page = opened(runs.page(runs.item(0, "a", [WRONG, WRONG]), sounds=[sound(0, 1_000.0)])).page
    page.locator("canvas[data-drawn]").wait_for()
    wave = "document.querySelector('canvas.sound').getContext('2d').getImageData(40, 32, 1, 1).data.join()"
    light = page.evaluate(wave)
    for _ in ("light", "dark"):
        page.locator(".theme").click()
    assert page.evaluate(wave) != light


def test_sounds_are_shared_and_the_most_wanted_kept(tmp_path: Path) -> None:
    rows = [sound(1, 600.0, rank=0), sound(2, 600.0, rank=1), sound(3, 700.0, rank=2), sound(0, 500.0, rank=3)]
    write_lines(tmp_path / f"0{ENDING}", rows)
    found = page_sounds(tmp_path, budget_bytes=len(rows[0].mp3) + len(rows[2].mp3))
    assert [id_ for _, _, id_ in found.of] == ["s00001", "s00002", "s00003"]
    assert (len(found.data), found.left_out) == (2, 1)
    assert "1 more did not fit" in found.note


def test_a_run_whose_audio_was_elsewhere_says_so(runs: Any, opened: Any) -> None:
    def amend(number: int, row: PredictionRow) -> PredictionRow:
        return replace(row, audio=[replace(clip, key=None) for clip in row.audio])

    page = opened(runs.page(runs.item(0, "a", [WRONG], amend=amend)))
    assert "not on the machine of this run" in page.samples()[0]
    assert "This page holds no sound" in page.page.locator("#sound-note").inner_text()


def test_a_transcripts_diff_marks_words_by_more_than_colour(runs: Any, opened: Any) -> None:
    def amend(number: int, row: PredictionRow) -> PredictionRow:
        return replace(row, reference="the cat sat down", choices=[])

    compared = [before(0, "better", "the bat sat right down", scores={"S": 1, "D": 0, "I": 1, "N": 4})]
    page = opened(runs.page(runs.item(0, "a", [RIGHT], amend=amend), compared=compared))
    diff = page.page.locator("#card .diff")
    assert diff.locator("del").all_inner_texts() == ["cat"]
    assert diff.locator("ins").all_inner_texts() == ["bat", "right"]
    assert diff.inner_text().split() == ["the", "catbat", "sat", "right", "down"]
    assert "1 replaced, 0 missing, 1 inserted" in page.page.locator("#card .differs").inner_text()
