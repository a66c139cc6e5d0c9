"""What stands around a page's data: libraries, and the policy that allows them by their digests."""

from __future__ import annotations

import hashlib
import re
from importlib.resources import files

from pytest_audiobench.report.page.frame import PLOT, page_frame

VENDOR = files("pytest_audiobench.report.page") / "vendor"


def test_a_page_with_nothing_to_plot_does_not_carry_the_library() -> None:
    plain, drawn = (len(b"".join(page_frame("a run", libraries))) for libraries in ([], [PLOT]))
    assert plain < 221_000
    assert drawn - plain > 200_000


def test_a_page_carries_no_comments_of_its_scripts() -> None:
    assert not re.search(rb"^ *//", b"".join(page_frame("a run")), re.MULTILINE)


def test_the_policy_names_digests_and_nothing_that_is_unsafe() -> None:
    before, _ = page_frame("a run", [PLOT])
    found = re.search(r'Content-Security-Policy" content="([^"]+)"', before.decode())
    assert found is not None
    rules = dict(rule.strip().split(" ", 1) for rule in found[1].split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["require-trusted-types-for"] == "'script'"
    for rule, count in (("script-src", 2), ("style-src", 2)):
        sources = rules[rule].split()
        assert len(sources) == count
        assert all(source.startswith("'sha256-") for source in sources)


def test_a_title_cannot_leave_its_element() -> None:
    before, _ = page_frame("</title><script>{{data}}", [])
    assert before.count(b"</title>") == 1
    assert b"<title>&lt;/title&gt;&lt;script&gt;" in before


def test_the_library_is_the_one_that_its_description_and_licence_speak_of() -> None:
    script = (VENDOR / "plot.min.js").read_bytes()
    about = (VENDOR / "README.md").read_text()
    licences = (VENDOR / "plot.LICENSE.txt").read_text()
    assert hashlib.sha256(script).hexdigest() in about
    assert licences in script.decode()
    assert "@observablehq/plot 0.6.17" in licences
