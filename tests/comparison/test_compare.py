"""Runs held against the first of them: who, which lines, what is refused."""

import csv
import io
import json
import re
from dataclasses import replace

import pytest

from pytest_audiobench import multiple_choice, transcription
from pytest_audiobench.audio import edits
from pytest_audiobench.cli import _options
from pytest_audiobench.comparison import mismatches


def every(number):
    """Right but for every ``number``-th sample."""
    return lambda sample_id: int(sample_id[-3:]) % number > 0


def lines(audiobench, *arguments):
    code, out, _ = audiobench("compare", *arguments, "--format", "json")
    assert code == 0
    return json.loads(out)["lines"]


def test_two_runs_are_held_against_each_other_sample_by_sample(lab, audiobench):
    lab.run("a", says=every(10))
    lab.run("b", says=every(4))
    code, out, err = audiobench("compare", "reports/a", "reports/b/run.json")
    assert (code, err) == (0, "")
    assert "animals/all accuracy by letters\n" in out
    assert "    A  90.0 %" in out
    assert "B  75.0 %" in out
    assert "8 / 2" in out
    assert "change: B \N{MINUS SIGN} A in percentage points (pp), on the samples both answered;" in out
    assert "shown to be better or worse than reports/a on 1 eval; undecided (?) on 1: animals/all." in flat(out)


def flat(text):
    return " ".join(text.split())


def test_the_answer_stands_before_the_table_counts_evals_and_tells_the_pooled_line_apart(lab, audiobench):
    evals = {f"animals/{name}": lab.samples(40, prefix=name) for name in ("one", "two", "three")}
    lab.run("a", evals, says=lambda sample_id: not sample_id.startswith("o"))
    lab.run("b", evals, says=lambda sample_id: not sample_id.startswith("th") or sample_id > "three009")
    _, out, _ = audiobench("compare", "a", "b")
    said = (
        "b is shown to be better (▲) than a on 1 of 3 evals, and worse (✗) on 1; undecided (?) on 1: animals/two; "
        "pooled: animals accuracy +25.0 pp (▲)."
    )
    assert said in flat(out)
    assert flat(out).index(said) < flat(out).index("value interval")
    assert said in audiobench("compare", "a", "b", "--format", "markdown")[1].replace("\\", "")
    _, out, _ = audiobench("compare", "b", "a", "b", "--metrics", "all")
    said = "a is shown to be better (▲) than A: b (b) on 1 of 6 lines, and worse (✗) on 1; undecided (?) on 4: "
    assert f"{said}animals/one coverage by letters, animals/two accuracy by letters, " in flat(out)


def test_a_drop_is_worse_than_the_first_whichever_comes_first(lab, audiobench):
    lab.run("a", says=every(10))
    lab.run("b", says=every(4))
    (there,), (back,) = lines(audiobench, "a", "b"), lines(audiobench, "b", "a")
    assert there["drop"] == pytest.approx(0.15)
    assert back["drop"] == pytest.approx(-0.15)
    assert (there["worse"], there["better"]) == (back["better"], back["worse"]) == (8, 2)


def test_many_runs_are_all_held_against_the_first(lab, audiobench):
    for name, number in (("a", 50), ("b", 10), ("c", 2)):
        lab.run(name, says=every(number))
    found = lines(audiobench, "a", "b", "c")
    assert [(one["first"], one["other"]) for one in found] == [("a", "b"), ("a", "c")]
    assert [one["lines"] for one in found] == [2, 2]
    assert found[1]["status"] == "regressed"


def test_p_values_are_adjusted_over_all_lines_beside_the_verdicts(lab, audiobench):
    lab.run("a")
    lab.run("b", says=every(4))
    lab.run("c", says=every(9))
    found = sorted(lines(audiobench, "a", "b", "c"), key=lambda one: one["p"])
    assert found[0]["p_holm"] == pytest.approx(min(1.0, 2 * found[0]["p"]))
    assert found[1]["p_holm"] == pytest.approx(max(found[0]["p_holm"], found[1]["p"]))


def test_models_are_chosen_by_a_pattern(lab, audiobench):
    lab.run("a", model="base")
    lab.run("b", model="tuned")
    code, _, err = audiobench("compare", "a", "b", "--model", "base")
    assert code == 4
    assert err == "audiobench: two models are needed for a comparison, and there is only base of a: name another run\n"


def test_the_models_of_one_run_are_compared_with_one_another(reports, audiobench):
    found = lines(audiobench, "both", "--eval", "*digits")
    assert [(one["first_model"], one["other_model"], one["status"]) for one in found] == [
        ("listener", "chance", "regressed")
    ]


def test_a_suite_is_pooled_over_its_evals_pair_by_pair(lab, audiobench):
    evals = {"animals/near": lab.samples(20, "n"), "animals/far": lab.samples(60, "f")}
    lab.run("a", evals)
    lab.run("b", evals, says=every(4))
    near, far, pooled = lines(audiobench, "a", "b")
    assert [one["eval"] for one in (near, far, pooled)] == ["animals/near", "animals/far", None]
    assert pooled["pairs"] == near["pairs"] + far["pairs"] == 80
    assert pooled["worse"] == near["worse"] + far["worse"] == 20
    assert pooled["lines"] == 3


def test_a_suite_of_which_one_model_gave_the_same_answers_has_not_changed(lab, audiobench):
    evals = {"animals/near": lab.samples(20, "n"), "animals/far": lab.samples(60, "f")}
    lab.run("a", evals, says=every(10), model="m")
    lab.run("b", evals, says=every(10), model="m")
    found = lines(audiobench, "a", "b")
    assert {(one["status"], one["method"]) for one in found} == {("pass", "identity")}
    lab.run("c", evals, says=every(9), model="m")
    assert "identity" not in {one["method"] for one in lines(audiobench, "a", "c")}


def test_one_recording_asked_in_two_evals_is_one_cluster_of_the_suite(lab, audiobench):
    evals = {"animals/single": lab.samples(20), "animals/multi": lab.samples(20)}
    lab.run("a", evals)
    lab.run("b", evals, says=every(4))
    *_, pooled = lines(audiobench, "a", "b")
    assert (pooled["pairs"], pooled["clusters"]) == (40, 20)


def test_why_few_clusters_have_no_test_is_said_once(lab, audiobench):
    all_ = enumerate(lab.samples(36))
    own = [replace(one, metadata={"recording": f"r{number % 6}", "hop": "one"}) for number, one in all_]
    lab.run("a", {"animals/all": own}, says=every(2))
    lab.run("b", {"animals/all": own}, says=every(3))
    _, out, _ = audiobench("compare", "a", "b")
    said = " ".join(out.split())
    why = "no test: 6 clusters, below the 10 at which it is known to hold; clips of others are needed, or runs without"
    assert said.count(why) == 1
    assert "? B animals/all accuracy by letters: no test" in said


def test_a_suite_is_pooled_over_the_evals_that_all_have_and_says_so(lab, audiobench):
    evals = {f"animals/{name}": lab.samples(20, name) for name in ("near", "far", "old")}
    lab.run("a", evals)
    lab.run("b", {name: own for name, own in evals.items() if "old" not in name})
    (pooled,) = [one for one in lines(audiobench, "a", "b") if one["eval"] is None]
    assert (pooled["pairs"], pooled["first_n"]) == (40, 40)
    _, out, _ = audiobench("compare", "a", "b")
    assert "note: animals is pooled over the 2 evals that all have" in out


def test_groups_are_lines_of_their_own_where_they_are_wanted(lab, audiobench):
    lab.run("a")
    lab.run("b", says=every(4))
    assert [one["group"] for one in lines(audiobench, "a", "b")] == [""]
    assert [one["group"] for one in lines(audiobench, "a", "b", "--groups", "hop")] == ["", "hop=multi", "hop=single"]
    assert [one["group"] for one in lines(audiobench, "a", "b", "--groups", "all")] == ["", "hop=multi", "hop=single"]


def test_metrics_and_scorers_are_chosen_by_name(lab, audiobench):
    protocol = multiple_choice().with_scorers("letters", "air-bench")
    lab.run("a", protocol=protocol)
    lab.run("b", protocol=protocol, says=every(4))
    chosen = lines(audiobench, "a", "b", "--metrics", "accuracy,coverage", "--scorers", "all")
    read = {(one["scorer"], one["metric"]) for one in chosen}
    assert {("letters", "accuracy"), ("air-bench", "accuracy"), ("letters", "coverage")} <= read
    assert {one["scorer"] for one in lines(audiobench, "a", "b")} == {"letters"}


def test_a_word_error_rate_that_runaways_hide_is_told_beside_the_rate_that_they_do_not_move(lab, audiobench):
    words = [replace(one, choices=(), reference="one two three four") for one in lab.samples(40)]

    def saying(right, runaway):
        return lambda id_: "word " * 200 if id_ in runaway else "one two three four" if id_ in right else "one two"

    ids = [one.id for one in words]
    for name, right, runaway in (("a", ids[:36], ()), ("b", ids[:30], ids[38:])):
        lab.run(name, {"words/all": words}, says=saying(right, runaway), protocol=transcription())
    code, out, _ = audiobench("compare", "a", "b", "--gate")
    said = " ".join(out.split())
    assert code == 0
    assert "undecided (?) on 1: words/all" in said
    assert "? B words/all wer by wer-basic: " in said
    assert "; runaway answers dominate: look at them first, and also gate wer_trimmed" in said
    (line,) = lines(audiobench, "a", "b", "--metrics", "wer_trimmed")
    assert (line["status"], line["value"]) == ("regressed", pytest.approx((8 * 2 + 2 * 4) / 160))


def test_a_share_of_answers_is_compared_whether_or_not_it_is_nothing(lab, audiobench):
    lab.run("a")
    lab.run("b", says=lambda sample_id: "" if int(sample_id[-3:]) % 4 == 0 else True)
    found = {one["metric"]: one for one in lines(audiobench, "a", "b", "--metrics", "all")}
    assert (found["empty"]["first_value"], found["empty"]["value"], found["empty"]["worse"]) == (0.0, 0.25, 10)
    assert audiobench("compare", "b", "a", "--metrics", "all", "--gate")[0] == 0
    assert lines(audiobench, "a", "b", "--metrics", "loop")[0]["value"] == 0.0


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--metrics", "accurracy", "no eval has the metric 'accurracy'; there is accuracy"),
        ("--metrics", "errors", "no eval has the metric 'errors'"),
        ("--scorers", "leters", "no eval has the scorer 'leters'; there is letters"),
        ("--groups", "speaker", "no eval has the group 'speaker'; there is hop"),
        ("--eval", "birds*", "no eval of a, b matches 'birds*'; there is"),
        ("--max-drop", "1%", "'1%' is not a margin"),
        ("--model", "x*", "no model of a, b matches 'x*'; there are a, b"),
    ],
)
def test_a_choice_that_fits_nothing_is_one_sentence(lab, audiobench, option, value, said):
    lab.run("a")
    lab.run("b")
    code, out, err = audiobench("compare", "a", "b", option, value)
    assert (code, out) == (4, "")
    assert said in err
    assert err.count("\n") == 1


def test_what_is_no_run_is_one_sentence(lab, audiobench):
    lab.run("a")
    code, _, err = audiobench("compare", "a", "nowhere")
    assert code == 4
    assert "nowhere" in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("level", ["0", "1", "nan", "much"])
def test_a_level_that_is_none_is_refused(lab, audiobench, level, capsys):
    with pytest.raises(SystemExit) as ended:
        audiobench("compare", "a", "b", "--alpha", level)
    assert ended.value.code == 2
    assert "is not a level" in capsys.readouterr().err


@pytest.mark.parametrize("out", ["nowhere/c.csv", "."])
def test_a_place_that_cannot_be_written_is_told_before_any_work(lab, audiobench, out, capsys):
    with pytest.raises(SystemExit) as ended:
        audiobench("compare", "no run", "no run", "--out", out)
    assert ended.value.code == 2
    assert "folder" in capsys.readouterr().err


def test_a_metric_of_a_conftest_is_named_and_not_compared(lab, audiobench):
    for name in ("a", "b"):
        folder = lab.run(name)
        text = (folder / "run.json").read_text()
        (folder / "run.json").write_text(text.replace('"name": "accuracy"', '"name": "homemade"'))
    code, _, err = audiobench("compare", "a", "b")
    assert code == 4
    assert "homemade of animals/all is not compared: it is registered by a conftest.py" in err
    _, out, _ = audiobench("compare", "a", "b", "--metrics", "all")
    assert "note: homemade of animals/all is not compared" in out
    assert "animals/all coverage by letters" in out


def test_evals_on_one_side_only_are_named(lab, audiobench):
    common = {"animals/all": lab.samples(40)}
    lab.run("a", {**common, "animals/old": lab.samples(10)})
    lab.run("b", {**common, "animals/new": lab.samples(10)})
    _, out, _ = audiobench("compare", "a", "b")
    assert "note: only in A (a): animals/old (not in B)" in out
    assert "note: only in B (b): animals/new (not in A)" in out


def test_runs_without_a_common_eval_are_refused(lab, audiobench):
    lab.run("a", {"animals/old": lab.samples(10)})
    lab.run("b", {"animals/new": lab.samples(10)})
    code, _, err = audiobench("compare", "a", "b")
    assert code == 4
    assert "A (a) and B (b) have no eval in common: A has animals/old; B has animals/new" in err


# --- what went in must be the same


def changed(kind):
    """The samples and the options of a run in which ``kind`` of what goes in differs, from sample s017 on."""

    def make(lab):
        own = lab.samples(40)
        protocol, bench = None, {}
        if kind == "audio":
            clips = tuple(clip.edited(edits.gain(-3.0)) for clip in own[17].clips)
            own[17] = replace(own[17], clips=clips)
        elif kind == "question":
            own[17] = replace(own[17], question="Which bird is heard?")
        elif kind == "choices":
            own[17] = replace(own[17], choices=("cat", "dog", "owl", "hen"))
        elif kind == "metadata":
            own[17] = replace(own[17], metadata={**own[17].metadata, "hop": "none"})
        elif kind == "gone":
            del own[17]
        elif kind == "prompts":
            protocol = multiple_choice(prompt="{question} {options} Be brief.")
        elif kind == "settings":
            protocol = multiple_choice(max_new_tokens=8)
        elif kind == "seeds":
            bench["epochs"] = 2
        elif kind == "protocols":
            protocol = multiple_choice().with_scorers("air-bench")
        return {"evals": {"animals/all": own}, "protocol": protocol, **bench}

    return make


MISMATCHES = [
    ("audio", "audio", 'samples["s017"].audio[0].key is "'),
    ("question", "data", 'samples["s017"].question is "Which animal is heard?" in A and "Which bird is heard?" in B'),
    ("choices", "data", 'samples["s017"].choices[2] is "cow" in A and "owl" in B'),
    ("metadata", "data", 'samples["s017"].metadata.hop is "multi" in A and "none" in B'),
    ("gone", "data", 'samples["s017"] is "there" in A and nothing in B'),
    ("prompts", "prompts", "].prompt[0].parts[1].text is "),
    ("settings", "settings", "settings.max_new_tokens is nothing in A and 8 in B"),
    ("seeds", "seeds", "epochs is 1 in A and 2 in B"),
    ("protocols", "protocols", "protocols.letters is "),
]


@pytest.mark.parametrize(("kind", "component", "says"), MISMATCHES)
def test_runs_that_were_asked_otherwise_are_refused_with_the_first_difference(lab, audiobench, kind, component, says):
    lab.run("a")
    lab.run("b", **changed(kind)(lab))
    code, out, err = audiobench("compare", "a", "b")
    assert (code, out) == (4, "")
    assert f"animals/all: hashes.{component}: " in err
    assert says in err
    assert f"--allow-mismatch {component}" in err


@pytest.mark.parametrize(("kind", "component"), [(kind, component) for kind, component, _ in MISMATCHES[:-1]])
def test_they_are_compared_all_the_same_where_that_is_allowed_and_the_header_says_so(lab, audiobench, kind, component):
    lab.run("a")
    lab.run("b", **changed(kind)(lab))
    allowed = ("--allow-mismatch", component, "--allow-mismatch", "prompts", "--allow-mismatch", "protocols")
    code, out, _ = audiobench("compare", "a", "b", *allowed)
    assert code == 0
    assert f"NOT THE SAME {component.upper()}, compared anyway" in out
    assert out.index("NOT THE SAME") < out.index("better or worse")
    (line,) = lines(audiobench, "a", "b", *allowed)
    assert line["pairs"] == (39 if kind == "gone" else 40)


def test_what_may_be_allowed_is_what_is_looked_at():
    assert _options.COMPONENTS == mismatches.COMPONENTS


@pytest.mark.parametrize("arguments", [[], ["--allow-mismatch", "protocols"]])
def test_figures_by_different_encoders_are_never_compared(lab, audiobench, by_encoder, arguments):
    lab.run("a", protocol=by_encoder("static(weights:1)"))
    lab.run("b", protocol=by_encoder("minilm(weights:2)"))
    lab.run("c", protocol=by_encoder("static(weights:1)"))
    code, out, err = audiobench("compare", "a", "b", *arguments)
    assert (code, out) == (4, "")
    assert "the encoder of letters is static(weights:1) in A (a) and minilm(weights:2) in B (b)" in err
    assert "figures by different encoders are never compared" in err
    assert audiobench("compare", "a", "c", *arguments)[0] == 0


def test_the_same_answers_read_by_another_version_are_not_called_unchanged(lab, audiobench):
    lab.run("a", model="m")
    folder = lab.run("b", model="m")
    record = folder / "run.json"
    record.write_text(record.read_text().replace("mcq:letters|v:1", "mcq:letters|v:2"))
    scored = folder / "scored_predictions.jsonl"
    scored.write_text(scored.read_text().replace('{"correct":1.0}', '{"correct":0.0}'))
    (line,) = lines(audiobench, "a", "b", "--allow-mismatch", "protocols")
    assert (line["status"], line["drop"]) == ("regressed", 1.0)


def test_allowing_one_component_allows_no_other(lab, audiobench):
    lab.run("a")
    lab.run("b", **changed("question")(lab))
    code, _, err = audiobench("compare", "a", "b", "--allow-mismatch", "data")
    assert code == 4
    assert "hashes.prompts" in err
    assert "What differs, in how many evals: prompts (1)" in err


def test_all_differing_components_are_named(lab, audiobench):
    lab.run("a")
    lab.run("b", **changed("question")(lab))
    _, _, err = audiobench("compare", "a", "b")
    assert "What differs, in how many evals: data (1), prompts (1)" in err


def test_a_limited_run_is_compared_with_a_full_one_on_what_both_took(lab, audiobench):
    lab.run("a", says=every(10))
    lab.run("b", says=every(4), limit=15)
    code, out, _ = audiobench("compare", "a", "b")
    assert code == 0
    assert "LIMITED: B (b) took part of the samples; compared on those that all took" in out
    assert "A (a) is compared on 15 of 40 answers in 1 eval" in out
    (line,) = lines(audiobench, "a", "b")
    assert (line["pairs"], line["first_n"], line["n"]) == (15, 15, 15)


def test_a_limited_run_of_other_texts_is_refused(lab, audiobench):
    lab.run("a", {"animals/all": [replace(one, question="Which bird?") for one in lab.samples(40)]})
    lab.run("b", limit=15)
    code, _, err = audiobench("compare", "a", "b")
    assert code == 4
    assert "].question is" in err


def test_a_sample_that_could_not_be_asked_is_no_mismatch(lab, audiobench):
    lab.run("a")
    lab.run("b", says=lambda sample_id: None if sample_id == "s003" else True)
    (line,) = lines(audiobench, "a", "b")
    assert (line["pairs"], line["left_out"], line["n"]) == (39, 1, 39)


def test_what_was_not_answered_or_not_paired_stands_below_with_the_scorers_signature(lab, audiobench):
    lab.run("a", says=lambda sample_id: "hard to say" if sample_id < "s010" else True)
    lab.run("b", says=lambda sample_id: None if sample_id == "s020" else True)
    _, out, _ = audiobench("compare", "a", "b")
    assert "\nparse rate in animals/all by letters A: 75.0 %, B: 97.5 %" in out
    _, out, _ = audiobench("compare", "b", "a")
    assert "\n! parse rate in animals/all by letters fell by 22.5 pp: A: 97.5 %, B: 75.0 %\n" in out
    assert "unmatched with B in animals/all by letters: 1 errors (s020)" in out
    assert "letters: mcq:letters|v:1|" in out
    (line,) = lines(audiobench, "a", "b")
    assert (line["first_answered"], line["answered"], line["left_out"]) == (0.75, 0.975, 1)
    assert line["signature"].startswith("mcq:letters|v:1|")


def test_too_many_that_could_not_be_asked_are_not_comparable(lab, audiobench):
    lab.run("a")
    lab.run("b", says=lambda sample_id: None if sample_id < "s010" else True)
    code, out, _ = audiobench("compare", "a", "b", "--gate")
    assert code == 6
    assert "not comparable (≠) on 1: animals/all" in flat(out)
    assert "10 could not be asked on one side or both" in out.replace("\n  ", " ")


# --- baselines


def test_a_run_is_held_against_a_baselines_file(lab, audiobench):
    lab.run("a", says=every(10))
    lab.run("b", says=every(4))
    audiobench("baseline", "update", "a", "--out", "main.json")
    (of_file,), (of_run,) = lines(audiobench, "main.json", "b"), lines(audiobench, "a", "b")
    assert {**of_file, "first": "a"} == of_run


def test_last_says_which_run_it_was(lab, audiobench):
    lab.run("a")
    lab.run("b", started="2026-11-21T09:00:00Z")
    _, out, _ = audiobench("compare", "last", "a")
    assert out.startswith("A  b, scripted:b, in last (b)\n")


def test_of_a_baseline_without_texts_digests_are_told(lab, audiobench):
    lab.run("a", **changed("prompts")(lab))
    lab.run("b")
    audiobench("baseline", "update", "a", "--out", "main.json")
    code, _, err = audiobench("compare", "main.json", "b")
    assert code == 4
    assert "hashes.prompts: samples[" in err
    lab.run("c", **changed("metadata")(lab))
    _, _, err = audiobench("compare", "main.json", "c", "--allow-mismatch", "prompts", "--allow-mismatch", "protocols")
    assert "hashes.data differs; the texts are not kept in both runs, so the field is unknown" in err


# --- as a gate


def test_without_gate_a_regression_is_no_failure(lab, audiobench):
    lab.run("a")
    lab.run("b", says=every(2))
    assert audiobench("compare", "a", "b")[0] == 0
    assert audiobench("compare", "a", "b", "--gate")[0] == 1


def test_a_gate_passes_what_did_not_regress(lab, audiobench):
    lab.run("a", says=every(2))
    lab.run("b")
    assert audiobench("compare", "a", "b", "--gate")[0] == 0


def test_a_gate_does_not_pass_over_an_eval_that_is_missing(lab, audiobench):
    lab.run("a", {"animals/all": lab.samples(40), "animals/old": lab.samples(10)})
    lab.run("b", {"animals/all": lab.samples(40)})
    assert audiobench("compare", "a", "b", "--gate")[0] == 6
    assert audiobench("compare", "b", "a", "--gate")[0] == 0


# --- forms of output


def test_the_csv_reads_back_as_a_row_a_line_with_raw_numbers(lab, audiobench, tmp_path):
    pandas = pytest.importorskip("pandas")
    lab.run("a", says=every(10))
    lab.run("b", says=every(4))
    code, out, err = audiobench("compare", "a", "b", "--groups", "hop", "--format", "csv", "--out", "c.csv")
    assert (code, out) == (0, "")
    assert "written to c.csv" in err
    frame = pandas.read_csv(tmp_path / "c.csv")
    assert len(frame) == 3
    assert frame["value"][0] == 0.75
    assert frame["drop"][0] == pytest.approx(0.15)
    assert frame["pairs"].dtype.kind == "i"
    assert frame["status"].isin(["pass", "regressed", "inconclusive"]).all()


HOSTILE = '=cmd|" /C calc"!A0 <script>alert(1)</script> | [x](javascript:1)\x1b[31m\n' + "long" * 200


def test_hostile_names_do_nothing_in_any_form(lab, audiobench):
    own = [
        replace(one, metadata={**one.metadata, "hop": HOSTILE if n % 2 else "+1"})
        for n, one in enumerate(lab.samples(40))
    ]
    evals = {f"animals/{HOSTILE}": own}
    lab.run("a", evals)
    lab.run("b", evals, says=every(4))
    _, table, _ = audiobench("compare", "a", "b", "--groups", "all")
    assert "\x1b" not in table
    assert max(map(len, table.splitlines()[:-1])) <= 80  # the last is a command to copy
    _, markdown, _ = audiobench("compare", "a", "b", "--groups", "all", "--format", "markdown")
    assert "<script" not in markdown
    assert "](javascript" not in markdown
    assert all(line.count("|") - line.count("\\|") == 11 for line in markdown.splitlines() if line.startswith("|"))
    _, text, _ = audiobench("compare", "a", "b", "--groups", "all", "--format", "csv")
    rows = list(csv.reader(io.StringIO(text)))
    assert len(rows) == 4
    assert all(len(row) == len(rows[0]) for row in rows)
    assert not any(cell.lstrip().startswith(("=", "@", "+")) for row in rows for cell in row)
    _, plain, _ = audiobench("compare", "a", "b", "--groups", "all", "--format", "json")
    assert json.loads(plain)["lines"][0]["eval"] == f"animals/{HOSTILE}"


def test_markdown_cuts_no_perturbations(lab, audiobench):
    evals = {f"animals/{'x' * 280}": lab.samples(8)}
    lab.run("a", evals)
    lab.run("b", evals, says=lambda sample_id: "")
    _, out, _ = audiobench("compare", "a", "b", "--format", "markdown")
    assert "by letters fell by 100.0 pp: A: 100.0 %, B: 0.0 %" in out


def test_a_wide_table_puts_its_intervals_below(lab, audiobench, monkeypatch):
    from pytest_audiobench.comparison import table_cells

    lab.run("a", says=every(10))
    lab.run("b", says=every(4))
    monkeypatch.setattr(table_cells, "WIDTH", 60)
    _, out, _ = audiobench("compare", "a", "b")
    rows = out[out.index("         ") : out.index("\n\n", out.index("flips  pairs"))].splitlines()
    assert all(len(row) <= 60 for row in rows)
    assert any(row.strip().startswith("76.4 to ") or " to " in row for row in rows)


def test_nothing_is_asked_of_the_terminal_where_a_program_reads(lab, audiobench):
    lab.run("a", {"animals/all": lab.samples(40), "animals/old": lab.samples(10)})
    lab.run("b", {"animals/all": lab.samples(40)})
    _, out, err = audiobench("compare", "a", "b", "--format", "csv")
    assert "only in" not in out
    assert "note: only in A (a): animals/old" in err


def test_an_edited_record_is_one_sentence(lab, audiobench):
    lab.run("a")
    folder = lab.run("b")
    record = json.loads((folder / "run.json").read_text())
    del record["items"][0]["scorers"][0]["signature"]
    (folder / "run.json").write_text(json.dumps(record))
    code, _, err = audiobench("compare", "a", "b")
    assert code == 4
    assert err.count("\n") == 1


def test_an_edited_row_is_one_sentence(lab, audiobench):
    lab.run("a")
    folder = lab.run("b", **changed("prompts")(lab))
    path = folder / "predictions.jsonl"
    path.write_text(path.read_text().replace('"prompt":[["user",', '"prompt":[[', 1))
    code, _, err = audiobench("compare", "a", "b")
    assert code == 4
    assert "predictions.jsonl, line 1: prompt 1 must be a list of length 2, not of 1: the file was cut or edited" in err
    assert err.count("\n") == 1


def test_a_run_that_is_not_whole_says_so_above_its_numbers(lab, audiobench):
    lab.run("a")
    folder = lab.run("b")
    record = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**record, "exit_status": 2}))
    _, out, _ = audiobench("compare", "a", "b")
    assert "B (b) is not whole: the run was interrupted (exit code 2)" in out


def test_where_fewer_answers_are_parsed_the_first_sentence_says_so(lab, audiobench):
    lab.run("before")
    lab.run("after", says=lambda sample_id: "hm" if int(sample_id[1:]) % 2 else True, model="before")
    assert "fewer answers parsed (!) on 1: animals/all." in flat(audiobench("compare", "before", "after")[1])
    assert "fewer answers" not in audiobench("compare", "after", "before")[1]


def test_a_comparison_is_a_page_where_its_file_is_called_so(lab, audiobench):
    lab.run("before")
    lab.run("after", says=lambda sample_id: int(sample_id[1:]) % 2 == 0, model="before")
    code, out, _ = audiobench("compare", "before", "after", "--out", lab.folder / "x.html")
    page = (lab.folder / "x.html").read_text()
    said = "after is shown to be worse (✗) than before on 1 of 1 eval, and better (▲) on none."
    assert (code, said in out, "pairs" in out) == (0, True, False)
    assert page.startswith("<!doctype html>")
    assert f'"answers":["{said}"]' in page


def test_two_runs_end_with_the_command_that_shows_the_samples_that_changed(lab, audiobench):
    lab.run("before")
    given = ["pytest", "evals/my own.py", "--ab-run", "after", "--ab-baseline=last", "-q"]
    lab.run("after", says=every(4), command=given)
    shown = "pytest 'evals/my own.py' -q --ab-run=after-against-before --ab-baseline=before"
    last = audiobench("compare", "before", "after")[1].splitlines()[-1]
    assert last == f"see the samples that changed, with sound: {shown} asks nothing again"
    audiobench("compare", "before", "after", "--out", lab.folder / "x.html")
    assert f'"flips":"{shown}"' in (lab.folder / "x.html").read_text().replace("\\u0027", "'")
    lab.run("same", command=given)
    lab.run("asked", says=every(4), command=[*given, "--ab-refresh"])
    for others in (["same"], ["asked"], ["after", "same"]):
        assert "with sound" not in audiobench("compare", "before", *others)[1]


def test_an_option_given_again_adds_to_what_it_chose(lab, audiobench):
    evals = {f"animals/{name}": lab.samples(20, prefix=name) for name in ("one", "two", "three")}
    for run in "ab":
        lab.run(run, evals)
    chosen = ("--eval", "*/one", "--eval", "*/two", "--metric", "accuracy", "--metric", "coverage")
    found = {(line["eval"], line["metric"]) for line in lines(audiobench, "a", "b", *chosen) if line["eval"]}
    assert found == {(f"animals/{name}", metric) for name in ("one", "two") for metric in ("accuracy", "coverage")}
    assert {line["eval"] for line in lines(audiobench, "a", "b")} >= set(evals)
    parts = ("--eval", "One", "--eval", "two")
    assert {line["eval"] for line in lines(audiobench, "a", "b", *parts)} == {"animals/one", "animals/two", None}


@pytest.mark.parametrize("chosen", [("one", "tree"), ("tree",)])
@pytest.mark.parametrize(
    "verb", ["compare a b", "table a b", "track reports --order time", "power a", "audit a b", "inspect a"]
)
def test_a_part_of_a_name_that_fits_nothing_is_refused_by_every_verb(lab, audiobench, verb, chosen):
    evals = {f"animals/{name}": lab.samples(9, prefix=name) for name in ("one", "three")}
    for run in "ab":
        lab.run(run, evals, model="base")
    code, out, err = audiobench(*verb.split(), *(word for name in chosen for word in ("--eval", name)))
    assert (code, out) == (4, "")
    assert err.endswith(" matches 'tree'; did you mean 'three'?\n")
    assert err.count("\n") == 1


def test_an_improvement_is_a_word_in_csv_and_one_adjusted_p_in_text(lab, audiobench):
    evals = {f"animals/{name}": lab.samples(40, prefix=name) for name in ("one", "two")}
    lab.run("a", evals, says=every(2))
    lab.run("b", evals)
    _, out, _ = audiobench("compare", "a", "b", "--format", "csv")
    assert {row["verdict"] for row in csv.DictReader(io.StringIO(out))} == {"improved"}
    _, out, _ = audiobench("compare", "a", "b")
    text = " ".join(out.split())
    assert "(0.05 shared by 3 comparisons: 2 of evals, 1 pooled)" in text
    assert "; improved: Holm-adjusted p below 0.05;" in text
    assert "better: Holm-adjusted p < 0.0001 (3 comparisons), significant below 0.05" in text
    assert not re.search(r"\bq [<=]", text)


def test_latex_is_refused_with_the_command_that_writes_it(lab, audiobench, capsys):
    with pytest.raises(SystemExit):
        audiobench("compare", "a", "b", "--format", "latex")
    assert "audiobench table RUN … --change --format latex" in " ".join(capsys.readouterr().err.split())


def test_an_unparsed_answer_is_marked_where_a_run_is_inspected(lab, audiobench):
    lab.run("a", says=lambda sample_id: "no idea of what it is, but it barks all night " * 3)
    _, out, _ = audiobench("inspect", "a")
    answer = "no idea of what it is, but it barks all night " * 3
    assert f"\n    reference A cat · answer “{answer}” (unparsed)\n" in out
    assert out.count("(unparsed)") == 20


@pytest.mark.parametrize("width", [40, 80])
def test_a_listed_answer_has_room_on_a_screen_of_any_width(lab, audiobench, monkeypatch, width):
    answer = "it may be a cat or a dog, nobody here could tell the two apart"
    lab.run("a", says=lambda sample_id: answer)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", str(width))
    _, out, _ = audiobench("inspect", "a", "--most", 2)
    listed = out.partition("40 wrong of 40 answers of animals/all;")[0]
    assert max(map(len, listed.splitlines())) <= width
    assert " ".join(listed.split()).count(f"reference A cat answer “{answer}” (unparsed)") == 2
    lab.run("b", says=lambda sample_id: "B" if sample_id < "s020" else "A")
    assert "\n  s003  A cat      B dog\n" in audiobench("inspect", "b", "--most", 20)[1]


def test_a_run_without_answers_of_what_is_chosen_is_no_empty_list(lab, audiobench):
    folder = lab.run("a")
    record = json.loads((folder / "run.json").read_text())
    skipped = {**record["items"][0], "eval": "birds", "outcome": "skipped", "message": "birds is not on this machine"}
    (folder / "run.json").write_text(json.dumps({**record, "items": [*record["items"], skipped]}))
    code, out, err = audiobench("inspect", "a", "--eval", "birds")
    assert (code, out) == (4, "")
    assert err == "audiobench: reports/a has no answers of birds: birds is not on this machine\n"
