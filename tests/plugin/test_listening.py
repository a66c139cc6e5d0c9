"""Was it listening? A model that hears proves it, a deaf one raises the alarm."""

import pytest

LISTENING = """
from pytest_audiobench import listening, manifest, multiple_choice

def test_listening(evaluate):
    listening(evaluate, manifest("data/tones.jsonl"), multiple_choice())
"""


@pytest.fixture
def asked(suite):
    suite.tones()
    suite.write(test_listening=LISTENING)
    return suite


def _items(run):
    return {item["eval"]: item for item in run["items"]}


def test_a_model_that_hears_is_shown_to_and_on_record_as_proven(asked):
    result = asked.run()
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*adds_over_silence* pp *", "*audio heard by one: tones: +* pp over *"])
    run, _ = asked.last()
    items = _items(run)
    assert [item["control"] for item in items.values()] == [False, True, True, True]
    assert list(items) == [f"listening:{name}" for name in ("heard", "silence", "swapped", "text")]
    assert {verdict["status"] for verdict in items["listening:heard"]["verdicts"]} == {"pass"}
    assert run["models"][0]["hearing"]["status"] == "proven"
    assert run["suites"][0]["n"] == 40  # the controls are not pooled


def test_a_proof_is_remembered_by_later_runs_of_the_same_model(asked):
    assert asked.run().ret == 0
    asked.write(test_other=LISTENING.replace("listening(evaluate,", "evaluate(").replace("test_listening", "test_o"))
    assert asked.run("-k", "test_o").ret == 0
    assert asked.last()[0]["models"][0]["hearing"]["status"] == "proven"


def test_a_deaf_model_fails_the_eval(asked):
    result = asked.run(deaf="yes")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*adds_over_silence.lower > 0*"])
    run, _ = asked.last()
    assert run["models"][0]["hearing"]["status"] == "unproven"
    assert (
        len(_items(run)["listening:heard"]["verdicts"]) == 3
    )  # each required once, of the eval and not of its controls


def test_a_threshold_for_all_evals_does_not_hold_the_controls(asked):
    (asked.path / "audiobench.toml").write_text('[[threshold]]\neval = "*"\nrequire = ["accuracy >= 0.9"]\n')
    assert asked.run().ret == 0


def test_a_threshold_that_names_a_control_holds_it(asked):
    rule = '[[threshold]]\neval = "listening:silence"\nrequire = ["accuracy >= 0.9"]\n'
    (asked.path / "audiobench.toml").write_text(rule)
    assert asked.run().ret == 1


def test_a_model_that_is_played_nothing_is_skipped_with_the_reason(asked):
    result = asked.run("-rs", model="baseline:chance")
    result.stdout.fnmatch_lines(["*baseline:chance is played no audio*"])


def test_a_doubt_stands_beside_an_earlier_proof(asked):
    assert asked.run().ret == 0
    asked.write(test_few=LISTENING.replace("test_listening", "test_few").replace("tones.jsonl", "few.jsonl"))
    lines = (asked.path / "data" / "tones.jsonl").read_text().splitlines()
    (asked.path / "data" / "few.jsonl").write_text("\n".join(lines[:2]) + "\n")
    asked.run("-k", "few")
    hearing = asked.last()[0]["models"][0]["hearing"]
    assert hearing["status"] == "proven"
    assert "not shown on few" in hearing["evidence"]


@pytest.mark.parametrize("note", ["NaN", '["proven", "a", "b"]', '["maybe", "x"]', "[" * 9000, "{}"])
def test_a_note_that_is_none_counts_as_none(asked, note):
    import sqlite3

    assert asked.run("--ab-store=theirs.sqlite").ret == 0
    with sqlite3.connect(asked.path / "theirs.sqlite") as store:
        store.execute("UPDATE meta SET value = ? WHERE name LIKE 'hearing:%'", (note,))
        names = [name for (name,) in store.execute("SELECT name FROM meta WHERE name LIKE 'hearing:%'")]
        store.execute("INSERT INTO meta VALUES (?, ?)", (names[0].replace("hearing", "noise"), note))
    store.close()
    asked.write(test_other=LISTENING.replace("listening(evaluate,", "evaluate(").replace("test_listening", "test_o"))
    assert asked.run("-k", "test_o", "--ab-store=own.sqlite", "--ab-store=theirs.sqlite").ret == 0
    model = asked.last()[0]["models"][0]
    assert model["hearing"]["status"] == "unproven"
    assert model["noise"] is None


APART = """
from pytest_audiobench import Dataset, manifest, multiple_choice

def half(name, wanted):
    tones = manifest("data/tones.jsonl")
    return Dataset(name, lambda places: [one for one in tones.read(places) if (one.id < "tone-2") is wanted])

def test_apart(evaluate):
    first = evaluate(half("first", True), multiple_choice(), name="first")
    evaluate.record("gain", first.gain_over(evaluate(half("second", False), multiple_choice(), name="second")))
"""


def test_an_error_in_a_test_is_one_sentence_and_not_a_chain(suite):
    suite.tones()
    suite.write(test_apart=APART)
    result = suite.run()
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*have no scored sample in common*"])
    result.stdout.no_fnmatch_line("*During handling of the above exception*")
