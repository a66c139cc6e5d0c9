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
        result.stderr.fnmatch_lines(["*--ab-baseline is about evals, and *"])
    assert tones.run(workers, "test_plain.py").ret == 0


def test_a_path_elsewhere_is_refused_where_only_addopts_has_options(deaf, monkeypatch):
    monkeypatch.setenv("PYTEST_ADDOPTS", f"--ab-store {deaf.elsewhere / 'store.sqlite'}")
    assert deaf.run(model=None).ret == pytest.ExitCode.USAGE_ERROR


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
@pytest.mark.parametrize("option", ["--ab-require=mmar", "--ab-scorer=letters", "--ab-config=rules.toml"])
def test_what_is_asked_of_evals_where_none_is_run_is_a_mistake(tones, option, workers):
    tones.write(test_plain=PLAIN)
    (tones.path / "rules.toml").write_text(RULES)
    result = tones.run(workers, option, "-k", "plain")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*{option.partition('=')[0]}* evals*"])


ABSENT = """
from pytest_audiobench import dataset, multiple_choice

def test_absent(evaluate):
    evaluate(dataset("mmar"), multiple_choice())
"""


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_a_path_that_holds_no_test_is_not_green(tones, workers):
    (tones.path / "empty").mkdir()
    tones.write(test_gone="import pytest\n", test_plain=PLAIN)
    for name in ("empty", "test_gone.py"):
        result = tones.run(workers, "test_tones.py", name)
        assert result.ret == pytest.ExitCode.TESTS_FAILED
        result.stdout.fnmatch_lines([f"*Nothing of {name} was measured: it holds no test*"])
    assert tones.run(workers, "test_tones.py", "test_plain.py").ret == 0
    assert tones.run(workers, "test_tones.py", "test_plain.py", "-k", "tones").ret == 0


def test_a_path_by_a_link_is_a_path(tones, tmp_path_factory):
    for place in (tones.path / "inside", tmp_path_factory.mktemp("outside")):
        place.mkdir(exist_ok=True)
        (place / "test_absent.py").write_text(ABSENT)
        link = tones.path / f"to-{place.name}"
        link.symlink_to(place)
        result = tones.run("test_tones.py", link.name)
        assert result.ret == pytest.ExitCode.TESTS_FAILED
        result.stdout.fnmatch_lines([f"*Nothing of {link.name} was measured: mmar is not on this machine*"])


def test_a_path_outside_of_the_root_is_a_path(tones):
    (tones.path / "root").mkdir()
    tones.write(test_absent=ABSENT)
    result = tones.run("--rootdir=root", "test_tones.py", "test_absent.py")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*Nothing of test_absent.py was measured: mmar is not on this machine*"])


def test_the_name_of_a_package_is_a_path(tones):
    (tones.path / "absent").mkdir()
    (tones.path / "absent" / "__init__.py").touch()
    (tones.path / "absent" / "test_absent.py").write_text(ABSENT)
    for name in ("absent", "absent.test_absent"):
        result = tones.run("--pyargs", "test_tones", name)
        assert result.ret == pytest.ExitCode.TESTS_FAILED
        result.stdout.fnmatch_lines([f"*Nothing of {name} was measured: mmar is not on this machine*"])


@pytest.mark.parametrize("folder", ["evals", "evals/speech"])
def test_thresholds_of_any_folder_between_the_root_and_an_eval_are_a_mistake(deaf, folder):
    (deaf.path / "evals" / "speech" / "tones").mkdir(parents=True)
    (deaf.path / "test_tones.py").rename(deaf.path / "evals" / "speech" / "tones" / "test_tones.py")
    (deaf.path / "audiobench.toml").rename(deaf.path / folder / "audiobench.toml")
    result = deaf.run(deaf="yes")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*thresholds of {deaf.path / folder / 'audiobench.toml'} are not in force*"])


@pytest.fixture
def nested(deaf):
    """A root below the folder of the suite: pytest's ini file, the model and the evals."""
    evals = deaf.path / "evals"
    evals.mkdir()
    for name in ("pytest.ini", "conftest.py", "test_tones.py", "data"):
        (deaf.path / name).rename(evals / name)
    return evals


@pytest.mark.parametrize("file", ["audiobench.toml", "pyproject.toml"])
def test_thresholds_above_the_root_are_a_mistake(deaf, nested, file, monkeypatch):
    (deaf.path / "audiobench.toml").rename(deaf.path / file)
    if file == "pyproject.toml":
        (deaf.path / file).write_text(RULES.replace("[[", "[[tool.audiobench."))
    for folder, path in ((deaf.path, "evals"), (nested, ".")):
        monkeypatch.chdir(folder)
        result = deaf.run(path, deaf="yes")
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines([f"*thresholds of {deaf.path / file} are not in force*"])


def test_a_project_with_thresholds_of_its_own_needs_none_of_the_folder_above(deaf, nested, monkeypatch):
    (nested / "audiobench.toml").write_text(RULES)
    monkeypatch.chdir(nested)
    assert deaf.run().ret == 0
    (nested / "audiobench.toml").unlink()
    (nested / ".git").mkdir()
    assert deaf.run().ret == 0


def test_a_threshold_file_that_is_a_link_to_nothing_is_a_mistake(deaf):
    (deaf.path / "audiobench.toml").unlink()
    (deaf.path / "audiobench.toml").symlink_to("nowhere.toml")
    result = deaf.run(deaf="yes")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*audiobench.toml cannot be read: No such file*"])


def test_thresholds_of_a_misspelled_tool_are_a_mistake(deaf):
    (deaf.path / "audiobench.toml").unlink()
    (deaf.path / "pyproject.toml").write_text(RULES.replace("[[", "[[tool.audio-bench."))
    result = deaf.run(deaf="yes")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*pyproject.toml has [[]tool.audio-bench]; did you mean [[]tool.audiobench]?*"])


def test_a_path_of_which_nothing_failed_last_time_holds_tests(deaf):
    deaf.write(test_more=(deaf.path / "test_tones.py").read_text().replace("test_tones", "test_more"))
    paths = ("test_tones.py", "test_more.py", "-p", "no:hypothesispytest", "-p", "no:anyio")
    assert deaf.pytest("--ab-model=tone:one,deaf=yes", *paths).ret == 1
    assert deaf.pytest("--ab-model=tone:one", "--lf", *paths).ret == 0
