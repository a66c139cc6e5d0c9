"""The comment on a pull request: what it says, how long it may be, and that nothing from a model lives in it."""

import json
import re

import pytest

from pytest_audiobench.cli import main
from pytest_audiobench.errors import UsageError
from pytest_audiobench.records.run import VerdictRecord
from pytest_audiobench.report.markdown import summary
from pytest_audiobench.report.page import html
from pytest_audiobench.report.pull_request_comment import MARKER, comment
from pytest_audiobench.report.run_reader import load_run

RIGHT, WRONG, REFUSED = ("(a) cat", "parsed", True), ("(b) dog", "parsed", False), ("I cannot hear", "refused", False)
PAGE = "https://example.org/run/report.html"
HOSTILE = [
    "| end of cell | <img src=x onerror=alert(1)> @octocat #1 GH-1",
    "</details></table><script>alert(1)</script>",
    "[click](http://evil.example) ![x](http://evil.example/x.png) http://evil.example www.evil.example a@evil.example",
    "`code` ```fence``` ~~~ <!-- audiobench:comment --> -->\n\n# heading\n| a | b |\n- [ ] task",
    "\\| \\` \\<b> &lt;b&gt; &#64;octocat \\\\|",
    "\u202eesrever\u2066 \x00\x1b[31m \ud800 \u2028 |",
]


def commented(runs, *items, link=PAGE, **changes):
    folder, _ = runs.gated(*items, **{"exit_status": 1} | changes)
    return comment(load_run(folder), link)


def regressed(runs, index=0, name="digits", answers=(RIGHT, WRONG), **changes):
    return runs.item(index, name, list(answers), regressions=[runs.dropped(**changes)], outcome="failed")


def test_the_first_line_says_the_verdict_and_how_it_came_about(runs):
    passed = runs.item(1, "emotion", [RIGHT], regressions=[runs.dropped("pass")])
    text = commented(runs, regressed(runs), passed)
    assert text.splitlines()[0] == "## ✗ audiobench: regressed – 1 of 2 comparisons regressed, 1 pass"


def test_a_changed_line_has_values_drop_interval_flips_n_and_what_would_be_seen(runs):
    text = commented(runs, regressed(runs))
    row = next(line for line in text.splitlines() if "**regressed**" in line)
    shown = row.replace("\\", "").replace("&nbsp;", " ").replace("<br>", " ")
    for part in ("digits", "accuracy", "98.8 % → 12.5 %", "−86.2 pp (−93.0 to −78.0)", "69 worse 2 better of 80"):
        assert part in shown
    assert shown.endswith("| – |")


def test_only_lines_of_which_the_table_has_not_all_have_a_sentence_too(runs):
    noisy = regressed(runs, 1, "noisy", detail="86.2 pp worse: p < 0.0001; the model itself changes 5 % of its answers")
    doubtful = runs.item(2, "emotion", [RIGHT], regressions=[runs.dropped("inconclusive")])
    text = commented(runs, regressed(runs), noisy, doubtful)
    told = [line.split("**")[1] for line in text.splitlines() if re.match("- [✗?] ", line)]
    assert told == ["noisy", "emotion"]
    assert "the sentence of a line that is regressed" not in text
    assert "the sentence of a line that is inconclusive" in text


def test_an_improvement_is_in_the_table_and_changes_no_verdict(runs):
    better = runs.regression("pass", -0.1, p_better=0.0001, q_better=0.0002, lines=2)
    gained = runs.item(1, "emotion", [RIGHT], regressions=[better])
    text = commented(runs, regressed(runs, lines=2), gained)
    assert text.splitlines()[0] == "## ✗ audiobench: regressed – 1 of 2 comparisons regressed, 1 improved"
    assert "▲&nbsp;**improved** | emotion" in text
    rule = "regressed: p below 0.025 (0.05 shared by 2 comparisons); improved: Holm-adjusted p below 0.05"
    assert f"- {rule}" in text.replace("\\", "")


def test_lines_that_pass_are_folded_away(runs):
    passed = runs.item(1, "emotion", [RIGHT], regressions=[runs.dropped("pass")])
    text = commented(runs, regressed(runs), passed)
    before, folded = text.split("<details>", 1)
    assert "emotion" not in before
    assert "emotion" in folded


def test_three_flipped_samples_are_shown_with_question_truth_and_both_answers(runs):
    doubtful = runs.dropped("inconclusive")
    others = runs.item(1, "emotion", [WRONG, WRONG], regressions=[doubtful])
    text = commented(runs, regressed(runs, 0, answers=[RIGHT, WRONG, REFUSED]), others)
    rows = [line for line in text.splitlines() if "<br>" in line and "<code>" in line]
    assert [re.split(r"<br>|\| ", row)[1] for row in rows] == ["digits", "emotion", "digits"]
    assert all("<code>Which animal is heard?</code> | <code>cat</code> | <code>(a) cat" in row for row in rows)
    assert "<code>(b) dog</code> |" in rows[0]
    assert "### Samples that became worse: 3 of 4 shown" in text
    assert rows[2].endswith("<code>I cannot hear</code> · refused |")


def test_statuses_and_failures_that_moved_are_told(runs):
    text = commented(runs, regressed(runs, answers=[RIGHT, RIGHT, REFUSED]))
    assert "- **digits** parsed 3 → 2, refused 0 → 1" in text


def test_a_baseline_that_kept_no_texts_says_so(runs):
    assert "| <code>cat</code> (*text not stored*) | <code>(b) dog</code> |" in commented(
        runs, regressed(runs), before=None
    )


def test_a_run_without_a_baseline_has_a_comment_too(runs):
    folder, _ = runs.collected(runs.item(0, "digits", [RIGHT]))
    text = comment(load_run(folder))
    assert text.startswith("## audiobench: measured\n")
    assert "compared with no baseline" in text


def test_a_run_in_which_no_model_answered_says_so_where_the_model_stands(runs):
    text = commented(runs, runs.item(0, "digits", [], outcome="failed", message="404"), models=[])
    assert "No model that answered compared with" in text
    assert "*empty*" not in text


def test_a_failed_threshold_and_a_lost_eval_are_told_beside_the_lines(runs):
    fail = VerdictRecord("fail", "accuracy >= 0.9", 0.5, "0.5 is not >= 0.9")
    poor = runs.item(0, "digits", [RIGHT, WRONG], verdicts=[fail], outcome="failed")
    folder, _ = runs.gated(poor, runs.item(1, "emotion", [], outcome="lost"), exit_status=1)
    text = comment(load_run(folder)).replace("\\", "")
    told = "nothing was compared with the baseline; 1 threshold failed; 1 eval failed for another reason"
    assert text.splitlines()[0] == f"## ✗ audiobench: failed – {told}"
    assert "- ✗ **digits** accuracy &#62;= 0.9: 0.5 is not &#62;= 0.9" in text
    assert "- ✗ **emotion** lost" in text


def test_only_a_page_is_linked_to_its_samples(runs):
    assert f"](<{PAGE}#sample=" in commented(runs, regressed(runs))
    folder = runs.reports / "run"
    text = comment(load_run(folder), "https://github.com/a/b/actions/runs/1/artifacts/2")
    assert "#sample=" not in text
    assert "search there for the name of the sample" in text
    assert "[Open the report](<https://github.com/a/b/actions/runs/1/artifacts/2>)" in text


@pytest.mark.parametrize("link", ["javascript:alert(1)", "file:///etc/passwd", "https://a.b/> <x", "report.html"])
def test_a_link_that_is_none_is_refused(runs, link):
    with pytest.raises(UsageError, match="is not a link"):
        commented(runs, regressed(runs), link=link)


def test_a_link_of_the_comment_opens_its_sample_in_the_report(runs, opened):
    folder, record = runs.gated(regressed(runs, answers=[RIGHT, WRONG]), regressed(runs, 1, "emotion", [WRONG]))
    page = html.write_page(folder, record)
    text = comment(load_run(folder), "https://example.org/report.html")
    ends = re.findall(r"report\.html(#sample=[^>]*)>", text)
    assert len(ends) == 2
    browser = opened(page)
    for end, name in zip(ends, ("digits", "emotion"), strict=True):
        browser.page.goto(f"{page.as_uri()}{end}")
        # Another anchor of the open page is not a new page: it is drawn when its event comes.
        browser.page.locator("#card article", has_text=name).wait_for()
    assert browser.complaints == []


@pytest.fixture
def rendered():
    markdown = pytest.importorskip("markdown_it", reason="markdown-it-py is not installed").MarkdownIt(
        "gfm-like", {"linkify": False}
    )
    return lambda text: markdown.parse(text)


@pytest.mark.parametrize("hostile", HOSTILE)
def test_no_answer_breaks_out_of_its_cell_or_becomes_markup(runs, rendered, hostile):
    # Answers are made valid where they enter the store; a manifest's question is as its author wrote it.
    valid = hostile.replace("\ud800", "")
    item = runs.item(
        0,
        f"digits[{valid[:40]}]",
        [(valid, "parsed", False)] * 3,
        regressions=[runs.dropped(detail=valid, group={"hop": valid})],
        outcome="failed",
        question=hostile,
    )
    folder, record = runs.gated(item, exit_status=1, before=valid, notes=[valid])
    for text in (comment(load_run(folder), PAGE), summary(record)):
        text.encode()
        tokens = list(_all_tokens(rendered(text)))
        columns = [sum(one.type in ("th_open", "td_open") for one in row) for row in _rows(tokens)]
        assert set(columns) <= {5, 6, 8}
        links = {one.attrs["href"] for one in tokens if one.type == "link_open"}
        assert all(link.startswith(PAGE) for link in links)
        assert not [one for one in tokens if one.type == "image"]
        html = "".join(one.content for one in tokens if one.type in ("html_inline", "html_block"))
        html = re.sub('<abbr title="minimum detectable effect: [ a-z]+">|</abbr>', "", html)
        allowed = r"</?(?:code|details|summary|br)>|Lines that pass: \d+|All numbers of this run|Settings of the run|\s"
        assert re.sub(allowed, "", html) in ("", MARKER.replace(" ", ""))
        shown = "".join(one.content for one in tokens if one.type in ("text", "code_inline"))
        assert not re.search(r"@\w|#\d|://|www\.|\u202e|\u2066", shown)
        assert text.count(MARKER) in (0, 1)


def test_a_sentence_of_what_to_do_that_names_what_is_from_outside_is_no_markup(runs):
    folder, record = runs.gated(
        runs.item(0, "a", [RIGHT]), unmeasured=["<b>@octocat [x](http://e.example)"], exit_status=1
    )
    for text in (comment(load_run(folder)), summary(record)):
        assert not re.search(r"<b>|@octocat|\]\(http", text)
    assert "&#60;b&#62;&#64;" in comment(load_run(folder))


def _all_tokens(tokens):
    for token in tokens:
        yield token
        yield from _all_tokens(token.children or ())


def _rows(tokens):
    row = None
    for token in tokens:
        if token.type == "tr_open":
            row = []
        elif token.type == "tr_close":
            yield row
        elif row is not None:
            row.append(token)


def test_a_comment_is_under_githubs_limit_whatever_the_run(runs):
    evil = "@#|<&" * 400
    items = [
        runs.item(n, f"{evil}{n}", [(evil, "parsed", False)] * 4, question=evil, outcome="failed") for n in range(150)
    ]
    for item in items:
        item.regressions = [runs.dropped(detail=evil, group={"hop": evil}) for _ in range(3)]
    text = commented(runs, *items, notes=[evil] * 50)
    assert len(text.encode()) <= 65_536
    assert text.startswith("## ✗ audiobench: regressed – 450 of 450 comparisons regressed")
    assert text.rstrip().endswith(MARKER)
    assert "more are in the report" in text
    assert text.count("<details>") == text.count("</details>")


def test_the_command_writes_a_file_that_ends_with_the_marker(runs, tmp_path, capsys):
    folder, _ = runs.gated(regressed(runs), exit_status=1)
    out = tmp_path / "comment.md"
    assert main(["comment", str(folder), "--link", PAGE, "--out", str(out)]) == 0
    assert out.read_text().endswith(f"{MARKER}\n")
    finished = load_run(folder).record.finished
    said = f"comment on {folder}, which finished {finished}: regressed (1 of 1 comparison regressed)\n"
    assert capsys.readouterr() == ("", said)
    assert main(["comment", str(folder)]) == 0
    printed = capsys.readouterr()
    assert printed.out.startswith("## ✗ audiobench: regressed")
    assert printed.err == said


def test_a_run_that_left_no_record_has_a_comment_that_says_so(runs, tmp_path, capsys):
    folder = runs.begun(runs.item(0, "digits", [RIGHT]))
    out = tmp_path / "comment.md"
    assert main(["comment", str(folder), "--out", str(out)]) == 4
    text = out.read_text()
    assert text.startswith("## ✗ audiobench: no verdict")
    assert "crashed or is still going" in text.replace("\\", "")
    assert MARKER in text
    assert "crashed or is still going" in capsys.readouterr().err


def test_lines_of_another_run_are_an_error_not_a_wrong_flip(runs):
    folder, _ = runs.gated(regressed(runs))
    path = folder / "compared_predictions.jsonl"
    row = json.loads(path.read_text().splitlines()[0])
    path.write_text(json.dumps(row | {"sample_id": "elsewhere"}) + "\n")
    with pytest.raises(Exception, match="compared_predictions"):
        comment(load_run(folder))
