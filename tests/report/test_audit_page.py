"""The page of an audit in a real browser: what it shows and plays, and that nothing from outside runs in it."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from pytest_audiobench.audio.clip import Clip, DataRoot, FileSource
from pytest_audiobench.comparison.audit_page import write_page
from pytest_audiobench.comparison.data_audit import Audit, AuditedClip, Check, Item, Suspect
from pytest_audiobench.datasets.bundled import bundled_folder
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.identity import file_digest
from tests.browser import new_context

HOSTILE = (
    "</script><script>document.title='ran'</script><img src=x onerror=\"document.title='ran'\">"
    "<a href=\"javascript:document.title='ran'\">x</a>{{data}} \u2028\u202e\x00\x1b[31m "
)
CLIP = "audio/digit-0000.flac"


def clip(source: str = f"bundled/digits:{CLIP}") -> AuditedClip:
    digest = file_digest(bundled_folder() / CLIP)
    key = Clip(FileSource(DataRoot("bundled/digits", bundled_folder()), CLIP)).key_from(digest)
    return AuditedClip(source, key, source)


def audit(text: str = "", played: AuditedClip | None = None) -> Audit:
    """One suspect of one eval; ``text`` is in every field that comes from outside."""
    item = Item(f"{text}d0", f"{text}Which digit?", (f"{text}one", "two"), (f"{text}one",), (played or clip(),))
    suspect = Suspect(f"{text}digits", item.id, "agreement", f"{text}3 of 3 models agree", f"{text}one", "two", 1.0)
    check = Check(suspect.eval, "agreement", 80, f"{text}1 of 80 items")
    return Audit([f"{text}good"], [check], [suspect], {(suspect.eval, item.id): item}, [f"{text}a note"])


def page(folder: Path, text: str = "", played: AuditedClip | None = None) -> Path:
    path = folder / "audit.html"
    write_page(path, audit(text, played), Places(folder))
    return path


def test_an_item_opens_from_disk_with_its_reason_and_its_sound(opened: Any, tmp_path: Path) -> None:
    shown = opened(page(tmp_path))
    assert "1 suspect item" in shown.page.locator(".overall").inner_text()
    card = shown.page.locator(".suspect")
    for text in ("d0", "3 of 3 models agree", "one | two", "strength 1.00"):
        assert text in card.inner_text()
    shown.page.wait_for_selector("canvas.sound[data-drawn]")
    assert card.locator("audio").count() == 1
    assert shown.complaints == []


def test_nothing_from_outside_runs_in_the_page_of_an_audit(opened: Any, tmp_path: Path) -> None:
    shown = opened(page(tmp_path, HOSTILE))
    shown.page.wait_for_selector("canvas.sound[data-drawn]")
    assert shown.page.title() != "ran"
    assert shown.page.locator("img").count() == 0
    assert "</script><script>document.title" in shown.page.locator(".suspect").inner_text()
    assert shown.complaints == []


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("bundled/digits:../../../etc/hostname", "leaves its data root"),
        ("bundled/digits:audio/digit-0001.flac", "other audio"),
        ("elsewhere:a.wav", "--data elsewhere=FOLDER"),
    ],
)
def test_a_sound_that_is_not_the_one_that_was_played_is_not_on_the_page(tmp_path: Path, source: str, says: str) -> None:
    remarks = write_page(tmp_path / "audit.html", audit(played=clip(source)), Places(tmp_path))
    assert says in " ".join(remarks)
    assert 'class="sound"' not in (tmp_path / "audit.html").read_text()


def test_axe_finds_nothing_serious_in_an_audit(browser: Any, tmp_path: Path) -> None:
    pytest.importorskip("axe_playwright_python", reason="axe-playwright-python is not installed")
    context = new_context(browser, offline=True)
    shown = context.new_page()
    shown.goto(page(tmp_path).as_uri())
    shown.wait_for_selector("canvas.sound[data-drawn]")
    shown.evaluate((files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8"))
    violations = shown.evaluate("axe.run(document, { resultTypes: ['violations'] })")["violations"]
    assert [each["id"] for each in violations if each["impact"] in ("serious", "critical")] == []
    context.close()
