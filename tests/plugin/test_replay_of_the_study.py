"""Recorded answers of real models, scored by the plugin as a user would: the published figures, to the last item."""

import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared" / "data"
FILES = {
    "sakura": "sakura.audiobench.toml",
    "test_mmar": "mmar.audiobench.toml",
    "test_mmau": "mmau.audiobench.toml",
    "test_faithfulness.py": "test_faithfulness.py",
}

pytestmark = pytest.mark.skipif(
    not (SHARED / "recorded").is_dir(), reason="the recorded outputs of the faithfulness study are not on this machine"
)


@pytest.fixture
def replay(tmp_path, forks):
    def run(evals, *models, scorers, errors=0):
        # The file alone: collecting the whole benchmark takes longer than a track.
        command = [f"evals/{FILES[evals.split()[0]]}", "-q", "-k", evals, "-p", "no:cacheprovider"]
        command += [f"--ab-model=replay:{SHARED}/recorded/{model}" for model in models]
        command += [f"--ab-scorer={protocol}" for protocol in scorers]
        command += [f"--ab-data=sakura={SHARED}/sakura-metadata", f"--ab-data={SHARED}", f"--ab-max-errors={errors}"]
        command += [f"--ab-reports={tmp_path}/reports", "--ab-run=r", f"--ab-store={tmp_path}/store.sqlite"]
        done = forks.pytest(command, ROOT)
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads((tmp_path / "reports" / "r" / "run.json").read_text())

    return run


def accuracies(run, model=None):
    """Right answers in percent and nulls, by track (pooled over both hops) or eval, and protocol."""
    found = {}
    for suite in run["suites"]:
        if model in (None, suite["model"]):
            for metric in suite["metrics"]:
                group = metric["group"]
                if metric["name"] == "accuracy" and (not group or "track" in group):
                    found[group.get("track", suite["name"]), metric["scorer"]] = round(100 * metric["value"], 2)
    return found


def nulls(run, scorer):
    """Answers that the study counted as null: neither a letter nor a letter beyond the options."""
    counts = {}
    for item in run["items"]:
        if item["outcome"] == "skipped":
            continue
        covered = next(one["coverage"] for one in item["scorers"] if one["name"] == scorer)
        track = item["eval"].partition("[")[2].partition("-")[0] or item["eval"]
        missing = covered["n"] - covered["parsed"] - covered["out_of_range"] - covered["errors"]
        counts[track] = counts.get(track, 0) + missing
    return counts


def test_sakura_with_reasoning(replay):
    run = replay(
        "sakura and (single or multi)",
        "af3,answers=reas",
        scorers=["letters", "faithfulness-recovered", "faithfulness-runtime-af3"],
    )
    found = accuracies(run)
    recovered = {"animal": 81.30, "language": 79.60, "emotion": 45.70, "gender": 57.20}
    runtime = {"animal": 76.70, "language": 77.90, "emotion": 38.70, "gender": 56.60}
    assert {track: found[track, "faithfulness-recovered"] for track in recovered} == recovered
    assert {track: found[track, "faithfulness-runtime-af3"] for track in runtime} == runtime
    assert nulls(run, "faithfulness-recovered") == {"animal": 10, "language": 17, "emotion": 34, "gender": 6}
    assert all(
        (item["scorers"][0]["name"] == "letters") and item["hashes"]["audio"] == "absent" for item in run["items"]
    )


def test_sakura_without_reasoning(replay):
    run = replay(
        "sakura and (single or multi)", "af3,answers=no_reas", scorers=["letters", "faithfulness-runtime-af3-direct"]
    )
    found = accuracies(run)
    runtime = {"animal": 76.70, "language": 76.30, "emotion": 47.20, "gender": 49.40}
    assert {track: found[track, "faithfulness-runtime-af3-direct"] for track in runtime} == runtime


def test_qwen_without_reasoning(replay):
    run = replay(
        "sakura and (single or multi) and (animal or emotion)",
        "qwen2.5-omni,answers=no_reas,crashes=unanswered",
        scorers=["letters", "faithfulness-runtime-qwen"],
    )
    found = accuracies(run)
    assert found["animal", "faithfulness-runtime-qwen"] == 81.40
    assert found["emotion", "faithfulness-runtime-qwen"] == 31.80


def test_mmar_with_and_without_reasoning(replay):
    run = replay(
        "test_mmar",
        "af3,answers=reas",
        scorers=["letters", "faithfulness-recovered-mm", "faithfulness-runtime-af3"],
        errors=3,
    )
    found = accuracies(run)
    assert found["mmar", "faithfulness-recovered-mm"] == 52.86
    assert found["mmar", "faithfulness-runtime-af3"] == 48.35
    assert nulls(run, "faithfulness-recovered-mm") == {"mmar": 4}
    assert run["items"][0]["scorers"][0]["coverage"]["errors"] == 3


def test_mmar_without_reasoning(replay):
    run = replay("test_mmar", "af3,answers=no_reas", scorers=["faithfulness-runtime-af3-direct"], errors=3)
    assert accuracies(run)["mmar", "faithfulness-runtime-af3-direct"] == 54.26


def test_mmau_with_reasoning(replay):
    run = replay("test_mmau", "af3,answers=reas", scorers=["letters", "faithfulness-recovered-mmau", "mmau-string"])
    assert accuracies(run)["mmau", "faithfulness-recovered-mmau"] == 67.70
    assert nulls(run, "faithfulness-recovered-mmau") == {"mmau": 71}


def test_one_folder_serves_the_whole_suite_and_what_it_lacks_is_skipped(replay):
    evals = "test_faithfulness.py and animal and (baseline or direct or conditioned or mask-p20 or mask-p90)"
    model = "qwen2.5-omni,crashes=unanswered"
    run = replay(evals, model, scorers=["faithfulness-runtime-qwen", "letters"])
    found = {
        item["eval"].rpartition("/")[2]: round(100 * metric["value"], 2)
        for item in run["items"]
        for metric in item["metrics"]
        if (metric["name"], metric["scorer"], metric["group"]) == ("accuracy", "faithfulness-runtime-qwen", {})
    }
    assert found == {"direct[animal]": 81.40, "baseline[animal]": 83.60, "mask[animal-mask-p20]": 82.10}
    skipped = [item["message"] for item in run["items"] if item["outcome"] == "skipped"]
    assert sum("holds no answers to what is asked here of animal" in one for one in skipped) > 2


def test_the_two_step_check_is_the_studys(replay):
    run = replay("test_faithfulness.py and animal and conditioned", "af3", scorers=["faithfulness-two-step"], errors=23)
    (item,) = run["items"]
    found = {metric["name"]: metric for metric in item["metrics"] if not metric["group"]}
    assert round(100 * found["accuracy"]["value"], 2) == 75.54
    assert (found["accuracy"]["n"], round(found["prediction_changed"]["value"] * 977)) == (977, 110)


def test_without_a_choice_the_prompt_says_which_recorded_answers_are_wanted(replay):
    run = replay("sakura and (single or multi) and animal", "af3", scorers=["faithfulness-runtime-af3-direct"])
    metrics = [one for item in run["items"] for one in item["metrics"]]
    values = [one["value"] for one in metrics if one["name"] == "accuracy" and not one["group"]]
    assert round(100 * sum(values) / len(values), 2) == 76.70
