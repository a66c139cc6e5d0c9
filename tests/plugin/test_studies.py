"""Studies: evals that run where something asks for them by name, and are counted where they are left out."""

import json

import pytest

DAILY = """
import pytest
from pytest_audiobench import manifest, multiple_choice

@pytest.mark.parametrize("task", ["emotion", "animal"])
def test_daily(evaluate, task):
    evaluate(manifest("data/tones.jsonl"), multiple_choice())
"""
GRID = """
import pytest
from pytest_audiobench import manifest, multiple_choice

pytestmark = pytest.mark.study
each_task = pytest.mark.parametrize("task", ["emotion", "animal"])

class TestCuts:
    @each_task
    def test_mask(self, evaluate, task):
        evaluate(manifest("data/tones.jsonl"), multiple_choice())

@each_task
def test_noise(evaluate, task):
    evaluate(manifest("data/tones.jsonl"), multiple_choice())
"""
EVERY_DAY = {"daily[emotion]", "daily[animal]"}
MASKS = {"grid/Cuts/mask[emotion]", "grid/Cuts/mask[animal]"}
NOISES = {"grid/noise[emotion]", "grid/noise[animal]"}
ON_TWO = pytest.mark.parametrize("workers", [(), ("-n2",)], ids=["alone", "two-workers"])
"""In one process, and by workers that must decide alike."""


@pytest.fixture
def grid(suite):
    """Two evals for every day, and a study of four, each over two tones."""
    suite.tones(2)
    suite.write(test_daily=DAILY, test_grid=GRID)
    return suite


def evals(suite):
    return {item["eval"] for item in suite.last()[0]["items"]}


def not_run(count, were="were"):
    evals = "eval" if count == 1 else "evals"
    return f"{count} {evals} of studies {were} not run (grid): ask for them by name, or with -m study"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((), EVERY_DAY),
        ((".",), EVERY_DAY),
        (("-k", "emotion"), {"daily[emotion]"}),
        (("-k", "Mask"), MASKS),
        (("-k", "cuts and animal"), {"grid/Cuts/mask[animal]"}),
        (("-k", "GRID and animal"), {"grid/Cuts/mask[animal]", "grid/noise[animal]"}),
        (("-k", "emotion or mask"), {"daily[emotion]", *MASKS}),
        (("-k", "not mask"), EVERY_DAY),
        (("-k", "emotion and not (mask or noise)"), {"daily[emotion]"}),
        (("-k", "not (not mask or animal)"), {"grid/Cuts/mask[emotion]"}),
        (("-m", "study"), {*MASKS, *NOISES}),
        (("-m", "not study"), EVERY_DAY),
        (("-m", "study", "-k", "emotion"), {"grid/Cuts/mask[emotion]", "grid/noise[emotion]"}),
        (("test_grid.py",), {*MASKS, *NOISES}),
        (("test_grid.py", "-k", "emotion"), {"grid/Cuts/mask[emotion]", "grid/noise[emotion]"}),
        (("--pyargs", "test_grid"), {*MASKS, *NOISES}),
        (("test_grid.py::TestCuts",), MASKS),
        ((".", "test_grid.py::test_noise[animal]"), {*EVERY_DAY, "grid/noise[animal]"}),
        ((".", "test_grid.py"), {*EVERY_DAY, *MASKS, *NOISES}),
        (("--deselect=test_daily.py::test_daily[emotion]",), {"daily[animal]"}),
    ],
)
def test_a_study_runs_where_something_names_its_evals(grid, arguments, expected):
    assert grid.run(*arguments).ret == 0
    assert evals(grid) == expected


@ON_TWO
def test_every_worker_leaves_out_the_same(grid, workers):
    result = grid.run("-k", "emotion or mask", *workers)
    assert result.ret == 0
    assert evals(grid) == {"daily[emotion]", *MASKS}
    assert grid.last()[0]["notes"] == [not_run(1, "was")]


def test_a_run_counts_what_it_left_out_wherever_it_is_read(grid):
    result = grid.run()
    result.assert_outcomes(passed=2, deselected=4)
    result.stdout.fnmatch_lines([f"note: {not_run(4)}", "report: *"])
    record, folder = grid.last()
    assert record["notes"] == [not_run(4)]
    assert json.dumps(not_run(4)) in (folder / "report.html").read_text()


def test_what_other_options_leave_out_is_not_counted(grid):
    grid.run("-k", "emotion", "--deselect=test_grid.py::test_noise")
    assert grid.last()[0]["notes"] == [not_run(1, "was")]
    grid.run("-k", "daily")
    assert grid.last()[0]["notes"] == []


@ON_TWO
def test_where_studies_alone_were_chosen_the_run_says_why_nothing_ran(grid, workers):
    result = grid.run("-k", "emotion and not daily", *workers)
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    result.stdout.fnmatch_lines([f"note: {not_run(2)}"])
    assert not [path for path in grid.path.glob("reports/*") if path.is_dir()]


def test_where_all_evals_were_skipped_the_studies_are_counted_too(grid):
    grid.write(test_daily=DAILY.replace("    evaluate(", "    pytest.skip('not today')\n    evaluate("))
    result = grid.run()
    result.stdout.fnmatch_lines(["all 2 evals were skipped: *", f"note: {not_run(4)}"])


def test_collect_only_shows_the_same_selection(grid):
    result = grid.run("--collect-only", "-q", "-k", "emotion or noise")
    assert {line for line in result.outlines if "::" in line} == {
        "test_daily.py::test_daily[emotion]",
        "test_grid.py::test_noise[emotion]",
        "test_grid.py::test_noise[animal]",
    }
    result.stdout.fnmatch_lines([f"note: {not_run(1, 'was')}"])


@ON_TWO
def test_the_failures_of_a_study_are_run_again(grid, workers):
    grid.write(test_grid=f"{GRID}    assert task != 'animal'\n")
    options = ("--ab-model=tone:one", "-p", "no:hypothesispytest", "-p", "no:anyio", *workers)
    assert grid.pytest("test_grid.py", *options).ret == 1
    assert grid.pytest("--lf", *options).ret == 1
    assert evals(grid) == {"grid/noise[animal]"}
    assert grid.pytest("--ff", *options).ret == 1
    assert evals(grid) == {*EVERY_DAY, "grid/noise[animal]"}
    assert grid.pytest(*options).ret == 0
    assert evals(grid) == EVERY_DAY


@ON_TWO
def test_the_evals_that_the_baseline_holds_are_compared_with_it(grid, workers):
    assert grid.run("-k", "mask and animal", "--ab-run=base").ret == 0
    result = grid.run("--ab-baseline=base", "--ab-max-drop=none", *workers)
    assert result.ret == 0
    assert evals(grid) == {*EVERY_DAY, "grid/Cuts/mask[animal]"}
    assert not_run(3) in grid.last()[0]["notes"]


@ON_TWO
def test_a_rule_about_a_study_asks_for_nothing_and_is_listed_as_not_checked(grid, workers):
    rules = [f'[[threshold]]\neval = "{pattern}"\nrequire = ["accuracy >= 0"]\n' for pattern in ("*", "grid/*")]
    (grid.path / "audiobench.toml").write_text("".join(rules))
    assert grid.run(*workers).ret == 0
    assert evals(grid) == EVERY_DAY
    unchecked, studies = grid.last()[0]["notes"]
    assert unchecked.startswith("not checked: audiobench.toml")
    assert unchecked.endswith(
        "nothing selected matches eval = 'grid/*', model = '*'; its evals are of studies that were not asked for"
    )
    assert studies == not_run(4)
    assert grid.run("-m", "study", *workers).ret == 0
    assert grid.last()[0]["notes"] == []


def test_a_rule_may_name_a_study_where_another_file_is_run(grid):
    (grid.path / "evals").mkdir()
    for name in ("test_daily.py", "test_grid.py", "data"):
        (grid.path / name).rename(grid.path / "evals" / name)
    (grid.path / "audiobench.toml").write_text('[[threshold]]\neval = "grid/*"\nrequire = ["accuracy >= 0"]\n')
    assert grid.run("evals/test_daily.py").ret == 0
    assert evals(grid) == EVERY_DAY


def test_one_case_of_an_eval_may_be_of_a_study_and_a_test_that_is_no_eval_is_of_none(grid):
    case = DAILY.replace('"animal"]', 'pytest.param("animal", marks=pytest.mark.study)]')
    grid.write(test_daily=f"{case}\n@pytest.mark.study\ndef test_plain():\n    pass\n")
    grid.run("--ignore=test_grid.py").assert_outcomes(passed=2, deselected=1)
    assert evals(grid) == {"daily[emotion]"}


def test_options_of_the_ini_file_ask_as_those_of_the_command_line_do(grid):
    ini = grid.path / "pytest.ini"
    ini.write_text("[pytest]\ntestpaths = test_*.py\n")
    grid.run()
    assert evals(grid) == EVERY_DAY
    ini.write_text("[pytest]\naddopts = -m study\n")
    grid.run()
    assert evals(grid) == {*MASKS, *NOISES}


def test_the_marker_is_among_pytests_own(suite):
    result = suite.pytest("--markers")
    result.stdout.fnmatch_lines(["@pytest.mark.study: an eval of a grid *: by -m study, *"])
