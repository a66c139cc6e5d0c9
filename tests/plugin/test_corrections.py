"""--ab-corrections: the score with corrected references beside that with the published ones."""

import json

import pytest

EVAL = "tones"


@pytest.fixture
def mislabelled(tones):
    """Forty tones, all of which the model hears, with the labels of two swapped."""
    path = tones.path / "data" / "tones.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    for number in (0, 4):
        rows[number]["answer"] = next(c for c in rows[number]["choices"] if c != rows[number]["answer"])
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    tones.truths = {row["id"]: row for row in rows}
    return tones


def written(suite, text, name="corrections.csv"):
    (suite.path / name).write_text(text)
    return f"--ab-corrections={EVAL}={name}"


def items_of(suite):
    record, folder = suite.last()
    return {item["eval"]: item for item in record["items"]}, folder


def accuracy(item):
    return item["metrics"][0]["value"]


def tone(suite, number):
    """What is heard, by the file."""
    return f"{300 + 200 * ((number + number % 4) % 7)} Hz"


def test_both_scores_stand_beside_each_other_by_the_same_answers(mislabelled):
    rows = f"id,reason,reference\ntone-0,heard otherwise,{tone(mislabelled, 0)}\ntone-4,two labels fit,\n"
    run = mislabelled.run(written(mislabelled, rows))
    assert run.ret == 0
    items, folder = items_of(mislabelled)
    assert list(items) == [EVAL, f"{EVAL}:corrected"]
    published, corrected = items[EVAL], items[f"{EVAL}:corrected"]
    assert (accuracy(published), published["n"]) == (0.95, 40)
    assert (accuracy(corrected), corrected["n"]) == (1.0, 39)
    assert corrected["asking"]["asked"] == 0
    notes = " ".join(corrected["warnings"])
    assert "heard otherwise" in notes
    assert "two labels fit" in notes
    assert "95.0 % as published (n 40), 100.0 % corrected (n 39)" in notes
    output = run.stdout.str()
    assert f"{EVAL}:corrected" in output
    assert "95.0 % as published (n 40), 100.0 % corrected (n 39)" in output
    page = (folder / "report.html").read_text()
    assert f"{EVAL}:corrected" in page
    assert "heard otherwise" in page


def test_the_published_score_and_its_hashes_are_what_they_are_without_corrections(mislabelled):
    assert mislabelled.run().ret == 0
    before, _ = items_of(mislabelled)
    rows = '{"id": "tone-4", "reason": "two labels fit"}\n'
    assert mislabelled.run(written(mislabelled, rows, "corrections.jsonl")).ret == 0
    after, _ = items_of(mislabelled)
    assert after[EVAL]["hashes"] == before[EVAL]["hashes"]
    assert after[EVAL]["metrics"] == before[EVAL]["metrics"]
    corrected = after[f"{EVAL}:corrected"]
    assert corrected["dataset"] == "tones+corrected"
    assert corrected["hashes"]["data"] != after[EVAL]["hashes"]["data"]
    assert corrected["hashes"]["input_hash"] != after[EVAL]["hashes"]["input_hash"]


def test_a_run_with_corrections_verifies(mislabelled):
    rows = f"id,reason,reference\ntone-0,heard otherwise,{tone(mislabelled, 0)}\ntone-4,two labels fit,\n"
    assert mislabelled.run(written(mislabelled, rows)).ret == 0
    _, folder = items_of(mislabelled)
    done = mislabelled.audiobench("verify", folder)
    assert done.returncode == 0, done.stdout


def test_a_threshold_names_the_corrected_score(mislabelled):
    rule = '[[threshold]]\neval = "{}"\nrequire = ["accuracy >= 0.99"]\n'
    option = written(mislabelled, f"id,reason,reference\ntone-0,heard,{tone(mislabelled, 0)}\ntone-4,two,\n")
    (mislabelled.path / "audiobench.toml").write_text(rule.format(f"{EVAL}:corrected"))
    assert mislabelled.run(option).ret == 0
    (mislabelled.path / "audiobench.toml").write_text(rule.format(EVAL))
    assert mislabelled.run(option).ret == 1


def test_an_audit_of_copies_corrects_what_it_lists(mislabelled):
    """The rows of an audit are a file of corrections as they are."""
    rows = [*mislabelled.truths.values()]
    copy = {**rows[1], "id": "copy", "answer": next(c for c in rows[1]["choices"] if c != rows[1]["answer"])}
    path = mislabelled.path / "data" / "tones.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in [*rows, copy]))
    assert mislabelled.run("--ab-run=first").ret == 0
    assert mislabelled.audiobench("audit", "first", "--out", "suspects").returncode == 0
    for name in ("suspects.csv", "suspects.jsonl"):
        assert mislabelled.run(f"--ab-corrections={EVAL}=suspects/{name}").ret == 0
        items, _ = items_of(mislabelled)
        assert items[f"{EVAL}:corrected"]["n"] == items[EVAL]["n"] - 2
        assert "the same clip as" in " ".join(items[f"{EVAL}:corrected"]["warnings"])


@pytest.mark.parametrize(
    ("text", "status", "says"),
    [
        ("", 4, "is empty"),
        ("id,reason,reference\n", 4, "has no correction of tones"),
        ("id,reason,reference\ntone-0,,\n", 4, "has no reason"),
        ("id,reason,reference\ntone-0,a,\ntone-0,b,\n", 4, "a second time"),
        ("id,reasons,reference\ntone-0,a,\n", 4, "unknown key 'reasons'"),
        ("eval,id,reason,reference\nother,tone-0,a,\n", 4, "its rows are of other"),
        ("id,reason,reference\ntone-99,a,\n", 1, "corrects 'tone-99', which tones does not have"),
        ("id,reason,reference\ntone-0,a,12 Hz\n", 1, "not one of its choices"),
    ],
)
def test_a_file_that_corrects_nothing_or_something_else_is_refused(mislabelled, text, status, says):
    run = mislabelled.run(written(mislabelled, text))
    assert run.ret == status
    assert says in run.stdout.str() + run.stderr.str()


def test_a_correction_that_the_data_has_is_refused(mislabelled):
    answer = mislabelled.truths["tone-1"]["answer"]
    run = mislabelled.run(written(mislabelled, f"id,reason,reference\ntone-1,a,{answer}\n"))
    assert run.ret == 1
    assert "the reference that it has" in run.stdout.str()


@pytest.mark.parametrize(
    ("option", "status", "says"),
    [
        ("--ab-corrections=tone=corrections.csv", 4, "no eval that was collected is called so"),
        ("--ab-corrections=corrections.csv", 4, "write EVAL=FILE"),
        ("--ab-corrections=tones=nowhere.csv", 4, "there is no file"),
        ("--ab-corrections=tones:loud=corrections.csv", 1, "the test made no such evaluation"),
    ],
)
def test_corrections_of_what_is_not_evaluated_are_refused(mislabelled, option, status, says):
    written(mislabelled, "id,reason,reference\ntone-4,two labels fit,\n")
    run = mislabelled.run(option)
    assert run.ret == status
    assert says in run.stdout.str() + run.stderr.str()


def test_workers_correct_as_one_process_does(mislabelled):
    option = written(mislabelled, "id,reason,reference\ntone-4,two labels fit,\n")
    assert mislabelled.run(option, "-n2").ret == 0
    items, _ = items_of(mislabelled)
    assert items[f"{EVAL}:corrected"]["n"] == 39


def test_corrections_stand_beside_perturbations_a_baseline_epochs_and_a_limit(mislabelled):
    option = written(mislabelled, "id,reason,reference\ntone-4,two labels fit,\n")
    assert mislabelled.run("--ab-run=before").ret == 0
    assert mislabelled.run(option, "--ab-baseline=before").ret == 0
    items, _ = items_of(mislabelled)
    assert [bool(items[name]["regressions"]) for name in (EVAL, f"{EVAL}:corrected")] == [True, False]
    assert mislabelled.run(option, "--ab-perturbations=text", "--ab-epochs=2").ret == 0
    items, _ = items_of(mislabelled)
    assert list(items) == [EVAL, f"{EVAL}:corrected", f"{EVAL}[text]"]
    assert items[f"{EVAL}:corrected"]["n"] == 39
    assert mislabelled.run(option, "--ab-limit=10", batching="opaque").ret == 0
    items, _ = items_of(mislabelled)
    assert (items[EVAL]["limited"], items[f"{EVAL}:corrected"]["limited"]) == (True, True)


def test_an_eval_without_code_is_corrected_too(mislabelled):
    (mislabelled.path / "hum.audiobench.toml").write_text(
        'manifest = "data/tones.jsonl"\nprotocol = "multiple_choice"\n'
    )
    (mislabelled.path / "corrections.csv").write_text("id,reason,reference\ntone-4,two labels fit,\n")
    assert mislabelled.run("--ab-corrections=hum=corrections.csv", "hum.audiobench.toml").ret == 0
    items, _ = items_of(mislabelled)
    assert {name: item["n"] for name, item in items.items()} == {"hum": 40, "hum:corrected": 39}
