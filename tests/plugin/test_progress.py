"""Long work shows how far it has come, on a line that leaves no trace: of all workers at once; never under -q."""

import re

import pytest

from pytest_audiobench.plugin.progress import Position, Progress, progress_text
from pytest_audiobench.plugin.run_folder import Expected, Planned
from tests.screen import pytest_on_a_terminal

QUIET = ("-p", "no:cacheprovider", "-p", "no:hypothesispytest", "-p", "no:anyio", "--tb=no")
SUITE = """
import pytest
from pytest_audiobench import manifest, multiple_choice

@pytest.mark.parametrize("part", range(3))
def test_tones(evaluate, part):
    print("said by a test", end="")
    evaluate(manifest("data/tones.jsonl"), multiple_choice())
    assert part != 1
"""


def run(tones, *args, columns=80, **environment):
    tones.write(test_tones=SUITE)
    # Workers tell how far they are twice a second, and are asked as often.
    sleepy = 0.4 if "-n2" in args else 0.15
    return pytest_on_a_terminal(
        [*QUIET, f"--ab-model=tone:one,sleepy={sleepy}", *args], tones.path, columns, **environment
    )


@pytest.mark.parametrize(
    ("args", "columns", "line"),
    [
        ((), 80, "test_tones.py .F. "),
        (("-v", "--color=no"), 120, "test_tones.py::test_tones[1] FAILED "),
        (("-s",), 80, "said by a testFsaid by a test"),
        (("-n2",), 80, " [100%]"),
    ],
)
def test_the_line_of_pytest_stays_whole_and_ours_leaves_no_trace(tones, args, columns, line):
    screen = run(tones, *args, columns=columns)
    assert screen.status == 1
    assert any(line in each for each in screen.lines), screen.text
    shown = screen.ever("/3 evals, ")
    assert any(re.match(r"[0-3]/3 evals, [\d,]+(/~?[\d,]+)? answers.*: tones\[\d\]", each) for each in shown), shown
    assert max(map(len, shown)) < columns
    assert [each for each in screen.lines if "/3 evals" in each] == []
    # Of the lines before the summary none is one of ours in part.
    head = screen.text.partition("= audiobench =")[0]
    assert not re.search(r"/40|answers,", head), head
    plan = next(k for k, each in enumerate(screen.lines) if "to ask of one" in each)
    assert screen.lines[plan].startswith("to ask of one: "), "the line on which xdist counts workers is not broken"


def test_nothing_is_shown_under_q_and_nothing_that_moves_in_ci(tones):
    assert run(tones, "-q").ever("/3 evals, ") == []
    in_ci = run(tones, "--ab-refresh", CI="true")
    assert b"\x1b7" not in in_ci.written
    assert in_ci.ever("/3 evals, ") == []


def expected(count):
    return {f"n{k}": Expected(k, f"n{k}", f"e{k}", "s", "one", 0) for k in range(count)}


def test_the_time_that_is_left_follows_from_the_plan_and_from_what_was_asked():
    planned = {f"n{k}": Planned(100) for k in range(4)} | {"n3": Planned(100, known=100)}
    at = Position("e1:part", 50, 100, "", own=50, answers=150, asked=100, seconds=10.0)
    ended = {"n0": "passed"}
    text = progress_text([at], expected(4), ended, planned)
    assert text == "1/4 evals, 150/400 answers, 10/s, 15 s left: e1:part 50/100"
    assert progress_text([at], expected(4), ended, planned, 58).endswith(" left: e1:part")
    assert len(progress_text([at], expected(4), ended, planned, 40)) <= 40


def test_what_never_ran_is_taken_for_as_large_as_the_evals_so_far():
    at = Position("e1", 10, 100, "", own=10, answers=110, asked=100, seconds=10.0)
    outcomes = {"n0": "passed", "n3": "skipped"}
    text = progress_text([at], expected(4), outcomes, {"n3": Planned(0)})
    assert text == "2/4 evals, 110/~300 answers, 10/s, ~19 s left: e1 10/100"
    nothing_yet = progress_text([Position("e0", 0, 100)], expected(4), {}, {})
    assert nothing_yet == "0/4 evals, 0 answers: e0 0/100"


def test_all_workers_are_on_one_line_within_its_width():
    places = [Position(f"a-very-long-name-of-an-eval[{k}]", k, 9, answers=k, own=k) for k in range(3)]
    line = progress_text(places, expected(3), {}, {f"n{k}": Planned(9) for k in range(3)}, 79)
    assert line.startswith("0/3 evals, 3/27 answers: a-")
    assert len(line) <= 79
    assert progress_text([Position("evil\x1b[2J", 1, 2)], {}, {}, {}).isprintable()


def test_answers_are_counted_once_over_stages_and_those_of_the_store_have_no_speed():
    seen = []
    progress = Progress(seen.append, every_s=0.0)
    first, other = progress.of("e0"), progress.of("e1:b")
    for done in (3, 4, 6):
        first(done, 6)
    for done in (0, 6):  # another stage
        first(done, 6)
    assert (seen[-1].answers, seen[-1].own, seen[-1].asked) == (12, 12, 8)  # the first answer waited for the model
    other(2, 4)
    assert (seen[-1].eval, seen[-1].answers, seen[-1].own, seen[-1].asked) == ("e1:b", 14, 2, 8)
