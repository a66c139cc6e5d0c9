"""What a run says before its first request: how many answers it asks of which model, how many are known, how long."""

import json

import pytest

DECLARED = """
[source]
title = "Tones"
[data]
rows = "tones.jsonl"
[sample]
id = "{id}"
audio = "{audio}"
question = "{question}"
choices = "{choices}"
answer = "{answer}"
"""


def plan(result):
    lines = [line for line in result.outlines if line.startswith("to ask of ")]
    before = result.outlines[: max(map(result.outlines.index, lines), default=0)]
    assert not any(line.endswith("%]") for line in before), "it is said before the first test runs"
    return lines


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_answers_of_an_eval_in_code_are_counted_once_it_ran(tones, workers):
    assert plan(tones.run(workers)) == ["to ask of one: 1 eval, never run here, so that no time is known"]
    assert plan(tones.run(workers)) == ["to ask of one: 40 answers in 1 eval, up to 40 in the store"]


def test_how_long_the_rest_will_take_is_drawn_from_what_the_model_took_before(tones):
    tones.run()
    (line,) = plan(tones.run("--ab-refresh", "--ab-limit=20"))
    assert line == "to ask of one: 20 answers in 1 eval, about 1 s of asking"


def test_a_declared_eval_is_counted_by_its_rows_before_it_ever_ran(suite):
    suite.tones()
    (suite.path / "data").rename(suite.path / "pitch")
    (suite.path / "pitch.audiobench.toml").write_text(DECLARED)
    (line,) = plan(suite.run("--ab-data=pitch=pitch", "--ab-epochs=2"))
    assert line == "to ask of one: 80 answers in 1 eval, how long is not known yet"


def test_a_declared_eval_is_counted_in_every_wording_of_the_runs_set_and_asked_so(suite):
    suite.tones()
    (suite.path / "data").rename(suite.path / "pitch")
    (suite.path / "pitch.audiobench.toml").write_text(DECLARED)
    run = suite.run("--ab-data=pitch=pitch", "--ab-prompts=choice-5:3")
    assert plan(run) == ["to ask of one: 120 answers in 1 eval, how long is not known yet"]
    run.stdout.fnmatch_lines(["*wording_spread*", "*letters@3*{question} Choice…*"])
    assert plan(suite.run("--ab-data=pitch=pitch", "--ab-prompts=choice-5:3")) == [
        "to ask of one: 120 answers in 1 eval, up to 120 in the store"
    ]
    assert plan(suite.run("--ab-data=pitch=pitch", "--ab-prompts=choice-5:draw")) == [
        "to ask of one: 40 answers in 1 eval, how long is not known yet"
    ]


def test_a_manifest_that_a_file_names_is_counted_by_its_rows_before_it_ever_ran(suite):
    suite.tones()
    (suite.path / "pitch.audiobench.toml").write_text('manifest = "data/tones.jsonl"\n')
    (line,) = plan(suite.run("--ab-limit=30"))
    assert line == "to ask of one: 30 answers in 1 eval, how long is not known yet"


@pytest.mark.parametrize("suffix", [".jsonl", ".csv"])
def test_a_folder_that_a_file_names_is_counted_by_its_list(suite, suffix):
    suite.tones()
    listed = [json.loads(line) for line in (suite.path / "data" / "tones.jsonl").read_text().splitlines()]
    lines = [json.dumps({"file_name": row["audio"], "label": row["answer"]}) for row in listed]
    if suffix == ".csv":
        lines = ["file_name,label", *(f"{row['audio']},{row['answer']}" for row in listed)]
    (suite.path / "data" / f"metadata{suffix}").write_text("\n".join(lines) + "\n")
    text = 'manifest = "data"\nanswer = "label"\nchoices = "from answers"\nquestion = "Which tone is it?"\n'
    (suite.path / "pitch.audiobench.toml").write_text(text)
    (line,) = plan(suite.run("--ab-limit=30"))
    assert line == "to ask of one: 30 answers in 1 eval, how long is not known yet"


def test_answers_are_counted_for_each_epoch_whatever_those_of_the_earlier_run(tones):
    tones.run()
    (line,) = plan(tones.run("--ab-epochs=3"))
    assert line.startswith("to ask of one: 120 answers in 1 eval, up to 40 in the store, about ")
    assert plan(tones.run()) == ["to ask of one: 40 answers in 1 eval, up to 40 in the store"]


def test_answers_in_another_published_prompt_are_not_those_that_are_known(suite):
    suite.tones()
    (suite.path / "data").rename(suite.path / "pitch")
    prompt = '[prompts.brief]\nprompt = "Say it.\\n{question}\\n{options}"\nsource = "a paper"\n'
    (suite.path / "pitch.audiobench.toml").write_text(DECLARED + prompt)
    suite.run("--ab-data=pitch=pitch")
    (line,) = plan(suite.run("--ab-data=pitch=pitch", "--ab-prompt=brief"))
    assert line.startswith("to ask of one: 40 answers in 1 eval, ")
    for arguments in ([], ["--ab-prompt=brief"]):
        (line,) = plan(suite.run("--ab-data=pitch=pitch", *arguments))
        assert line == "to ask of one: 40 answers in 1 eval, up to 40 in the store"


def test_other_weights_know_nothing_of_what_was_answered(tones):
    tones.run(model="one=baseline:chance")
    notes = tones.run(model="one=baseline:majority")
    assert plan(notes) == ["to ask of one: 40 answers in 1 eval, how long is not known yet"]


def test_each_model_has_a_line_and_quiet_runs_have_none(tones):
    models = ["--ab-model=a=baseline:chance", "--ab-model=b=baseline:listener"]
    tones.run(*models, model=None)
    assert [line.split(":")[0] for line in plan(tones.run(*models, model=None))] == ["to ask of a", "to ask of b"]
    assert not plan(tones.run("-q", *models, model=None))


def test_absent_data_asks_nothing(suite):
    (suite.path / "pitch.audiobench.toml").write_text(DECLARED)
    (line,) = plan(suite.run())
    assert line.startswith("to ask of one: 0 answers in 0 evals")


def test_what_the_noise_floor_asks_again_is_counted_too(suite):
    suite.tones()
    (suite.path / "pitch.audiobench.toml").write_text('manifest = "data/tones.jsonl"\n')
    # The forty questions, again and in reversed order, in batches of one to four, and four copies of each at once.
    count = 40 * (1 + 2 + 4 + 4)
    (line,) = plan(suite.run("--ab-noise-floor"))
    assert line == f"to ask of one: {count} answers in 1 eval, how long is not known yet"
    assert plan(suite.run("--ab-noise-floor")) == [
        f"to ask of one: {count} answers in 1 eval, up to {count} in the store"
    ]
    assert plan(suite.run()) == ["to ask of one: 40 answers in 1 eval, up to 40 in the store"]


def test_an_eval_that_only_a_judge_can_score_asks_nothing_without_one(suite):
    suite.tones()
    (suite.path / "free.audiobench.toml").write_text('manifest = "data/tones.jsonl"\nprotocol = "judged"\n')
    result = suite.run()
    result.assert_outcomes(skipped=1)
    assert plan(result) == ["to ask of one: 0 answers in 0 evals"]
