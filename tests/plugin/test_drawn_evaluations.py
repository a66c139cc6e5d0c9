"""Evals that hypothesis draws for: the mildest perturbation that breaks a bound, on record and repeatable."""

import json
from pathlib import Path

import jsonschema
import pytest

SCHEMA = json.loads((Path(__file__).parents[2] / "docs/run.schema.json").read_text(encoding="utf-8"))

MODEL = '''

class HardOfHearing(ToneModel):
    """Says A to what it hears less than ``needs`` dB above the noise beneath it, and fails about ``mute``."""

    def fingerprint(self):
        return {**super().fingerprint(), "needs": self._options["needs"]}

    def _answer(self, request, audio):
        if request.sample_id == self._options.get("mute"):
            return Response(error="not this one")
        clear = snr_db(audio[0]) >= float(self._options["needs"])
        return super()._answer(request, audio if clear else ())


def snr_db(heard):
    peak = np.argmax(np.abs(np.fft.rfft(heard.samples)))
    hz = 100 * round(peak * heard.rate_hz / len(heard.samples) / 100)
    turns = 2 * np.pi * hz * np.arange(len(heard.samples)) / heard.rate_hz
    waves = np.stack([np.sin(turns), np.cos(turns)])
    tone = np.linalg.lstsq(waves.T, heard.samples, rcond=None)[0] @ waves
    return 10 * np.log10(np.mean(tone**2) / max(1e-12, np.mean((heard.samples - tone) ** 2)))


def pytest_audiobench_register(registration):
    registration.model("tone", ToneModel)
    registration.model("hard", HardOfHearing)
'''

HEAD = """
import pytest
from hypothesis import assume, example, given, seed, settings, strategies
from pytest_audiobench import drawn_perturbations, manifest, multiple_choice, perturb, perturbations

TONES = manifest("data/tones.jsonl")
"""

SEARCH = """
@given(change=drawn_perturbations(snr_db=(30, -5)))
def test_noise(evaluate, change):
    result = evaluate(perturb(TONES, change), multiple_choice())
    assert result["accuracy"] >= 0.8
"""

SENTENCE = "at 12 dB SNR accuracy is 0.250, the bound is 0.800; at 13 dB SNR it held"


@pytest.fixture
def search(suite):
    """Runs the tests of a file by a model that needs 12.5 dB, where hypothesis's own plugin is active, too."""
    suite.tones(20)
    with (suite.path / "conftest.py").open("a") as file:
        file.write(MODEL)

    def run(text, *args, **options):
        suite.write(test_noise=HEAD + text)
        habits = "".join(f",{key}={value}" for key, value in {"needs": 12.5, **options}.items())
        return suite.pytest(f"--ab-model=hard:one{habits}", "-p", "no:cacheprovider", "-p", "no:anyio", *args)

    run.suite = suite
    return run


def items(suite):
    record, _ = suite.last()
    jsonschema.validate(record, SCHEMA)
    return record["items"]


@pytest.mark.parametrize(
    "bound",
    [
        'assert evaluate(noisy, multiple_choice())["accuracy"] >= 0.8',
        'assert 0.8 <= evaluate(noisy, multiple_choice())["accuracy"]',
        'evaluate(noisy, multiple_choice()), evaluate.require("accuracy >= 0.8")',
        'evaluate.require("accuracy >= 0.8"), evaluate(noisy, multiple_choice(), name="noisy")',
    ],
)
def test_the_mildest_noise_that_breaks_a_bound_is_named_with_what_was_measured(search, bound):
    body = f"    noisy = perturb(TONES, change)\n    {bound}\n"
    run = search(SEARCH.split("    result")[0] + body)
    assert run.ret == 1
    run.stdout.fnmatch_lines([f"FAILED test_noise.py::test_noise - Failed: {SENTENCE}"])
    (item,) = items(search.suite)
    assert (item["message"], item["draws"]["summary"]) == (SENTENCE, SENTENCE)
    assert (item["dataset"], item["metrics"][0]["value"]) == ("tones+white-12dB", 0.25)


def test_a_bound_of_the_threshold_file_is_searched_for_as_one_in_code(search):
    (search.suite.path / "audiobench.toml").write_text('[[threshold]]\neval = "*"\nrequire = ["accuracy >= 80%"]\n')
    run = search(SEARCH.replace("assert", "#"))
    assert run.ret == 1
    run.stdout.fnmatch_lines([f"FAILED * {SENTENCE}"])
    (item,) = items(search.suite)
    assert [verdict["status"] for verdict in item["verdicts"]] == ["fail"]


def test_all_that_was_drawn_is_on_record_each_once_with_what_it_came_to(search):
    search(SEARCH)
    (item,) = items(search.suite)
    draws = [
        (draw["arguments"]["change"]["snr_db"], draw["outcome"], draw["values"]) for draw in item["draws"]["draws"]
    ]
    assert len({snr_db for snr_db, _, _ in draws}) == len(draws)
    assert {12.0, 13.0, 30.0} <= {snr_db for snr_db, _, _ in draws}
    for snr_db, outcome, values in draws:
        assert outcome == ("passed" if snr_db > 12.5 else "failed")
        assert values["noise"] == 1.0 if snr_db > 12.5 else values["noise"] < 0.5


def test_what_does_not_matter_shrinks_to_nothing(search):
    several = SEARCH.replace("snr_db=(30, -5)", "snr_db=(30, -5), gain_db=(-12, 6)")
    run = search(several + "    assert result.n == 20\n")
    run.stdout.fnmatch_lines([f"FAILED * {SENTENCE}"])
    (item,) = items(search.suite)
    assert item["dataset"] == "tones+white-12dB"


@pytest.mark.slow
def test_every_process_and_profile_draws_the_same(search):
    def outcome(*args):
        search(SEARCH + SEARCH.replace("test_noise", "test_more").replace(">= 0.8", ">= 0.1"), *args)
        return [(item["eval"], item["draws"], item["hashes"], item["message"]) for item in items(search.suite)]

    serial = outcome("--ab-store=first.sqlite")
    assert [len(draws["draws"]) > 5 for _, draws, _, _ in serial] == [True, True]
    assert outcome("--ab-store=second.sqlite", "-n2") == serial
    with (search.suite.path / "conftest.py").open("a") as file:
        # Another profile, and constants of a module of the user's, which hypothesis mixes into its own integers.
        file.write("import constants, hypothesis\n")
        file.write("hypothesis.settings.register_profile('new', derandomize=False, deadline=1)\n")
        file.write("hypothesis.settings.load_profile('new')\n")
    (search.suite.path / "constants.py").write_text("PLACES = [3, 7, 11, 12, 17, 19, 21, 23, 28, 34]\n")
    assert outcome("--ab-store=third.sqlite") == serial


def test_a_second_run_asks_nothing(search):
    log = search.suite.path / "asked.txt"
    search(SEARCH, log=log)
    asked = log.read_text()
    assert asked.count("tone-3\n") > 5
    run = search(SEARCH, log=log)
    run.stdout.fnmatch_lines([f"FAILED * {SENTENCE}"])
    assert log.read_text() == asked


def test_a_seed_of_the_command_line_or_of_the_test_draws_otherwise_and_is_on_record(search):
    passing = SEARCH.replace("(30, -5)", "(30, 14), gain_db=(-10, 10)")
    passing = passing.replace("@given", "@settings(max_examples=8)\n@given")
    drawn = {}
    for name, text, args in [
        ("own", passing, []),
        ("7", passing, ["--hypothesis-seed=7"]),
        ("9", passing.replace("@given", "@seed(9)\n@given"), ["--hypothesis-seed=7"]),
    ]:
        assert search(text, *args).ret == 0
        (item,) = items(search.suite)
        drawn[name if name == "own" else item["draws"]["seed"]] = [draw["arguments"] for draw in item["draws"]["draws"]]
    assert drawn.keys() == {"own", "7", "9"}
    assert drawn["own"] != drawn["7"] != drawn["9"] != drawn["own"]


def test_where_all_draws_hold_the_worst_stands_for_them_and_is_pooled_with_nothing(search):
    text = SEARCH.replace("@given", "@settings(max_examples=100)\n@given").replace("0.8", "0.2")
    run = search(text + "\n\ndef test_clean(evaluate):\n    evaluate(TONES, multiple_choice())\n")
    assert run.ret == 0
    drawn, clean = items(search.suite)
    count = f"36 of 36 draws held; the worst accuracy is 0.250, at {drawn['draws']['summary'].rpartition(' at ')[2]}"
    assert drawn["draws"]["summary"] == count
    assert drawn["warnings"] == [count]
    assert (drawn["control"], clean["control"]) == (True, False)
    record, _ = search.suite.last()
    assert [suite for suite in record["suites"] if suite.get("n", 0) > 20] == []
    # The files beside the record hold the answers of that draw, not of the last.
    folder = max(search.suite.runs()).parent
    assert search.suite.audiobench("verify", folder).returncode == 0
    assert not list(folder.rglob("draw-*"))


def test_examples_assumptions_and_settings_are_hypothesiss_own(search):
    explicit = SEARCH.replace("perturb(TONES, change)", 'perturb(TONES, perturbations("ladder", "white", snr_db)[0])')
    explicit = explicit.replace("change=drawn_perturbations(snr_db=(30, -5))", "snr_db=strategies.integers(13, 40)")
    run = search(explicit.replace("change", "snr_db").replace("@given", "@example(snr_db=3)\n@given"))
    run.stdout.fnmatch_lines(["FAILED * at snr_db=3 accuracy is 0.250, the bound is 0.800"])
    (item,) = items(search.suite)
    assert [draw["arguments"] for draw in item["draws"]["draws"]] == [{"snr_db": "3"}]

    assumed = SEARCH.replace("    result", '    assume(dict(change.values)["snr_db"] >= 14)\n    result')
    assert search(assumed.replace("@given", "@settings(max_examples=6)\n@given")).ret == 0
    (item,) = items(search.suite)
    assert len(item["draws"]["draws"]) <= 6
    assert min(draw["arguments"]["change"]["snr_db"] for draw in item["draws"]["draws"]) >= 14


def test_each_of_several_parameters_is_searched_by_itself(search):
    text = SEARCH.replace("def", "@pytest.mark.parametrize('bound', [0.8, 0.2])\ndef").replace(">= 0.8", ">= bound")
    run = search(text.replace("evaluate, change", "evaluate, change, bound"))
    run.assert_outcomes(failed=1, passed=1)
    run.stdout.fnmatch_lines([f"FAILED test_noise.py::test_noise[[]0.8] - Failed: {SENTENCE}"])
    assert [item["eval"] for item in items(search.suite)] == ["noise[0.8]", "noise[0.2]"]


def test_the_methods_of_a_class_are_drawn_for_as_functions_are(search):
    method = SEARCH.replace("evaluate, change", "self, evaluate, change").replace("\n", "\n    ")
    run = search(f"\nclass TestTones:{method}\n")
    run.stdout.fnmatch_lines([f"FAILED test_noise.py::TestTones::test_noise - Failed: {SENTENCE}"])


def test_data_that_is_not_on_this_machine_skips_the_test(search):
    text = SEARCH.replace("TONES, change", "dataset('mmar'), change")
    run = search("from pytest_audiobench import dataset\n" + text, "-rs")
    run.assert_outcomes(skipped=1)
    run.stdout.fnmatch_lines(["SKIPPED * mmar is not on this machine*"])


def test_another_failure_keeps_its_traceback_and_says_at_which_draw(search):
    body = '    if result["accuracy"] < 0.5:\n        raise ValueError("odd")\n'
    run = search(SEARCH.replace('    assert result["accuracy"] >= 0.8\n', body))
    assert run.ret == 1
    run.stdout.fnmatch_lines(
        ["*raise ValueError*", "E * ValueError: odd", "E * at 12 dB SNR the test failed: odd; at 13 dB SNR it held"]
    )


@pytest.mark.parametrize("needs", [12.5, -20], ids=["below the bound", "above it"])
def test_samples_that_cannot_be_asked_end_the_search_at_once(search, needs):
    log = search.suite.path / "asked.txt"
    run = search(SEARCH.replace("(30, -5)", "(5, -5)"), log=log, mute="tone-3", needs=needs)
    assert run.ret == 6
    run.stdout.fnmatch_lines(["*1 of 20 samples could not be asked (tone-3: not this one)*"])
    assert log.read_text().count("tone-7\n") == 1
    (item,) = items(search.suite)
    assert item["outcome"] == "failed"


def test_data_that_is_wrong_ends_the_search_at_once(search):
    run = search(SEARCH.replace("TONES, change", 'manifest("data/none.jsonl"), change'))
    assert run.ret == 1
    run.stdout.fnmatch_lines(["FAILED * there is no file *none.jsonl; correct the path"])
    run.stdout.no_fnmatch_line("*test case*")


def test_a_fixture_that_stays_the_same_for_all_draws_is_refused_by_name(search):
    run = search(SEARCH.replace("evaluate, change", "evaluate, change, tmp_path"))
    run.assert_outcomes(errors=1)
    run.stdout.fnmatch_lines(["*test_noise draws by hypothesis, and its fixture 'tmp_path' is not made again*"])
    check = "@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])\n@given"
    text = SEARCH.replace("evaluate, change", "evaluate, change, tmp_path").replace("@given", check)
    run = search("from hypothesis import HealthCheck\n" + text)
    run.stdout.fnmatch_lines([f"FAILED * {SENTENCE}"])


def test_draws_are_not_compared_with_a_baseline(search):
    passing = SEARCH.replace("(30, -5)", "(30, 20)")
    clean = "\n\ndef test_clean(evaluate):\n    evaluate(TONES, multiple_choice())\n"
    assert search(passing + clean, "--ab-run=main").ret == 0
    assert search(SEARCH.replace("0.8", "0.2") + clean, "--ab-baseline=main").ret == 0
    drawn, compared = items(search.suite)
    assert drawn["regressions"] == []
    assert [line["status"] for line in compared["regressions"]] == ["pass"]


def test_hypothesis_is_not_imported_where_nothing_is_drawn(tones, monkeypatch):
    monkeypatch.setenv("PYTHONHASHSEED", "0")  # its own process, which has not imported it for another test
    with (tones.path / "conftest.py").open("a") as file:
        file.write(
            "\n\ndef pytest_audiobench_update_run(config, run):\n"
            "    assert 'pytest_audiobench.evaluation.evaluate' in sys.modules\n"
            "    assert 'hypothesis' not in sys.modules\n"
        )
    assert tones.run().ret == 0
