"""The same files govern a run however its options are written, and wherever it is started."""

import pytest

RULES = '[[threshold]]\neval = "tones*"\nrequire = ["accuracy >= 0.9"]\n'
PLAIN = "def test_plain():\n    pass\n"


@pytest.fixture
def deaf(tones, tmp_path_factory):
    """A suite with thresholds in its root, a model that misses them, and a folder that lies elsewhere."""
    (tones.path / "audiobench.toml").write_text(RULES)
    tones.elsewhere = tmp_path_factory.mktemp("elsewhere")
    return tones


@pytest.mark.parametrize("option", ["--ab-store", "--ab-reports"])
def test_a_path_behind_a_space_that_moves_the_root_is_refused_before_and_after_it_is_there(deaf, option):
    place = deaf.elsewhere / "place"
    for _ in range(2):
        result = deaf.run(option, place, deaf="yes")
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines([f"ERROR: {option} {place}: pytest takes *; write pytest *{option}={place}*"])
        place.touch()
    place.unlink()
    assert deaf.run(f"{option}={place}", deaf="yes").ret == 1


def test_any_option_whose_value_is_a_path_elsewhere_is_refused_also_in_addopts(deaf, monkeypatch):
    monkeypatch.setenv("PYTEST_ADDOPTS", f"--ab-data {deaf.elsewhere}")
    result = deaf.run()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: --ab-data {deaf.elsewhere}: *"])


@pytest.mark.parametrize(
    "named", [["--ab-limit", "5"], ["--ab-store", "store.sqlite"], ["--ab-store", "/nowhere/s.sqlite", "--rootdir=."]]
)
def test_a_value_behind_a_space_that_moves_nothing_is_read_as_ever(tones, named):
    if "--rootdir=." in named:
        named[1] = str(tones.path.parent / "outside.sqlite")
    assert tones.run(*named).ret == 0


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_thresholds_that_are_not_in_force_are_a_mistake(deaf, workers):
    evals = deaf.path / "evals"
    evals.mkdir()
    (deaf.path / "test_tones.py").rename(evals / "test_tones.py")
    (deaf.path / "data").rename(evals / "data")
    (deaf.path / "audiobench.toml").rename(evals / "audiobench.toml")
    result = deaf.run(workers, deaf="yes")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    file = evals / "audiobench.toml"
    result.stderr.fnmatch_lines([f"*thresholds of {file} are not in force: pytest's root is {deaf.path}*"])
    assert deaf.run(workers, f"--ab-config={file}", deaf="yes").ret == 1


def test_thresholds_of_the_working_folder_that_are_not_in_force_are_a_mistake(deaf, monkeypatch):
    work = deaf.path / "work"
    work.mkdir()
    (deaf.path / "audiobench.toml").rename(work / "audiobench.toml")
    monkeypatch.chdir(work)
    monkeypatch.setenv("PYTHONPATH", str(deaf.path), prepend=":")
    result = deaf.run("../test_tones.py", deaf="yes")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*name it with --ab-config=*"])


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_a_baseline_for_a_run_without_evals_is_a_mistake(tones, workers):
    tones.write(test_plain=PLAIN)
    assert tones.run("--ab-run=main").ret == 0
    for selected in (["test_plain.py"], ["-k", "plain"], ["-k", "nothing"]):
        result = tones.run(workers, *selected, "--ab-baseline=main")
        assert result.ret == pytest.ExitCode.USAGE_ERROR, selected
        result.stderr.fnmatch_lines(["*--ab-baseline compares evals, and *"])
    assert tones.run(workers, "test_plain.py").ret == 0


def test_a_path_elsewhere_is_refused_where_only_addopts_has_options(deaf, monkeypatch):
    monkeypatch.setenv("PYTEST_ADDOPTS", f"--ab-store {deaf.elsewhere / 'store.sqlite'}")
    assert deaf.run(model=None).ret == pytest.ExitCode.USAGE_ERROR
