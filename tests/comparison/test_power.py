"""How many samples a drop needs, asked of runs and baselines as a user asks."""

import csv
import io
import json
from dataclasses import replace

import pytest


def rows(audiobench, *arguments):
    code, out, _ = audiobench("power", *arguments, "--format", "json")
    assert code == 0
    return {one["eval"]: one for one in json.loads(out)}


def every(number, offset=0):
    return lambda sample_id: (int(sample_id[-3:]) + offset) % number > 0


def test_a_real_run_says_what_each_eval_sees_and_needs(reports, audiobench):
    code, out, err = audiobench("power", "good", "--drop", "2pp")
    assert (code, err) == (0, "")
    assert out.startswith(
        "How many samples a drop of 2pp needs to be called a regression: margin 1pp,\n"
        "level 0.025 (0.05 shared by 2 comparisons),"
    )
    assert max(map(len, out.splitlines())) <= 80
    assert [line.split()[0] for line in out.splitlines() if line.startswith("calls/")] == [
        "calls/digits",
        "calls/words",
    ]
    assert "flips (samples that become worse, and as many that become better): assumed;" in " ".join(out.split())
    assert " 2.0 % assumed " in out


def test_without_a_drop_each_eval_says_what_it_sees_and_what_usual_drops_need(reports, audiobench):
    code, out, err = audiobench("power", "good")
    assert (code, err) == (0, "")
    assert out.startswith("The smallest drop that each eval can show (MDE), and the samples that usual\ndrops need:")
    assert next(line for line in out.splitlines() if line.startswith("eval")).split() == (
        ["eval", "n", "clusters", "flips", "MDE", "2pp", "5pp", "10pp"]
    )
    digits = next(line for line in out.splitlines() if line.startswith("calls/digits")).split()
    one = [rows(audiobench, "good", "--drop", drop)["calls/digits"] for drop in ("2pp", "5pp", "10pp")]
    assert digits[-3:] == [f"{each['needed']:,}" for each in one]
    head = audiobench("power", "good", "--max-drop", "0pp")[1].splitlines()[3]
    assert head.split()[-3:] == ["1pp", "2pp", "5pp"]


def test_a_larger_drop_needs_fewer_samples_and_the_detectable_one_is_seen_by_those_there_are(reports, audiobench):
    two, nine = (rows(audiobench, "good", "--drop", drop)["calls/digits"] for drop in ("2pp", "9pp"))
    assert two["needed"] > nine["needed"]
    seen = rows(audiobench, "good", "--drop", f"{100 * two['detectable'] + 0.1:.2f}pp")["calls/digits"]
    assert seen["needed"] <= 1.05 * two["n"]


def test_more_lines_a_wider_margin_and_more_flips_need_more_samples(reports, audiobench):
    base = ["good", "--drop", "4pp", "--lines", "1", "--eval", "calls/digits"]
    needed = rows(audiobench, *base)["calls/digits"]["needed"]
    for more in (
        ["--lines", "24"],
        ["--max-drop", "2pp"],
        ["--flips", "10%"],
        ["--power", "0.95"],
        ["--alpha", "0.01"],
    ):
        assert rows(audiobench, *base, *more)["calls/digits"]["needed"] > needed


def test_a_baselines_file_serves_as_well_as_its_run(reports, audiobench, tmp_path):
    audiobench("baseline", "update", "good", "--out", "base.json")
    of_file, of_run = (audiobench("power", source, "--drop", "3pp") for source in ("base.json", "good"))
    assert of_file == of_run


def test_flips_are_counted_in_another_run(lab, audiobench):
    lab.run("a", says=every(10))
    lab.run("b", says=every(10, offset=1))
    found = rows(audiobench, "a", "--drop", "5pp", "--against", "b")["animals/all"]
    assert found["flips"] == pytest.approx(8 / 40)
    assert found["flips_from"] == "measured between the two"


def test_stored_answers_of_the_same_model_are_no_measure_of_flips(lab, audiobench):
    lab.run("a")
    again = lab.run("again", model="a") / "run.json"
    assert rows(audiobench, "a", "--drop", "5pp", "--against", "again")["animals/all"]["flips"] == 0.0
    record = json.loads(again.read_text())
    record["items"][0]["asking"].update(asked=0, known=40, reused=40)
    again.write_text(json.dumps(record))
    for pair in (("a", "--against", "again"), ("again", "--against", "a")):
        code, out, _ = audiobench("power", *pair)
        assert code == 0
        assert " 2.0 % assumed " in out
        said = "no flips are counted in animals/all: both runs have the same stored answers of one model"
        assert said in " ".join(out.split())


def test_the_models_noise_floor_is_taken_where_it_was_measured_and_flips_given_go_first(reports, audiobench):
    noise = {"same_answers": 0.95, "score_shift": 0.01, "measured": []}
    reports.edit("good", lambda record: record["models"][0].update(noise=noise))
    found = rows(audiobench, "good", "--drop", "3pp")["calls/digits"]
    assert found["flips"] == pytest.approx(0.05)
    assert found["flips_from"] == "the model's noise floor"
    assert rows(audiobench, "good", "--drop", "3pp", "--flips", "0.01")["calls/digits"]["flips_from"] == "given"
    # Another text with the same score is not a flip.
    reports.edit("good", lambda record: record["models"][0].update(noise={**noise, "same_outcomes": 0.97}))
    assert rows(audiobench, "good", "--drop", "3pp")["calls/digits"]["flips"] == pytest.approx(0.03)


def test_the_noise_floor_of_an_evals_own_data_goes_before_a_worse_one_of_others(reports, audiobench):
    def measure(record):
        own = next(item["dataset"] for item in record["items"] if item["eval"] == "calls/digits")
        shares = {"score_shift": 0.01, "n": 40, "metric": "accuracy", "conditions": {}}
        measured = [
            {**shares, "dataset": own, "same_answers": 0.98, "same_outcomes": 0.99},
            {**shares, "dataset": "elsewhere", "same_answers": 0.6, "same_outcomes": 0.7},
        ]
        noise = {"same_answers": 0.6, "same_outcomes": 0.7, "score_shift": 0.01, "measured": measured}
        record["models"][0].update(noise=noise)
        return own

    own = []
    reports.edit("good", lambda record: own.append(measure(record)))
    powers = rows(audiobench, "good", "--drop", "3pp")
    assert powers["calls/digits"]["flips"] == pytest.approx(0.01)
    assert powers["calls/digits"]["flips_from"] == f"the model's noise floor on {own[0]}"
    reports.edit("good", lambda record: record["models"][0]["noise"]["measured"].pop(0))
    elsewhere = rows(audiobench, "good", "--drop", "3pp")["calls/digits"]
    assert elsewhere["flips"] == pytest.approx(0.3)
    assert elsewhere["flips_from"] == "the model's noise floor on other data, the worst"


def test_word_errors_differ_between_runs_as_the_baselines_own_do_unless_flips_are_given(reports, audiobench):
    base = ["good", "--drop", "3pp", "--eval", "calls/words"]
    own, given = (rows(audiobench, *base, *more)["calls/words"] for more in ([], ["--flips", "2%"]))
    assert (own["flips"], given["flips"]) == (None, 0.02)
    # Flips are taken to come with a drop of whole answers, the most that can add to what varies.
    assert own["detectable"] < given["detectable"]
    assert "without flips it is assumed: two runs' scores are correlated by one half" in audiobench("power", *base)[1]


def test_samples_of_one_recording_are_worth_less_than_as_many_of_their_own(lab, audiobench):
    alone = lab.samples(60)
    together = [replace(one, metadata={**one.metadata, "recording": f"r{at // 6}"}) for at, one in enumerate(alone)]
    lab.run("alone", {"animals/all": alone}, says=lambda sample_id: int(sample_id[-3:]) // 6 % 3 > 0)
    lab.run("together", {"animals/all": together}, says=lambda sample_id: int(sample_id[-3:]) // 6 % 3 > 0)
    few, many = (rows(audiobench, name, "--drop", "10pp")["animals/all"] for name in ("alone", "together"))
    assert many["clusters"] == 10
    assert many["needed"] > few["needed"]


def test_where_flips_dominate_a_larger_drop_is_advised(lab, audiobench):
    lab.run("a")
    found = rows(audiobench, "a", "--drop", "1.1pp", "--flips", "30%")["animals/all"]
    said = "a drop of 1.1pp needs more than 100 times the present samples, since 30 % of them flip: look for a larger"
    assert found["note"].startswith(said)


def test_a_drop_within_the_margin_is_never_seen(lab, audiobench):
    lab.run("a")
    found = rows(audiobench, "a", "--drop", "1pp")["animals/all"]
    assert found["needed"] is None
    assert found["note"] == "the drop is within the margin: no number of samples shows it"


def test_a_drop_that_is_more_than_there_is_to_lose_needs_no_number_of_samples(lab, audiobench):
    lab.run("a", says=lambda sample_id: int(sample_id[-3:]) % 10 == 0)
    found = rows(audiobench, "a", "--drop", "20pp")["animals/all"]
    assert (found["needed"], found["note"]) == (None, "it is at 0.1, so it cannot drop by so much")


def test_flips_are_not_counted_between_runs_that_were_asked_otherwise(lab, audiobench):
    lab.run("a")
    lab.run("b", epochs=2)
    code, out, err = audiobench("power", "a", "--drop", "5pp", "--against", "b")
    assert (code, out) == (4, "")
    assert "the number of epochs is 1 in the baseline and 2 here" in err


def test_markdown_and_csv_hold_the_same_rows(reports, audiobench):
    _, out, _ = audiobench("power", "good", "--drop", "2pp", "--format", "csv")
    found = list(csv.DictReader(io.StringIO(out)))
    assert [one["eval"] for one in found] == ["calls/digits", "calls/words"]
    _, out, _ = audiobench("power", "good", "--drop", "2pp", "--format", "markdown")
    assert "| eval | n | clusters | flips | MDE | needed |" in out
    assert "| calls/digits accuracy | 80 |" in out


def test_a_hostile_name_moves_no_cursor_and_is_no_formula(lab, audiobench):
    lab.run("a", {"=1+1/\x1b[31m|x": lab.samples(8)})
    for format_ in ("table", "markdown", "csv"):
        _, out, _ = audiobench("power", "a", "--drop", "2pp", "--format", format_)
        assert "\x1b" not in out
    assert "\n'=1+1/" in out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["good", "--drop", "2%"], "'2%' is not a margin"),
        (["nowhere", "--drop", "2pp"], "there is no baseline or run 'nowhere'"),
        (["good", "--drop", "2pp", "--eval", "sakura*"], "no eval of the run good matches 'sakura*'"),
        (["good", "--drop", "2pp", "--metric", "bleu"], "no eval here measures 'bleu'; they measure accuracy"),
        (["good", "--max-drop", "50pp"], "no usual drop is more than the margin of 50pp: give one by --drop"),
        (["good", "--drop", "2pp", "--power", "0.04"], "a power of 0.04 is chance alone"),
        (["good", "--drop", "2pp", "--flips", "1%", "--against", "poor"], "leave one away"),
    ],
)
def test_a_mistake_is_one_sentence(reports, audiobench, arguments, says):
    code, out, err = audiobench("power", *arguments)
    assert (code, out) == (4, "")
    assert says in err
    assert err.count("\n") == 1
