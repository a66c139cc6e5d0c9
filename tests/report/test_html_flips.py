"""The samples that flip first, as a browser shows them: what was said before and after, and both sounds to play."""

from __future__ import annotations

import base64
import io
from typing import Any

import numpy as np
import soundfile

from pytest_audiobench.records.lines import ExcerptRow


def sound(version: Any, hz: float, number: int = 3, rank: int = 2) -> ExcerptRow:
    file = io.BytesIO()
    tone = np.sin(np.arange(8_000) / 16_000 * hz * 2 * np.pi) * 0.5
    soundfile.write(file, tone, 16_000, format="MP3", subtype="MPEG_LAYER_III")
    return ExcerptRow(
        eval="noisy[white-1]",
        model="listener",
        sample_id=f"s{number:05d}",
        clip=0,
        version=version,
        rank=rank,
        seconds=0.5,
        whole_s=0.5,
        mp3=base64.b64encode(file.getvalue()).decode(),
    )


def flipping(runs: Any, **changes: Any) -> list[Any]:
    items = runs.ladder((22, 14, 5), head="mcq:strict|v:1", **changes)
    for item, numbers in zip(items[1:], ((), (3, 20), (1,)), strict=True):
        item.flipped = numbers
    return items


def test_both_versions_of_a_sample_that_flips_can_be_played_and_its_sample_is_linked(runs: Any, opened: Any) -> None:
    other = sound("", 900.0, number=1, rank=0)
    sounds = [other, sound("changed", 500.0), sound("clean", 700.0)]
    page = opened(runs.page(*flipping(runs), sounds=sounds))
    box = page.page.locator("#flips .body details").first
    assert "white at 10 dB SNR" in box.locator("summary").inner_text()
    assert "2 of 24 samples flip" in box.locator("summary").inner_text()
    first, second = box.locator("li.flip").all()
    assert "before: (C) cow → now: (A) cat · reference: cat" in first.inner_text()
    versions = first.locator("figure.version")
    assert versions.evaluate_all("(all) => all.map((one) => one.dataset.version)") == ["clean", "changed"]
    assert second.locator("audio").count() == 0
    first.locator("canvas[data-drawn]").nth(1).wait_for()
    sources = first.locator("audio").evaluate_all("(all) => all.map((one) => one.src)")
    assert len(set(sources)) == 2
    assert all(source.startswith("blob:") for source in sources)
    first.locator("a").click()
    page.page.locator("#card .id").get_by_text("s00003", exact=True).wait_for()
    assert "noisy[white-1]" in page.page.locator("#card").inner_text()
    assert "without the perturbation" in page.page.locator("#card").inner_text()
    assert page.complaints == []


def test_the_sounds_are_those_of_the_version_that_they_stand_under(runs: Any, opened: Any) -> None:
    sounds = [sound("changed", 500.0), sound("clean", 2_000.0)]
    page = opened(runs.page(*flipping(runs), sounds=sounds))
    page.page.locator("#flips canvas[data-drawn]").nth(1).wait_for()
    brightest = page.page.locator("#flips canvas").evaluate_all(
        """(all) => all.map((canvas) => {
          const scale = canvas.height / 208;
          const column = canvas.getContext("2d").getImageData(canvas.width / 2, 64 * scale, 1, 128 * scale).data;
          const light = (at) => column[4 * at] + column[4 * at + 1] + column[4 * at + 2];
          const rows = Array.from({ length: column.length / 4 }, (_, at) => at);
          return 8000 * (1 - rows.reduce((best, at) => (light(at) > light(best) ? at : best)) / rows.length);
        })"""
    )
    clean_hz, changed_hz = brightest
    assert abs(clean_hz - 2_000) < 300
    assert abs(changed_hz - 500) < 300


def test_without_sounds_it_is_said_how_to_have_them_and_a_narrow_page_does_not_scroll(runs: Any, opened: Any) -> None:
    page = opened(runs.page(*flipping(runs)))
    page.page.set_viewport_size({"width": 400, "height": 800})
    assert "--ab-report-audio=flips" in page.page.locator("#flips").inner_text()
    assert page.page.evaluate("document.documentElement.scrollWidth") <= 400


def test_names_and_answers_from_outside_are_shown_and_never_run(runs: Any, opened: Any) -> None:
    hostile = "<img src=x onerror=alert(1)>"
    items = flipping(runs, family=hostile, unit="</script><b>dB", question=hostile)
    for item in items:
        item.said = [hostile] * 24
    page = opened(runs.page(*items))
    assert page.page.locator("#flips img, #flips b").count() == 0
    text = page.page.locator("#flips").inner_text()
    assert text.count(hostile) >= 3
    assert "</script><b>dB" in text
    assert page.complaints == []


def test_a_run_in_which_nothing_flips_has_no_such_section(runs: Any, opened: Any) -> None:
    page = opened(runs.page(*runs.ladder((22, 14, 5))))
    assert not page.page.locator("#flips").is_visible()
