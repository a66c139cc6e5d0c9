"""What a reader takes from the page: marked samples, manifests, tables, drawings."""

from __future__ import annotations

import csv
import io
import json
import tomllib
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from msgspec.structs import replace

from pytest_audiobench import manifest
from pytest_audiobench.datasets.places import Places
from tests.browser import reload_until

RIGHT, WRONG = ("(a) cat", "parsed", True), ("(b) dog", "parsed", False)
REFUSED, LOOP = ("-5", "refused", False), ("=b b b", "unparsed", False)


def saved(page: Any, button: Any) -> str:
    with page.expect_download() as waiting:
        button.click()
    return Path(waiting.value.path()).read_text(encoding="utf-8")


def with_metadata(number: int, row: Any) -> Any:
    return replace(row, metadata={"speaker": f"sp{number % 2}", "take": f"t{number}"})


def two_evals(runs: Any) -> Path:
    items = [
        runs.item(n, f"eval-{n}", [RIGHT, REFUSED, WRONG, LOOP], amend=with_metadata, truths=["cat"] * 4)
        for n in range(2)
    ]
    path: Path = runs.page(*items)
    return path


def listed(page: Any) -> list[str]:
    return page.locator("#rows .row .id").all_inner_texts()


def test_the_worst_samples_are_listed_first(runs: Any, opened: Any) -> None:
    page = opened(runs.page(runs.item(0, "a", [RIGHT, REFUSED, WRONG, LOOP]))).page
    assert listed(page) == ["s00002", "s00001", "s00003", "s00000"]
    page.get_by_label("Order").select_option("as in the run")
    assert listed(page) == ["s00000", "s00001", "s00002", "s00003"]


def test_a_clip_that_is_wrong_in_two_evals_comes_again_after_every_other(runs: Any, opened: Any) -> None:
    page = opened(runs.page(runs.item(0, "a", [WRONG]), runs.item(1, "b", [WRONG, WRONG]))).page
    assert listed(page) == ["s00000", "s00001", "s00000"]


def test_any_metadata_field_is_a_filter_and_part_of_the_address(runs: Any, opened: Any) -> None:
    page = opened(two_evals(runs)).page
    field = page.get_by_label("More metadata")
    field.focus()
    field.select_option("speaker")
    page.get_by_label("speaker", exact=True).select_option("sp1 (4)")
    assert page.locator("#place").inner_text() == "4 of 8 samples"
    page.wait_for_url("**#metadata.speaker=sp1")
    page.reload()
    assert page.locator("#place").inner_text() == "4 of 8 samples"


def test_a_group_of_one_eval_is_a_filter_of_the_samples_that_have_it_as_metadata_too(runs: Any, opened: Any) -> None:
    def with_snr(number: int, row: Any) -> Any:
        return replace(row, metadata={"snr_db": ("10", "-5", "5")[number % 3]})

    grouped = runs.item(0, "a", [RIGHT, WRONG], groups={"snr_db": "10"})
    page = opened(runs.page(grouped, runs.item(1, "b", [RIGHT, WRONG, LOOP], amend=with_snr))).page
    pick = page.get_by_label("snr_db", exact=True)
    pick.focus()
    assert pick.locator("option").all_inner_texts() == ["all", "-5 (1)", "5 (1)", "10 (3)"]
    pick.select_option("10 (3)")
    assert page.locator("#place").inner_text() == "3 of 5 samples"
    page.get_by_role("button", name="Clear filters").click()
    page.get_by_label("Search").fill("-5")
    page.locator("#place").filter(has_text="1 of 5 samples").wait_for()


def test_marks_are_kept_and_can_be_listed(runs: Any, opened: Any) -> None:
    page = opened(two_evals(runs)).page
    page.keyboard.press("m")
    page.get_by_role("button", name="★ Marked", exact=True).wait_for()
    marked = page.get_by_role("button", name="marked 1")
    reload_until(page, marked)
    marked.click()
    assert listed(page) == ["s00002"]
    assert page.locator("#card .mark").inner_text() == "★ Marked"


def test_what_is_filtered_is_saved_as_a_table_that_no_spreadsheet_runs(runs: Any, opened: Any) -> None:
    shown = opened(two_evals(runs))
    shown.choose("Answer", "unparsed")
    page = shown.page
    page.get_by_text("Export the selection").click()
    rows = list(csv.DictReader(io.StringIO(saved(page, page.get_by_role("button", name="CSV of these 4 samples")))))
    assert [(row["eval"], row["id"], row["status"], row["metadata.take"]) for row in rows] == [
        ("eval-0", "s00001", "refused", "t1"),
        ("eval-0", "s00003", "unparsed", "t3"),
        ("eval-1", "s00001", "refused", "t1"),
        ("eval-1", "s00003", "unparsed", "t3"),
    ]
    assert [row["answer"] for row in rows[:2]] == ["-5", "'=b b b"]
    assert shown.complaints == []


def test_a_manifest_of_the_selection_is_read_as_a_data_set(runs: Any, opened: Any, tmp_path: Path) -> None:
    page = opened(two_evals(runs)).page
    page.get_by_text("Export the selection").click()
    lines = saved(page, page.get_by_role("button", name="again-multiple-choice-sakura.jsonl (8)"))
    declared = tomllib.loads(saved(page, page.get_by_role("button", name="again.audiobench.toml")))["task"]
    assert [(task["protocol"], task["manifest"]) for task in declared] == [
        ("multiple-choice", "again-multiple-choice-sakura.jsonl")
    ]
    assert "pytest again.audiobench.toml --ab-model=listener=baseline:listener" in page.locator("#again").inner_text()
    for row in map(json.loads, lines.splitlines()):
        file = tmp_path / "data" / row["audio"]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"")
    (tmp_path / "again.jsonl").write_text(lines)
    own = {name: declared[0][name] for name in ("audio", "answer", "choices")}
    samples = manifest("again.jsonl", root="data", **own).read(Places(here=tmp_path, shelves=[]))
    assert len(samples) == 8
    first = samples[0]
    assert (first.id, first.question, first.choices) == (
        "s00002",
        "Which animal is heard?",
        ("cat", "dog", "cow", "hen"),
    )
    assert first.truths == ("cat",)
    assert first.metadata == {"speaker": "sp0", "take": "t2", "eval": "eval-0"}


def test_a_heat_map_and_a_confusion_matrix_can_be_saved_too(runs: Any, opened: Any) -> None:
    said = ["cat"] * 9 + ["dog"] * 3
    answers = [RIGHT if one == "cat" else WRONG for one in said]
    shown = opened(runs.page(*runs.ladder((20, 6)), runs.item(9, "a", answers, truths=["cat"] * 12, said=said)))
    page = shown.page
    page.locator("#labels .body > div > details > summary").last.click()
    for part, text, row in (
        ("#grid", "95.8", {"perturbation": "clean", "value": "95.8333", "n": "24", "parse_rate": "100.0"}),
        ("#labels", "hen", {"true label": "cat", "cat": "9", "dog": "3"}),
    ):
        menu = page.locator(f"{part} .menu").last
        menu.locator("summary").press("Enter")
        drawing = ElementTree.fromstring(saved(page, menu.get_by_role("button", name="SVG")))
        assert text in ["".join(one.itertext()).strip() for one in drawing.iter("{http://www.w3.org/2000/svg}text")]
        grounds = {one.get("fill") for one in drawing.iter("{http://www.w3.org/2000/svg}rect")}
        assert len(grounds) > 2
        assert all(ground == "none" or ground.startswith("rgb(") for ground in grounds)
        menu.locator("summary").click()
        rows = list(csv.DictReader(io.StringIO(saved(page, menu.get_by_role("button", name="CSV")))))
        assert any(row.items() <= one.items() for one in rows)
        assert not any("−" in text or text.endswith((" %", " pp")) for one in rows for text in one.values())
    assert shown.complaints == []


def test_every_figure_can_be_saved_as_a_drawing_and_as_numbers(runs: Any, opened: Any) -> None:
    shown = opened(runs.page(*(runs.item(n, f"eval-{n}", [RIGHT] * (n + 1) + [WRONG], suite=f"s{n}") for n in (0, 2))))
    page = shown.page
    page.locator("#results svg[role=img]").wait_for()
    menu = page.locator("#results .menu")
    menu.locator("summary").press("Enter")
    drawing = ElementTree.fromstring(saved(page, menu.get_by_role("button", name="SVG")))
    assert "var(" not in ElementTree.tostring(drawing, encoding="unicode").split("</style>")[-1]
    assert float(drawing.get("width") or 0) > 100
    menu.locator("summary").click()
    rows = list(csv.DictReader(io.StringIO(saved(page, menu.get_by_role("button", name="CSV")))))
    assert [(row["row"], row["value"], row["n"]) for row in rows] == [("eval-0 ↑", "50", "2"), ("eval-2 ↑", "75", "4")]
    assert page.locator("figure.plot").count() == page.locator("figure.plot .menu").count() > 1
    assert shown.complaints == []
