"""A package of somebody else's, installed beside ours: what it adds is there by name, and only when it is asked for."""

import ast
import json
import os
import re
import shutil
import tomllib
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent / "extension"
EVALS = """
from pytest_audiobench import dataset, multiple_choice, protocol

def test_number(evaluate):
    result = evaluate(dataset("tones", count=6), protocol("pitch", unit="Hz"))
    assert result.n == 6
    assert result["off_hz"] <= 5

def test_letters(evaluate):
    evaluate("tone-choices", multiple_choice("last-letter"))
    evaluate.require("accuracy >= 1")
"""


def install(folder, **changes):
    """The package as an installer leaves it: its module, and what its pyproject.toml says in a .dist-info."""
    project = tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]
    module = (PACKAGE / "audiobench_pitch.py").read_text()
    for before, after in changes.items():
        module = re.sub(rf"\b{before}=\w+", f"{before}={after}", module)
    (folder / "audiobench_pitch.py").write_text(module)
    shutil.copytree(PACKAGE / "benchmarks", folder / "benchmarks")
    information = folder / f"audiobench_pitch-{project['version']}.dist-info"
    information.mkdir()
    metadata = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    (information / "METADATA").write_text(metadata)
    groups = project["entry-points"].items()
    points = (f"[{group}]\n" + "".join(f"{name} = {place}\n" for name, place in each.items()) for group, each in groups)
    (information / "entry_points.txt").write_text("".join(points))


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A folder that Python finds packages in."""
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    monkeypatch.setenv("PYTHONPATH", path)
    return tmp_path


@pytest.fixture
def installed(suite, site):
    """A suite beside which the package is installed."""
    (suite.path / "conftest.py").write_text("")
    install(site)
    return suite


def test_the_package_is_written_with_the_public_names_for_extensions_alone():
    modules = {
        node.module
        for node in ast.walk(ast.parse((PACKAGE / "audiobench_pitch.py").read_text()))
        if isinstance(node, ast.ImportFrom) and node.module.startswith("pytest_audiobench")
    }
    assert modules == {"pytest_audiobench.ext"}


def test_tests_name_a_strangers_model_data_protocol_scorer_and_metric(installed):
    installed.write(test_pitch=EVALS)
    result = installed.run(model="ear:good")
    result.assert_outcomes(passed=2)
    number, letters = installed.last()[0]["items"]
    assert number["scorers"][0]["signature"] == "pitch:nearest|v:1|within:25Hz"
    assert number["protocol"] == "pitch"
    assert number["options"] == {"unit": "Hz"}
    assert letters["scorers"][0]["signature"] == "mcq:last-letter|v:1"


def test_files_without_code_and_thresholds_name_what_a_stranger_adds(installed):
    folder = shutil.copytree(PACKAGE / "benchmarks", installed.path / "mine")
    installed.run(folder, model="ear:good").assert_outcomes(passed=1)
    result = installed.run(folder, model="ear:sharp,sharp_hz=40")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*off_hz*40*Hz*"])


def test_the_evals_of_an_installed_package_are_run_by_its_name(installed, site):
    (site / "benchmarks").rename(site / "pitch_benchmarks")
    (site / "pitch_benchmarks" / "__init__.py").touch()
    installed.run("--pyargs", "pitch_benchmarks", model="ear:good").assert_outcomes(passed=1)
    assert [item["dataset"] for item in installed.last()[0]["items"]] == ["tones"]


def test_a_run_takes_a_strangers_scorer_by_option_and_among_all(installed):
    installed.write(test_pitch=EVALS)
    installed.run("-k", "letters", "--ab-scorer=last-letter", "--ab-scorer=letters", model="ear:good").assert_outcomes(
        passed=1
    )
    assert [scorer["name"] for scorer in installed.last()[0]["items"][0]["scorers"]] == ["last-letter", "letters"]
    installed.run("-k", "letters", "--ab-scorer=all", "--ab-run=all", model="ear:good").assert_outcomes(passed=1)
    record = json.loads((installed.path / "reports/all/run.json").read_text())
    assert {"last-letter", "letters"} <= {scorer["name"] for scorer in record["items"][0]["scorers"]}


def test_recorded_answers_are_scored_again_by_a_strangers_protocol_and_scorer(installed):
    installed.write(test_pitch=EVALS)
    installed.run("--ab-run=first", model="ear:good")
    again = installed.audiobench("score", "reports/first", "--scorers", "nearest,last-letter")
    assert again.returncode == 0, again.stderr
    assert "off_hz" in again.stdout
    assert "last-letter" in again.stdout


def test_the_list_of_scorers_has_a_strangers_with_the_rule_from_its_docstring(installed):
    listed = installed.audiobench("list", "scorers", "nearest")
    assert "pitch: How high a tone is, as a number" in listed.stdout, listed.stderr
    assert "The first number of the answer, in Hz." in installed.audiobench("describe", "nearest").stdout
    assert "last-letter" in installed.audiobench("list", "scorers").stdout


def test_an_extension_for_another_contract_is_left_out_and_a_sentence_says_so(suite, site):
    (suite.path / "conftest.py").write_text("")
    install(site, contract=2)
    suite.write(test_pitch=EVALS)
    result = suite.run(model="ear:good")
    assert result.ret == 4
    result.stderr.fnmatch_lines(
        [
            "*unknown kind of model; known are *; the extension 'pitch' (audiobench-pitch 1.0) is written for "
            "contract 2 of pytest_audiobench.ext, and here is contract 1: install a version of it for this one"
        ]
    )


@pytest.mark.parametrize(
    ("module", "sentence"),
    [
        ("import nothing_like_it", "cannot be loaded: ModuleNotFoundError: No module named 'nothing_like_it'"),
        ("extension = object()", "is not a pytest_audiobench.ext.Extension: name one in its entry point"),
        (
            "from pytest_audiobench.ext import Extension\n"
            "def sakura():\n    pass\n"
            "extension = Extension(1, lambda registration: registration.dataset('sakura', sakura))\n",
            "cannot be used: the data set 'sakura' already exists: register yours under another name",
        ),
    ],
)
def test_an_extension_that_is_broken_is_told_of_where_a_name_is_unknown(installed, site, module, sentence):
    (site / "audiobench_pitch.py").write_text(module)
    (installed.path / "pitch.audiobench.toml").write_text('dataset = "tones"\nprotocol = "pitch"\n')
    result = installed.run(model="baseline:listener")
    result.stdout.fnmatch_lines(
        [f"*unknown protocol 'pitch'; *; the extension 'pitch' (audiobench-pitch 1.0) {sentence}"]
    )


def test_no_extension_is_loaded_by_a_suite_without_evals_nor_by_known_names(installed, site):
    (site / "audiobench_pitch.py").write_text("open('loaded', 'w').close()\nextension = None\n")
    installed.write(test_plain="def test_plain():\n    pass\n")
    installed.run(model="").assert_outcomes(passed=1)
    evals = "from pytest_audiobench import dataset, multiple_choice\n\n\n"
    evals += "def test_digits(evaluate):\n    evaluate(dataset('bundled', 'digits'), multiple_choice(), samples=4)\n"
    installed.write(test_digits=evals)
    installed.run(model="baseline:listener").assert_outcomes(passed=2)
    assert not (installed.path / "loaded").exists()
    installed.run("--ab-scorer=unheard-of", model="baseline:listener")
    assert (installed.path / "loaded").exists()


def test_a_conftest_adds_protocols_and_scorers_for_the_tests_beside_it(suite):
    suite.tones()
    (suite.path / "audiobench_pitch.py").write_text((PACKAGE / "audiobench_pitch.py").read_text())
    (suite.path / "conftest.py").write_text(
        "import audiobench_pitch\n\n\n"
        "def pytest_audiobench_register(registration):\n    audiobench_pitch.register(registration)\n"
    )
    shutil.copytree(PACKAGE / "benchmarks", suite.path / "benchmarks")
    suite.write(test_pitch=EVALS.replace('dataset("tones", count=6)', '"tones"').replace("result.n == 6", "result.n"))
    suite.run(model="ear:good").assert_outcomes(passed=3)
