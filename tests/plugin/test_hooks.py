"""Every hook and fixture, used as a stranger would use it."""

import pytest

STRANGER = """

from pytest_audiobench import Dataset, Sample, manifest
from pytest_audiobench.metrics.metric import Estimate, MetricKind
from pathlib import Path

def _pages(statistics, clusters):
    return Estimate(12.0, None, None, len(statistics), "counted")

_plain = pytest_audiobench_register

def pytest_audiobench_register(registration):
    _plain(registration)
    registration.dataset("lab-tones", manifest(Path(__file__).parent / "data" / "tones.jsonl", name="lab-tones"))
    registration.metric(MetricKind("pages", "higher", "pages", _pages))

def pytest_audiobench_metric_recorded(item, metric):
    with open("hooks.log", "a") as file:
        file.write(f"recorded {item.name} {metric.name} {float(metric)}\\n")

def pytest_audiobench_result_ready(item, result):
    with open("hooks.log", "a") as file:
        file.write(f"ready {item.name} {result['accuracy']:.2f} {result.n}\\n")

def pytest_audiobench_update_run(config, run):
    run.notes.append("measured in the basement")
    run.extra["basement"] = {"evals": len(run.items)}
"""

USES = """
from pytest_audiobench import multiple_choice

def test_registered(evaluate):
    result = evaluate("lab-tones", multiple_choice())
    evaluate.record("pages", 12, unit="pages")
    evaluate.require("pages >= 10", "accuracy >= 0.5")

def test_plain(model, audio):
    choices = ("440 Hz", "880 Hz")
    clip = audio.tone(frequency_hz=880, duration_s=0.5)
    assert model.ask(clip, "Which tone?", choices=choices).text == "B"
    assert model.ask(audio.load("data/tone0.wav"), "Which tone?", choices=("300 Hz", "900 Hz")).text == "A"
    assert model.device == "cpu"
    assert model.limits.max_clip_s == 2.0
    assert audio.duration_s(clip) == 0.5
"""

ONE_EVAL = """
from pytest_audiobench import manifest, multiple_choice

TONES = manifest("data/tones.jsonl")

def test_uses(evaluate):
    evaluate(TONES, multiple_choice())
"""


def test_a_strangers_conftest_adds_models_data_and_metrics_and_amends_the_run(suite):
    suite.tones()
    conftest = suite.path / "conftest.py"
    conftest.write_text(conftest.read_text() + STRANGER)
    suite.write(test_uses=USES)
    result = suite.run()
    result.assert_outcomes(passed=2)
    assert (suite.path / "hooks.log").read_text().splitlines() == [
        "ready test_registered 1.00 40",
        "recorded test_registered pages 12.0",
    ]
    run, _ = suite.last()
    assert "measured in the basement" in run["notes"]
    assert run["extra"] == {"basement": {"evals": 1}}
    assert [v["status"] for v in run["items"][0]["verdicts"]] == ["pass", "pass"]


def test_hooks_run_in_workers_and_the_run_is_amended_once(suite):
    suite.tones()
    conftest = suite.path / "conftest.py"
    conftest.write_text(conftest.read_text() + STRANGER)
    suite.write(test_uses=USES)
    suite.run("-n2").assert_outcomes(passed=2)
    run, _ = suite.last()
    assert run["notes"].count("measured in the basement") == 1


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ("raise ValueError('no disk')", "pytest_audiobench_update_run failed at *conftest.py:*: ValueError: no disk"),
        ("run.notes.append(3)", "run.notes[[]*] is 3: append texts in pytest_audiobench_update_run"),
    ],
)
def test_a_hook_that_spoils_the_run_is_named_and_fails_it(suite, body, sentence):
    suite.tones()
    with (suite.path / "conftest.py").open("a") as conftest:
        conftest.write(f"\n\ndef pytest_audiobench_update_run(config, run):\n    {body}\n")
    suite.write(test_uses=ONE_EVAL)
    result = suite.run()
    assert result.ret == 1
    result.stdout.fnmatch_lines([f"the report could not be written: {sentence}"])


@pytest.mark.parametrize("workers", [(), ("-n1",)])
def test_a_data_folder_that_is_not_there_ends_the_run_before_the_first_request(tones, workers):
    result = tones.run("--ab-data=sakura=nowhere", *workers)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --ab-data=sakura=nowhere: *nowhere is not a folder on this machine"])


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            "TONES, 'multiple_choice'",
            "evaluate takes a protocol after the data set, not 'multiple_choice': write protocol('multiple_choice')",
        ),
        (
            "TONES, multiple_choice",
            "evaluate takes a protocol after the data set, not *: call it, as multiple_choice()",
        ),
        ("multiple_choice(), TONES", "evaluate takes a data set or its name first, not Protocol(*"),
        ("TONES, multiple_choice(), samples='3'", "uses wants samples='3': ask for one or more, or None for all"),
    ],
)
def test_what_evaluate_does_not_take_fails_the_test_in_a_sentence(suite, arguments, sentence):
    suite.tones()
    suite.write(test_uses=ONE_EVAL.replace("TONES, multiple_choice()", arguments))
    suite.run().stdout.fnmatch_lines([sentence])


def test_a_suite_with_a_model_fixture_of_its_own_keeps_working(suite):
    suite.tones()
    suite.write(
        test_own="""
import pytest
from pytest_audiobench import manifest, multiple_choice

@pytest.fixture
def model():
    return "mine"

def test_mine(model):
    assert model == "mine"

def test_both(model, evaluate):
    assert model == "mine"
    assert evaluate(manifest("data/tones.jsonl"), multiple_choice())["accuracy"] == 1.0
"""
    )
    suite.run().assert_outcomes(passed=2)


def test_a_fixture_called_evaluate_of_a_stranger_is_no_eval(pytester):
    pytester.makepyfile(
        """
        import pytest

        @pytest.fixture
        def evaluate():
            return 3

        def test_three(evaluate):
            assert evaluate == 3
        """
    )
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*audiobench*report*")
    assert not (pytester.path / "reports").exists()


def test_a_suite_without_evals_imports_nothing_and_leaves_nothing(pytester):
    pytester.makepyfile(
        """
        import sys

        def test_light():
            ours = {name for name in sys.modules if name.startswith("pytest_audiobench")}
            assert ours <= {
                "pytest_audiobench",
                "pytest_audiobench.plugin",
                "pytest_audiobench.plugin.hookspecs",
                "pytest_audiobench.plugin.eval_items",
                "pytest_audiobench.plugin.stash",
                "pytest_audiobench.plugin.options",
            }, ours
            assert not {"numpy", "scipy", "jiwer", "soundfile", "torch", "sqlite3", "pandas"} & set(sys.modules)
        """
    )
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:hypothesispytest")
    result.assert_outcomes(passed=1)
    left = {path.name for path in pytester.path.iterdir()}
    assert not left & {"reports", ".audiobench", "audiobench.toml"}


def test_the_gpu_marker_skips_where_there_is_none(suite, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    suite.tones()
    suite.write(
        test_gpu="""
import pytest
from pytest_audiobench import manifest, multiple_choice

@pytest.mark.audiobench(gpu=True)
def test_gpu(evaluate):
    evaluate(manifest("data/tones.jsonl"), multiple_choice())
"""
    )
    result = suite.run("-rs", "--strict-markers")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*needs a GPU*"])


def test_an_option_has_an_ini_and_an_environment_twin(tones, monkeypatch):
    (tones.path / "pytest.ini").write_text("[pytest]\nab_limit = 3\nab_model = tone:one,batching=opaque\n")
    assert tones.run(model=None).ret == 0
    assert tones.last()[0]["items"][0]["n"] == 3
    monkeypatch.setenv("AUDIOBENCH_LIMIT", "4")
    tones.run(model=None)
    assert tones.last()[0]["items"][0]["n"] == 4
    tones.run("--ab-limit=5", model=None)
    assert tones.last()[0]["items"][0]["n"] == 5
    result = tones.run("--ab-limit=few", model=None)
    result.stderr.fnmatch_lines(["ERROR: --ab-limit takes a whole number from 1 up, not 'few'"])


def test_an_unknown_kind_of_model_is_a_usage_error(tones):
    for model, said in (("tune:one", "*unknown kind of model*tone*"), ("tone", "*'tone'*")):
        result = tones.run(model=model)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines([f"ERROR:{said}"])
        assert not tones.runs()


def test_the_step_summary_is_written_when_github_asks(tones, monkeypatch):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tones.path / "summary.md"))
    tones.run()
    assert "| tones" in (tones.path / "summary.md").read_text()


def test_a_run_loads_as_frames_and_rows(tones):
    import pytest_audiobench

    tones.run("--ab-run=mine")
    run = pytest_audiobench.load_run(tones.path / "reports" / "mine")
    assert len(run.samples) == 40
    assert run.metrics.loc[run.metrics.name == "accuracy", "value"].iloc[0] == 1.0
    assert sum(1 for _ in run.rows()) == 40
    assert run.record.run == "mine"
