"""A ladder of perturbations through real runs: serial, over workers, from the store, and scored again."""

import importlib.util
import json
import os
import shutil
from pathlib import Path

import pytest

from pytest_audiobench.report.run_reader import load_run

SCHEMA = Path(__file__).parents[2] / "docs/run.schema.json"
LADDER = """
import pytest
from pytest_audiobench import manifest, multiple_choice, perturb
from pytest_audiobench.datasets.perturbations.catalogue import ladder, named_perturbations

STEPS = [*named_perturbations("clean"), *ladder("white", -10, -20, -25, -30), *named_perturbations("gain-m30dB")]

@pytest.mark.parametrize("perturbation", STEPS, ids=str)
def test_tones(evaluate, perturbation):
    evaluate(perturb(manifest("data/tones.jsonl"), perturbation), multiple_choice())
"""


class Ladder:
    """Its own suite with one run of the ladder over forty tones; what that printed in 80 columns is ``out``."""

    def __init__(self, path, forks):
        self.path, self._forks = path, forks
        lab = Path(__file__).parent / "lab.py"
        spec = importlib.util.spec_from_file_location("lab", lab)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        module.make_tones(path / "data", 40)
        (path / "conftest.py").write_text(lab.read_text())
        (path / "pytest.ini").write_text("[pytest]\n")
        (path / "test_tones.py").write_text(LADDER)
        self.out = self.run("first")
        self.record, self.folder = self.read("first")
        (self.suite,) = self.record["suites"]

    def run(self, name, *arguments, model="tone:one"):
        quiet = ("-p", "no:cacheprovider", "-p", "no:hypothesispytest", "-p", "no:anyio")
        return self.call("pytest", f"--ab-model=tone={model}", f"--ab-run={name}", *quiet, *arguments)

    def read(self, name):
        folder = self.path / "reports" / name
        return json.loads((folder / "run.json").read_text()), folder

    def audiobench(self, *arguments):
        return self.call("pytest_audiobench.cli", *map(str, arguments))

    def call(self, module, *arguments):
        done = self.process(module, *arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def process(self, module, *arguments):
        run = self._forks.pytest if module == "pytest" else self._forks.audiobench
        return run(arguments, self.path, {**os.environ, "COLUMNS": "80"})


@pytest.fixture(scope="module")
def ladder(tmp_path_factory, forks):
    return Ladder(tmp_path_factory.mktemp("ladder"), forks)


def test_a_ladder_gives_a_curve_an_area_a_mean_and_differences(ladder):
    (curve,), (summary,) = ladder.suite["curves"], ladder.suite["perturbations"]
    assert [point["dose"] for point in curve["points"]] == [-10, -20, -25, -30]
    assert curve["clean"]["eval"] == "tones[clean]"
    values = [point["value"] for point in curve["points"]]
    assert values == sorted(values, reverse=True)
    assert curve["slope"]["lower"] > 0.1
    assert curve["area"]["lower"] < curve["area"]["value"] < curve["area"]["upper"]
    assert summary["mean"]["value"] == pytest.approx(ladder.suite["metrics"][0]["value"])
    held = {one["perturbation"]: one for one in summary["differences"]}
    assert held["gain-m30dB"]["drop"] == 0.0
    assert held["white-m30dB"]["p_holm"] < 0.001


def test_workers_and_the_store_change_no_curve(ladder):
    ladder.run("workers", "-n2", "--ab-store=other.sqlite")
    ladder.run("known")
    for name in ("workers", "known"):
        (again,) = ladder.read(name)[0]["suites"]
        assert (again["curves"], again["perturbations"]) == (ladder.suite["curves"], ladder.suite["perturbations"])


def test_scoring_again_gives_the_same_curves_and_clusters_as_often_as_it_is_done(ladder):
    ladder.audiobench("score", ladder.folder, "--out", ladder.path / "scored")
    ladder.audiobench("score", ladder.path / "scored", "--out", ladder.path / "twice")
    for name in ("scored", "twice"):
        (suite,) = json.loads((ladder.path / name / "run.json").read_text())["suites"]
        for what in ("curves", "perturbations", "metrics"):
            assert suite[what] == ladder.suite[what]


def test_scoring_again_prints_the_curve(ladder):
    out = ladder.audiobench("score", ladder.folder)
    assert "tones: accuracy under white; drop from clean in pp" in out
    told = json.loads(ladder.audiobench("score", ladder.folder, "--format", "json"))
    assert told[-1]["curves"] == ladder.suite["curves"]


def test_a_record_with_perturbations_fits_the_schema(ladder):
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")
    jsonschema.validate(ladder.record, json.loads(SCHEMA.read_text()))


def test_an_utterance_is_one_cluster_over_all_its_perturbations(ladder):
    rows = [json.loads(line) for line in (ladder.folder / "scored_predictions.jsonl").read_text().splitlines()]
    by_sample = {}
    for row in rows:
        by_sample.setdefault(row["sample_id"], set()).add(row["cluster"])
    assert len(by_sample) == 40
    assert all(len(clusters) == 1 for clusters in by_sample.values())
    recordings = {cluster for own in by_sample.values() for cluster in own}
    accuracy = next(one for one in ladder.suite["metrics"] if one["name"] == "accuracy" and not one["group"])
    assert accuracy["n"] == 240
    assert f"{len(recordings)} clusters" in accuracy["method"]
    # Noise draws its seed from the sample, so equal tones became different clips: they are one recording all the same.
    noisy = next(one for one in ladder.record["items"] if one["eval"] == "tones[white-m20dB]")
    assert f"{len(recordings)} clusters" in noisy["metrics"][0]["method"]


def test_the_terminal_tells_the_curve_in_80_columns(ladder):
    pytest.LineMatcher(ladder.out.splitlines()).fnmatch_lines(
        [
            "tones: accuracy under white; drop from clean in pp",
            "  dB SNR *accuracy *parse rate * drop * interval * p",
            "  clean  *100.0 % *100.0 % *",
            "  -10  *100.0 % * +0.0 *",
            "  -30  *",
            "  slope: +*.* pp per 10 dB SNR [[]+*.* to +*.*], trend p (Holm) <0.001",
            "  area (mean from -10 to -30 dB SNR): *.* % [[]*.* to *.*]",
            "tones: accuracy by perturbation; drop from clean in pp",
            "  gain-m30dB *",
            "  mean of the 6 perturbations measured, each weighing 1/6: *.* % [[]*.* to *.*]",
        ]
    )
    # pytest's own header is as wide as the names of the plugins that are installed.
    ours = ladder.out.partition("= audiobench =")[2].partition("\n")[2]
    assert max(len(line) for line in ours.splitlines() if not line.startswith("see the samples")) <= 80


def test_two_runs_are_held_against_each_other_by_slope_area_and_mean(ladder):
    ladder.run("deaf", model="tone:one,deaf=yes")
    rows = json.loads(ladder.audiobench("compare", "first", "deaf", "--format", "json"))["curves"]
    later = {row["figure"]: row for row in rows if row["contender"] == "B"}
    assert list(later) == [
        "white: slope per 10 dB SNR",
        "white: area from -30 to -10 dB SNR",
        "mean of 6 perturbations",
    ]
    for row in later.values():
        assert row["difference_lower"] <= row["difference"] <= row["difference_upper"] < 0.0
    first = next(row for row in rows if row["contender"] == "A" and "slope" in row["figure"])
    assert first["value"] == pytest.approx(ladder.suite["curves"][0]["slope"]["value"])
    out = ladder.audiobench("compare", "first", "deaf")
    assert "tones white: slope per 10 dB SNR of accuracy by letters" in out
    assert max(len(line) for line in out.splitlines() if not line.startswith("see the samples")) <= 80


def test_a_run_gives_its_curves_as_frames_in_one_line(ladder):
    pytest.importorskip("pandas", reason="pandas is not installed")
    run = load_run(ladder.folder)
    assert run.curves.set_index("perturbation")["dose"].to_dict() == {
        "white-m10dB": -10.0,
        "white-m20dB": -20.0,
        "white-m25dB": -25.0,
        "white-m30dB": -30.0,
    }
    assert run.curves["slope.value"].nunique() == 1
    assert run.perturbations.set_index("perturbation")["drop"]["gain-m30dB"] == 0.0
    assert run.perturbations["weight"].sum() == pytest.approx(1.0)
    assert set(run.items["perturbation.family"]) == {"clean", "white", "gain"}


@pytest.mark.parametrize("change", [{"dose": "ten"}, {"dose": float("nan")}, {"harder": "so"}, {"family": None}])
def test_an_edited_perturbation_is_named_in_one_sentence(ladder, tmp_path, change):
    record = json.loads(json.dumps(ladder.record))
    record["items"][1]["perturbation"].update(change)
    edited = tmp_path / "edited"
    shutil.copytree(ladder.folder, edited)
    (edited / "run.json").write_text(json.dumps(record))
    for arguments in (("score", edited), ("compare", ladder.folder, edited)):
        done = ladder.process("pytest_audiobench.cli", *map(str, arguments))
        assert done.returncode == 4
        assert "perturbation" in done.stderr
        assert "edited" in done.stderr
        assert "Traceback" not in done.stderr


NESTED = """
import pytest
from pytest_audiobench import manifest, perturb
from pytest_audiobench.datasets.perturbations.catalogue import named_perturbations
from pytest_audiobench.datasets.perturbations.catalogue import noises
from pytest_audiobench.datasets.perturbations.interventions import masks
from pytest_audiobench.protocols.reasoned_choice.task import reasoned_choice

(NOISE,) = noises(0)
TASK = perturb(manifest("data/tones.jsonl"), NOISE)

@pytest.mark.parametrize("perturbation", [*named_perturbations("clean"), *masks(40)], ids=str)
def test_tones(evaluate, perturbation):
    asked = reasoned_choice(reasoning=False, against_clean=perturbation.name != "clean")
    evaluate(perturb(TASK, perturbation), asked)
"""


def test_a_perturbation_upon_another_is_held_against_that_one_and_keeps_its_recordings(suite):
    suite.tones()
    suite.write(test_tones=NESTED)
    suite.run().assert_outcomes(passed=2)
    record, folder = suite.last()
    rows = [json.loads(line) for line in (folder / "predictions.jsonl").read_text().splitlines()]
    asked = {(row["eval"], row["stage"], row["sample_id"]): row for row in rows}
    for (name, stage, id_), row in asked.items():
        if stage == "clean":
            alone = asked["tones[clean]", "answer", id_]
            assert (row["key"], row["audio"]) == (alone["key"], alone["audio"])
            assert row["recording"] == alone["recording"] == asked[name, "answer", id_]["recording"]
            assert row["recording"] not in (row["audio"][0]["key"], asked[name, "answer", id_]["audio"][0]["key"])
    (masked,) = [one for one in record["items"] if one["eval"] == "tones[mask-p40]"]
    (clean,) = [one for one in record["items"] if one["eval"] == "tones[clean]"]
    drop = next(one["value"] for one in masked["metrics"] if one["name"] == "accuracy_drop")
    before, after = (
        next(one["value"] for one in item["metrics"] if one["name"] == "accuracy") for item in (clean, masked)
    )
    assert drop == pytest.approx(before - after)
