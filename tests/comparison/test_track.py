"""One model over its runs: their order, the values, the drops."""

import json
from pathlib import Path

import pytest

from pytest_audiobench import transcription
from pytest_audiobench.comparison.run_series import reader


def below(count):
    """Right for the first ``count`` samples."""
    return lambda sample_id: int(sample_id[-3:]) < count


@pytest.fixture
def training(lab):
    """Runs of steps 100, 200, 1000 and 3000: better, better, then worse."""
    for step, right in ((1000, 38), (100, 10), (3000, 20), (200, 30)):
        lab.run(f"r{step}", says=below(right), model=f"step-{step}")
    return lab


def values(audiobench, *arguments):
    code, out, err = audiobench("track", *arguments, "--format", "json")
    assert code == 0, err
    return json.loads(out)["values"]


def test_runs_are_ordered_by_step_not_by_name_or_time(training, audiobench):
    found = values(audiobench, "reports")
    assert [one["step"] for one in found] == [100, 200, 1000, 3000]
    assert [one["value"] for one in found] == [0.25, 0.75, 0.95, 0.5]
    assert [one["is_best"] for one in found] == [False, False, True, False]
    assert [one["is_last"] for one in found] == [False, False, False, True]


def test_runs_are_named_as_by_the_other_verbs(training, audiobench):
    named = values(audiobench, "r200", "r100", "--reports", "reports")
    assert named == values(audiobench, "reports/r100", "reports/r200")
    assert [one["step"] for one in named] == [100, 200]
    for checkpoint in ("r100", "r200"):
        Path(checkpoint).mkdir()
    assert named == values(audiobench, "r200", "r100")


def test_each_run_is_held_against_the_one_before_and_the_last_against_the_best(training, audiobench):
    found = values(audiobench, "reports")
    assert [one["status"] for one in found] == [None, "pass", "pass", "regressed"]
    assert found[3]["drop"] == pytest.approx(0.45)
    assert (found[3]["worse"], found[3]["better"]) == (18, 0)
    assert found[3]["best_status"] == "regressed"
    assert found[2]["best_status"] is None


def test_the_level_is_shared_by_all_that_could_have_been_the_best(training, audiobench):
    # Three neighbours, and the last against each of the two runs that are not its neighbour.
    assert {one["lines"] for one in values(audiobench, "reports")} == {5}


def test_the_last_is_held_against_a_best_that_is_no_neighbour(lab, audiobench):
    for step, right in ((1, 40), (2, 20), (3, 21)):
        lab.run(f"r{step}", says=below(right), model=f"step-{step}")
    found = values(audiobench, "reports")
    assert found[2]["best_drop"] == pytest.approx(19 / 40)
    assert found[2]["best_status"] == "regressed"
    _, out, _ = audiobench("track", "reports")
    assert "last (3) against best (1): 47.5 pp worse" in out.replace("\n  ", " ")


def test_the_table_says_what_dropped_and_where(training, audiobench):
    code, out, err = audiobench("track", "reports")
    assert (code, err) == (0, "")
    assert "scripted:step-*: 4 runs by step, 100 to 3000" in out
    assert "  ▲ 1000 best" in out
    assert "  ✗ 3000 last" in out
    assert "animals/all accuracy by letters, 3000 after 1000: 45.0 pp worse" in out.replace("\n  ", " ")
    assert "1 significant drop and 2 significant gains between neighbours; 1 of 1 curves ends" in out.replace(
        "\n  ", " "
    )
    assert max(map(len, out.splitlines())) <= 80


def test_among_equals_the_earliest_is_the_best(lab, audiobench):
    for step in (1, 2, 3):
        lab.run(f"r{step}", says=below(30), model=f"step-{step}")
    assert [one["is_best"] for one in values(audiobench, "reports")] == [True, False, False]


def test_a_rate_of_errors_is_best_where_it_is_low(lab, audiobench):
    for step, right in ((1, 5), (2, 30)):
        lab.run(
            f"r{step}",
            says=lambda sample_id, right=right: "cat" if int(sample_id[1:]) < right else "dog",
            model=f"step-{step}",
            protocol=transcription(),
        )
    found = values(audiobench, "reports")
    assert [(one["metric"], one["is_best"]) for one in found] == [("wer", False), ("wer", True)]
    assert found[1]["drop"] == pytest.approx(-25 / 40)


def test_runaways_that_hide_a_drop_are_told_with_the_rate_that_they_do_not_move(lab, audiobench):
    for step, runaways in ((1, ()), (2, ("s001", "s002"))):
        says = lambda id_, runaways=runaways: "dog " * 200 if id_ in runaways else "cat"  # noqa: E731
        lab.run(f"r{step}", says=says, model=f"step-{step}", protocol=transcription())
    _, out, _ = audiobench("track", "reports")
    said = " ".join(out.split())
    assert "? animals/all wer by wer-basic, 2 after 1: up to" in said
    assert "gate wer_trimmed" in said
    assert [one["metric"] for one in values(audiobench, "reports", "--metric", "wer_trimmed")] == ["wer_trimmed"] * 2


def test_runs_are_ordered_by_time_where_that_is_asked(lab, audiobench):
    for name, started in (("b", "2026-11-20T09:00:00Z"), ("a", "2026-11-21T09:00:00Z")):
        lab.run(name, model="main", started=started)
    found = values(audiobench, "reports", "--order", "time")
    assert [one["run"] for one in found] == ["b", "a"]
    _, out, _ = audiobench("track", "reports", "--order", "time")
    assert "main: 2 runs by time, 2026-11-20 09:00 to 2026-11-21 09:00" in out


def test_runs_without_a_step_are_named(lab, audiobench):
    lab.run("first", model="main")
    lab.run("second", model="main")
    code, out, err = audiobench("track", "reports")
    assert (code, out) == (4, "")
    assert "no step is in the names of first (main), second (main)" in err
    assert "--order time" in err
    assert err.count("\n") == 1


def test_a_pattern_finds_the_step_in_the_runs_name(lab, audiobench):
    for step in (7, 12):
        lab.run(f"lr-{step:04d}", model="main")
    assert [one["step"] for one in values(audiobench, "reports", "--step", r"lr-(\d+)")] == [7, 12]


def test_runs_of_several_models_are_refused_until_one_is_chosen(training, audiobench):
    training.run("other", model="chance")
    code, _, err = audiobench("track", "reports")
    assert code == 4
    assert "these runs are of 2 models: scripted:step-* (4 runs), scripted:chance (1 run)" in err
    assert len(values(audiobench, "reports", "--model", "step-*")) == 4


def test_two_trainings_whose_checkpoints_are_called_alike_are_two_models(lab, audiobench):
    for training in ("a", "b"):
        for step in (1, 2):
            folder = lab.run(f"{training}{step}", model=f"step-{step}")
            record = json.loads((folder / "run.json").read_text())
            record["models"][0]["spec"] = f"hf:{training}/step-{step}"
            (folder / "run.json").write_text(json.dumps(record))
    code, _, err = audiobench("track", "reports")
    assert code == 4
    assert "hf:a/step-* (2 runs), hf:b/step-* (2 runs)" in err
    assert len(values(audiobench, "reports", "--model", "hf:a/*")) == 2


def test_unfinished_runs_are_left_out_with_a_note(training, audiobench):
    (training.reports / "crashed" / "parts").mkdir(parents=True)
    (training.reports / "no run at all").mkdir()
    _, out, _ = audiobench("track", "reports")
    assert "note: reports/crashed is unfinished and was left out" in out
    assert "no run at all" not in out


def test_a_run_of_another_version_is_left_out_unless_it_was_named(training, audiobench):
    folder = training.run("old", model="step-50")
    (folder / "run.json").write_text('{"schema": "audiobench.run/0"}')
    _, out, _ = audiobench("track", "reports")
    assert "note: left out:" in out
    code, _, err = audiobench("track", "reports/old", "reports/r100")
    assert code == 4
    assert "audiobench.run/0" in err


def test_of_two_runs_at_one_step_the_later_is_taken(training, audiobench):
    training.run("again", says=below(39), model="step-3000", started="2026-11-22T09:00:00Z")
    found = values(audiobench, "reports")
    assert (len(found), found[-1]["run"]) == (4, "again")
    _, out, _ = audiobench("track", "reports")
    assert "reports/r3000 is of step 3000 as the later reports/again" in out.replace("\n  ", " ")


def test_limited_runs_are_left_out_beside_whole_ones(training, audiobench):
    training.run("short", model="step-150", limit=10)
    assert [one["step"] for one in values(audiobench, "reports")] == [100, 200, 1000, 3000]
    _, out, _ = audiobench("track", "reports")
    assert "left out, since they were limited: short (step-150)" in out


def test_runs_that_were_asked_otherwise_are_on_no_one_track(lab, audiobench):
    from dataclasses import replace

    lab.run("a", model="step-1")
    lab.run("b", {"animals/all": [replace(one, question="Which bird?") for one in lab.samples(40)]}, model="step-2")
    code, _, err = audiobench("track", "reports")
    assert code == 4
    assert "reports/a and reports/b were not asked the same" in err
    assert ".question is" in err


def test_an_eval_that_came_later_has_a_shorter_curve(lab, audiobench):
    old, new = {"animals/all": lab.samples(40)}, {"animals/new": lab.samples(20, "n")}
    for step, evals in ((1, old), (2, {**old, **new}), (3, {**old, **new})):
        lab.run(f"r{step}", evals, model=f"step-{step}")
    found = values(audiobench, "reports")
    assert [one["step"] for one in found if one["eval"] == "animals/new"] == [2, 3]
    assert [one["step"] for one in found if one["eval"] == "animals/all"] == [1, 2, 3]
    assert not [one for one in found if one["eval"] is None]
    _, out, _ = audiobench("track", "reports")
    assert "animals is not pooled: its evals are not the same in all runs" in out


def test_a_run_that_lacks_an_eval_is_passed_over_in_its_curve_and_named(lab, audiobench):
    evals = {"animals/near": lab.samples(40, "n"), "animals/far": lab.samples(40, "f")}
    near = {"animals/near": evals["animals/near"]}
    for step, own, right in ((1, evals, 40), (2, near, 40), (3, evals, 20)):
        lab.run(f"r{step}", own, says=below(right), model=f"step-{step}")
    found = {(one["eval"], one["step"]): one for one in values(audiobench, "reports")}
    assert found["animals/far", 3]["status"] == "regressed"
    # Three runs of the one curve, two of the other.
    assert {one["lines"] for one in found.values()} == {3 + 1}
    _, out, _ = audiobench("track", "reports")
    assert "✗ animals/far accuracy by letters, 3 after 1: 50.0 pp worse" in out.replace("\n  ", " ")
    assert "note: 2 has no animals/far" in out


def test_one_run_is_no_track(lab, audiobench):
    lab.run("r1", model="step-1")
    code, _, err = audiobench("track", "reports")
    assert code == 4
    assert "a track needs two finished runs, and reports has r1 (step-1)" in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere"], "there is no run and no folder nowhere"),
        (["."], ". holds no run"),
        (["reports", "--metric", "wer"], "no eval has the metric 'wer'; there is accuracy"),
        (["reports", "--eval", "x"], "matches 'x'"),
        (["reports", "--step", "("], "is not a regular expression"),
        (["reports", "--model", "x"], "no model of reports matches 'x'; there are step-100"),
    ],
)
def test_a_mistake_is_one_sentence(training, audiobench, arguments, said):
    code, out, err = audiobench("track", *arguments)
    assert (code, out) == (4, "")
    assert said in err
    assert err.count("\n") == 1


def test_the_csv_is_a_row_a_curve_and_run(training, audiobench, tmp_path):
    pandas = pytest.importorskip("pandas")
    audiobench("track", "reports", "--format", "csv", "--out", "track.csv")
    frame = pandas.read_csv(tmp_path / "track.csv")
    assert frame["step"].tolist() == [100, 200, 1000, 3000]
    assert frame["value"].tolist() == [0.25, 0.75, 0.95, 0.5]
    assert frame["status"].isna().tolist() == [True, False, False, False]


def test_the_markdown_has_the_same_numbers(training, audiobench):
    _, out, _ = audiobench("track", "reports", "--format", "markdown")
    assert "| ✗ 3000 last | 50.0 % |" in out


def test_a_long_track_keeps_three_runs_at_a_time():
    read = reader(())
    assert read.cache_info().maxsize == 3


def test_a_usage_error_is_what_a_bad_margin_is(training, audiobench):
    code, _, err = audiobench("track", "reports", "--max-drop", "1%")
    assert code == 4
    assert "is not a margin" in err
