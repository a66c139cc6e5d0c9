"""Does a model repeat itself? One whose answers depend on their batch is found out, and by how much."""

import pytest

DETERMINISM = """
from pytest_audiobench import determinism, manifest, multiple_choice

def test_again(evaluate):
    determinism(evaluate, manifest("data/tones.jsonl"), multiple_choice())
"""


@pytest.fixture
def asked(suite):
    suite.tones()
    suite.write(test_again=DETERMINISM)
    return suite


def _by_condition(run, name):
    metrics = run["items"][0]["metrics"]
    return {one["group"].get("condition", "all"): one["value"] for one in metrics if one["name"] == name}


def test_a_deterministic_model_gives_the_same_answers_under_every_condition(asked):
    assert asked.run().ret == 0
    same = _by_condition(asked.last()[0], "same_answers")
    assert list(same) == ["all", "again", "reversed", "batch-1", "batch-2", "batch-3", "batch-4", "repeated-4"]
    assert set(same.values()) == {1.0}


def test_a_model_that_depends_on_its_batch_is_found_out_and_the_score_moves_with_it(asked):
    assert asked.run(moody="2").ret == 0
    run, _ = asked.last()
    same, shift = _by_condition(run, "same_answers"), _by_condition(run, "score_shift")
    assert same["again"] == same["reversed"] == 1.0  # the same batches
    assert same["batch-1"] == same["batch-2"] < 0.5
    assert same["batch-3"] == 39 / 40  # the last batch holds one
    assert same["batch-4"] == 1.0
    # In tones of ten each, a quarter is right with "A": what larger batches say.
    assert shift["batch-1"] > 0.5
    assert shift["all"] == max(shift.values())
    noise = run["models"][0]["noise"]
    assert noise["score_shift"] == shift["all"]
    assert noise["measured"][0]["conditions"]["batch-1"]["same_answers"] == same["batch-1"]


def test_every_condition_is_asked_of_the_model_and_not_of_the_store(asked):
    assert asked.run(log="log").ret == 0
    asked_for = (asked.path / "log").read_text().split()
    # as planned, again, reversed, four sizes of batches, four copies
    assert asked_for.count("tone-0") == 1 + 1 + 1 + 4 + 4


def test_a_threshold_may_ask_for_the_same_answers(asked):
    rule = '[[threshold]]\neval = "again"\nrequire = ["same_answers[condition=batch-1] >= 0.99"]\n'
    (asked.path / "audiobench.toml").write_text(rule)
    assert asked.run(moody="2").ret == 1
    assert asked.run().ret == 0


def test_the_noise_floor_is_remembered_for_later_runs_of_the_same_model(asked):
    assert asked.run(moody="2").ret == 0
    measured = asked.last()[0]["models"][0]["noise"]
    asked.write(test_plain=DETERMINISM.replace("determinism(evaluate,", "evaluate(").replace("test_again", "test_p"))
    assert asked.run("-k", "test_p", moody="2").ret == 0
    assert asked.last()[0]["models"][0]["noise"] == measured


def test_an_opaque_model_is_asked_again_and_nothing_more(asked):
    assert asked.run(batching="opaque").ret == 0
    assert list(_by_condition(asked.last()[0], "same_answers")) == ["all", "again"]


def test_askings_that_fail_under_a_condition_make_the_eval_not_comparable(asked):
    result = asked.run(choosy="tone-5")
    assert result.ret == 6
    result.stdout.fnmatch_lines(["*more when asked again, could not be asked*"])
    assert any("batch-1: not in this company" in error["message"] for error in asked.last()[0]["items"][0]["errors"])
    assert asked.run("--ab-max-errors=50", choosy="tone-5").ret == 0


def test_the_worst_of_several_measurements_is_the_noise_floor(asked):
    asked.write(test_short=DETERMINISM.replace("test_again", "test_s").replace("()", "(), batch_sizes=[4]"))
    assert asked.run(moody="2").ret == 0
    assert asked.last()[0]["models"][0]["noise"]["score_shift"] > 0.5


def test_what_no_longer_asks_cannot_be_asked_again(asked):
    assert asked.run().ret == 0
    _, folder = asked.last()
    result = asked.run("-rs", model=f"replay:{folder}")
    result.stdout.fnmatch_lines(["*is played no audio: there is nothing that it could repeat*"])


def test_a_condition_may_be_held_to_no_shift_at_all(asked):
    rule = '[[threshold]]\neval = "again"\nrequire = ["score_shift[condition=again] <= 0.01"]\n'
    (asked.path / "audiobench.toml").write_text(rule)
    assert asked.run().ret == 0
