"""Does a model repeat itself? One whose answers depend on their batch is found out, and by how much."""

from pathlib import Path

import pytest

DETERMINISM = """
from pytest_audiobench import determinism, manifest, multiple_choice

def test_again(evaluate):
    determinism(evaluate, manifest("data/tones.jsonl"), multiple_choice())
"""

CHECKPOINTS = Path(__file__).parents[2] / "fixtures" / "checkpoints"
CHECKPOINT = """
from pytest_audiobench import dataset, determinism, multiple_choice

def test_again(evaluate):
    choices = {"dtypes": ["bfloat16", "float16"], "kernels": ["eager", "sdpa", "nonsense"]}
    choices |= {"paddings": ["left", "right"], "batch_sizes": [1], "copies": 99}
    determinism(evaluate, dataset("bundled", "digits"), multiple_choice(), samples=8, **choices)
"""


@pytest.fixture
def asked(suite):
    suite.tones()
    suite.write(test_again=DETERMINISM)
    return suite


def _by_condition(run, name):
    metrics = run["items"][0]["metrics"]
    return {one["group"].get("condition", "all"): one["value"] for one in metrics if one["name"] == name}


def test_any_declared_eval_is_asked_for_the_models_noise_floor_on_its_data_by_an_option(suite):
    suite.tones()
    (suite.path / "tones.audiobench.toml").write_text('manifest = "data/tones.jsonl"\nrequire = ["accuracy >= 90%"]\n')
    assert suite.run("--ab-limit=12").ret == 0
    plain, _ = suite.last()
    assert plain["models"][0]["noise"] is None
    assert suite.run("--ab-limit=12", "--ab-noise-floor").ret == 0
    run, _ = suite.last()
    assert run["items"][0]["hashes"] == plain["items"][0]["hashes"]
    (measured,) = run["models"][0]["noise"]["measured"]
    assert (measured["dataset"], measured["metric"]) == (run["items"][0]["dataset"], "accuracy")
    assert measured["n"] == run["items"][0]["n"]
    assert measured["same_outcomes"] == _by_condition(run, "same_outcomes")["all"] == 1.0


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


def test_what_each_condition_changes_has_an_interval_and_stands_in_one_table(asked):
    result = asked.run(moody="2")
    metrics = [one for one in asked.last()[0]["items"][0]["metrics"] if one["group"] == {"condition": "batch-3"}]
    same, scored, shift = metrics
    assert [one["name"] for one in metrics] == ["same_answers", "same_outcomes", "score_shift"]
    assert (same["value"], scored["value"], shift["value"]) == pytest.approx((39 / 40, 39 / 40, 1 / 40))
    # Some of the tones are the same clip, so that the interval is wider than Clopper and Pearson's of 39 in 40.
    assert 0.8 < same["lower"] < 0.8684 < 39 / 40 < same["upper"] < 1
    assert shift["lower"] <= 1 / 40 <= shift["upper"]
    result.stdout.fnmatch_lines(
        [
            "again asked again (n=40): % of answers changed, and by how much accuracy moves",
            "  condition *text *interval *outcome *interval *score *interval",
            "  batch-3 * 2.5 * 0.1–14.4 * 2.5 * 0.1–14.4 * 2.5 *",
        ]
    )


def test_it_says_of_which_sizes_it_says_nothing(suite):
    suite.tones(5)
    suite.write(test_again=DETERMINISM.replace("()", "(), batch_sizes=[2, 4, 16, 64]"))
    assert suite.run(halved="3").ret == 0
    run, _ = suite.last()
    assert run["items"][0]["warnings"] == [
        "batch-16, batch-64 not measured: the model's batch is 4; write another batch= in its spec",
        "batch-4 was asked in 1 of 4 and one of 1: ask more samples for what batches of 4 do",
        "again: 4 answers came from batches halved because memory ran out",
        "reversed: 4 answers came from batches halved because memory ran out",
        "batch-4: 4 answers came from batches halved because memory ran out",
        "repeated-4: 20 answers came from batches halved because memory ran out",
    ]


def test_one_clip_is_printed_as_each_batch_answers_it_with_the_seconds_it_took(asked):
    clip = DETERMINISM.replace("()", '(), clip="tone-7", batch_sizes=range(1, 4)')
    asked.write(test_again=clip)
    result = asked.run("-s", moody="2")
    assert result.ret == 0
    right = asked.last()[0]["items"][0]["metrics"]
    said = [line for line in result.stdout.lines if line.startswith("[")]
    assert said == ["['D']", "['D', 'D']", "['A', 'A', 'A']"]
    result.stdout.re_match_lines([r"===== batch=3 =====", r"\['A', 'A', 'A'\]", r"elapsed \d+\.\d+(e-\d+)?s"])
    assert {one["group"]["condition"]: one["value"] for one in right if one["name"] == "same_answers"} == {
        "batch-1": 1.0,
        "batch-2": 1.0,
        "batch-3": 0.0,
    }
    assert asked.last()[0]["models"][0]["noise"] is None


def test_a_clip_that_is_not_there_is_named(asked):
    asked.write(test_again=DETERMINISM.replace("()", '(), clip="tone-77"'))
    asked.run().stdout.fnmatch_lines(["*has no sample 'tone-77'*"])


def test_a_clip_of_a_model_that_batches_as_it_pleases_is_skipped(asked):
    asked.write(test_again=DETERMINISM.replace("()", '(), clip="tone-7"'))
    result = asked.run("-rs", batching="opaque")
    result.stdout.fnmatch_lines(["*forms its own batches: which answers it gave together is unknown*"])


@pytest.mark.parametrize("choice", ["dtypes", "kernels", "paddings"])
def test_what_a_server_cannot_be_switched_to_is_refused(asked, choice):
    asked.write(test_again=DETERMINISM.replace("()", f"(), {choice}=['x']"))
    result = asked.run(batching="opaque")
    result.stdout.fnmatch_lines([f"*has no {choice[:-1]} to choose: leave {choice} out*"])


def test_a_server_is_asked_fewer_at_once_and_that_is_part_of_its_noise(suite, server):
    suite.tones(12)
    suite.write(test_again=DETERMINISM.replace("()", "(), at_once=[1, 3]"))
    assert suite.run(model=f"http:{server.url}").ret == 0
    run, _ = suite.last()
    assert list(_by_condition(run, "same_answers")) == ["all", "again", "batch-1", "batch-3"]
    assert list(run["models"][0]["noise"]["measured"][0]["conditions"]) == ["again", "batch-1", "batch-3"]
    sizes = [len(batch) for batch in server.batches if not batch[0]["sample_id"].startswith("probe")]
    assert sizes == [4, 4, 4] * 2 + [1] * 12 + [3] * 4


def test_a_checkpoint_padded_on_the_right_answers_otherwise_and_that_is_in_no_noise_floor(suite_with_torch):
    suite = suite_with_torch
    suite.write(test_again=CHECKPOINT)
    result = suite.run(model=f"hf:{CHECKPOINTS / 'good'},device=cpu")
    assert result.ret == 0
    run, _ = suite.last()
    same, shift = _by_condition(run, "same_answers"), _by_condition(run, "score_shift")
    conditions = ["again", "reversed", "batch-1", "dtype-bfloat16", "dtype-float16", "attn-eager", "attn-sdpa"]
    assert list(same) == ["all", *conditions, "padding-left", "padding-right"]
    # Its answers are far from any tie, whatever the arithmetic; on the right it continues behind the padding.
    assert {same[name] for name in ("all", "again", "reversed", "batch-1", "attn-eager", "padding-left")} == {1.0}
    assert same["padding-right"] < 0.8
    assert shift["padding-right"] > 0.2
    assert shift["all"] == run["models"][0]["noise"]["score_shift"] == 0.0
    assert list(run["models"][0]["noise"]["measured"][0]["conditions"]) == ["again", "reversed", "batch-1"]
    result.stdout.fnmatch_lines(["note: again: attn-nonsense was not measured: the model in * cannot be loaded: *"])


def test_a_threshold_within_the_noise_floor_of_an_earlier_run_is_said_to_be(asked):
    assert asked.run(moody="2").ret == 0
    rule = '[[threshold]]\neval = "p"\nrequire = ["accuracy >= 0.3", "coverage >= 0.99"]\n'
    (asked.path / "audiobench.toml").write_text(rule)
    asked.write(test_again="", test_p=DETERMINISM.replace("determinism(evaluate,", "evaluate(").replace("_again", "_p"))
    result = asked.run(moody="2")
    told = [line for line in result.stdout.lines if "within the noise floor" in line]
    assert told == [
        "note: p: accuracy >= 0.3 is missed within the noise floor: accuracy moves by up to 75.0 pp when the same "
        "model is asked again (tones, n=40, 22 % of outcomes change)"
    ]


def test_every_condition_is_asked_of_the_model_and_not_of_the_store(asked):
    assert asked.run(log="log").ret == 0
    asked_for = [word for word in (asked.path / "log").read_text().split() if word.startswith("tone-")]
    # as planned, again, reversed, four sizes of batches, four copies
    assert asked_for.count("tone-0") == 1 + 1 + 1 + 4 + 4
    answers = asked.last()[0]["answers"]
    assert (answers["asked"], answers["stored"]) == (len(asked_for), 0)
    assert asked.run(log="log").ret == 0
    again = asked.last()[0]["answers"]
    assert (again["asked"], again["stored"]) == (0, len(asked_for))


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


def test_a_floor_measured_under_a_perturbation_is_none_of_the_data_as_they_are(asked):
    assert asked.run("--ab-perturbations=white-20dB", moody="2").ret == 0
    measured = asked.last()[0]["models"][0]["noise"]["measured"]
    assert {each["dataset"] for each in measured} == {"tones", "tones+white-20dB"}


def test_askings_that_fail_under_a_condition_leave_no_floor(asked):
    assert asked.run(choosy="tone-3").ret == 6
    assert asked.last()[0]["models"][0]["noise"] is None


def test_an_opaque_model_is_asked_again_and_nothing_more(asked):
    assert asked.run(batching="opaque").ret == 0
    assert list(_by_condition(asked.last()[0], "same_answers")) == ["all", "again"]


def test_askings_that_fail_under_a_condition_make_the_eval_incomplete(asked):
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
