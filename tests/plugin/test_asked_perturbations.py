"""Any eval asked under further perturbations, by ``--ab-perturbations``, a marker or its file: compared with itself,
gated as it is, and by what it loses.
"""

import json

import numpy as np
import pytest
import soundfile

EVALS = """
import pytest
from pytest_audiobench import dataset, listening, multiple_choice, perturb, perturbations, transcription

def test_digits(evaluate):
    evaluate(dataset("bundled", "digits"), multiple_choice())
    evaluate.require("accuracy >= 0.9")

def test_noisy(evaluate):
    evaluate(perturb(dataset("bundled", "digits"), *perturbations("named", "white-20dB")), multiple_choice())

def test_listening(evaluate):
    listening(evaluate, dataset("bundled", "digits"), multiple_choice(), samples=20)

def test_words(evaluate):
    evaluate(dataset("bundled", "transcription"), transcription())
"""
"""Of a plain eval, one with its own perturbation, one that compares evaluations, and one without options."""


@pytest.fixture
def run(pytester, monkeypatch):
    def ask(*arguments):
        result = pytester.runpytest("-q", "--ab-run=r", "--ab-refresh", *arguments)
        record = pytester.path / "reports" / "r" / "run.json"
        return result, json.loads(record.read_text()) if record.exists() else None

    pytester.makepyfile(test_questions=EVALS)
    return ask


def test_an_eval_is_compared_with_itself_under_each_and_its_thresholds_hold_of_it_as_it_is(run):
    result, record = run("-k", "digits", "--ab-perturbations=order,text", "--ab-limit=20")
    assert result.ret == 0, result.outlines
    names = ["clean", "order-1", "order-2", "order-3", "text"]
    assert [item["eval"] for item in record["items"]] == [
        "questions/digits",
        *(f"questions/digits[{name}]" for name in names[1:]),
    ]
    assert [len(item["verdicts"]) for item in record["items"]] == [1, 0, 0, 0, 0]
    (summary,) = [each for each in record["suites"][0]["perturbations"] if each["metric"] == "accuracy"]
    drops = {each["perturbation"]: each["drop"] for each in summary["differences"]}
    assert drops["text"] > 0.9
    assert all(drops[name] == 0.0 for name in names[1:-1])


def test_under_a_perturbation_only_a_rule_that_names_it_applies_and_a_note_says_so(run, pytester):
    rule = '[[threshold]]\neval = "questions/digits[{}]"\nrequire = ["accuracy >= 0"]\n'
    (pytester.path / "audiobench.toml").write_text("".join(map(rule.format, ("speed-0.9", "reverb"))))
    result, record = run("-k", "digits", "--ab-perturbations=white-10dB,reverb", "--ab-limit=20")
    assert result.ret == 0, result.outlines
    assert [len(item["verdicts"]) for item in record["items"]] == [1, 0, 1]
    (note,) = (note for note in record["notes"] if "no threshold applies" in note)
    assert note.startswith("white-10dB: ")
    assert '[[threshold]] with eval = "questions/digits[white-10dB]" in audiobench.toml' in note
    assert 'a test parametrized by perturbations("named", "clean", "white-10dB")' in note
    result.stdout.fnmatch_lines(["passed. All that is required was met (nothing is required of perturbed evals)*"])


def test_a_file_with_perturbations_of_its_own_is_asked_under_no_others(run, pytester):
    soundfile.write(pytester.path / "a.wav", np.sin(np.arange(8_000) * 0.1) / 3, 16_000)
    (pytester.path / "own.csv").write_text("audio,answer\na.wav,one\n")
    keys = 'manifest = "own.csv"\nprotocol = "transcription"\nperturbations = ["clean", "reverb"]\n'
    (pytester.path / "own.audiobench.toml").write_text(keys)
    result, record = run("own.audiobench.toml", "--ab-perturbations=white-10dB", "--ab-limit=4")
    result.assert_outcomes(passed=2)
    assert [item["eval"] for item in record["items"]] == ["own[clean]", "own[reverb]"]
    assert any(note.startswith("--ab-perturbations does not apply to files") for note in record["notes"])


def test_noise_at_a_ratio_is_not_applicable_to_a_silent_clip_which_is_counted_and_not_red(run, pytester):
    tone = np.sin(np.arange(8_000) * 0.1) / 3
    for name, sound in {"a": tone, "b": 0 * tone, "c": tone, "d": 0 * tone}.items():
        soundfile.write(pytester.path / f"{name}.wav", sound, 16_000)
    eval_ = 'protocol = "classification"\nchoices = "from answers"\nquestion = "Which?"\nmanifest = "{}.csv"\n'
    for name, clips in {"some": "abc", "silent": "bd"}.items():
        (pytester.path / f"{name}.csv").write_text("audio,answer\n" + "".join(f"{c}.wav,{c}\n" for c in clips))
        (pytester.path / f"{name}.audiobench.toml").write_text(eval_.format(name))
    result, record = run("some.audiobench.toml", "silent.audiobench.toml", "--ab-perturbations=white-10dB")
    # Where nothing is left nothing is measured.
    result.assert_outcomes(passed=3, failed=1)
    items = {item["eval"]: item for item in record["items"]}
    assert items["silent[white-10dB]"]["outcome"] == "failed"
    result.stdout.fnmatch_lines(["*2 of 2 samples could not be asked (b.wav:*"])
    item = items["some[white-10dB]"]
    assert (item["n"], item["asking"]["not_applicable"], item["errors"][0]["sample_id"]) == (3, 1, "b.wav")
    (warning,) = (text for text in item["warnings"] if "not applicable" in text)
    assert warning.startswith("white-10dB is not applicable to 1 of 3 samples: it is at a ratio to the clip's level")
    result.stdout.fnmatch_lines(["Incomplete: asking failed for 2 samples, *"])


def test_an_eval_with_perturbations_or_comparisons_of_its_own_is_asked_as_it_is(run):
    result, record = run("-k", "noisy or listening", "--ab-perturbations=text", "--ab-limit=20")
    assert result.ret == 0, result.outlines
    assert {item["dataset"] for item in record["items"] if "noisy" in item["eval"] and item["metrics"]} == {
        "bundled/digits+white-20dB"
    }
    result.assert_outcomes(passed=2, skipped=2)


def test_an_order_of_nothing_and_an_unknown_name_are_mistakes(run):
    result, _ = run("-k", "words", "--ab-perturbations=order")
    assert result.ret != 0
    result.stdout.fnmatch_lines(["*no sample has options to put in another order*"])
    result, _ = run("-k", "digits", "--ab-perturbations=oder")
    assert result.ret == 4
    (result.stdout if "oder" in result.stdout.str() else result.stderr).fnmatch_lines(
        ["*no perturbation is named 'oder'*audiobench list perturbations lists them all*"]
    )


def test_an_eval_whose_samples_do_not_say_where_speech_is_is_skipped_where_it_would_be_silenced(run):
    result, record = run("-k", "digits", "--ab-perturbations=without-speech-p100", "--ab-limit=4", "-rs")
    assert result.ret == 0, result.outlines
    result.assert_outcomes(passed=1, skipped=1)
    assert [item["outcome"] for item in record["items"]] == ["passed", "skipped"]
    result.stdout.fnmatch_lines(["*SKIPPED*no sample says where its speech is*"])


def orders_of(suite):
    (orders,) = suite.last()[0]["suites"][0]["orders"]
    return orders


def test_who_always_says_the_first_option_is_right_by_chance_in_every_order_and_leans_to_its_place(tones):
    result = tones.run("--ab-perturbations=order", deaf="yes")
    assert result.ret == 0, result.outlines
    orders = orders_of(tones)
    assert (orders["n"], orders["mean"]["value"], orders["worst"]["value"]) == (40, 0.25, 0.25)
    assert (orders["every"]["value"], orders["same"]["value"], orders["bias"]) == (0.0, 0.0, 0.75)
    assert {place["letter"]: (place["said"], place["true"]) for place in orders["places"]} == {
        "A": (1.0, 0.25),
        **dict.fromkeys("BCD", (0.0, 0.25)),
    }
    result.stdout.fnmatch_lines(["*bias to a place: 0.750, said A 100.0 %, B 0.0 %, C 0.0 %, D 0.0 %;*"])
    # A mean that weighs the text alone like an order of the options would say nothing.
    result.stdout.no_fnmatch_line("*mean of the*perturbations*")


def test_who_hears_says_the_same_in_every_order_and_a_sample_that_fails_in_one_is_in_none(tones):
    assert tones.run("--ab-perturbations=order").ret == 0
    orders = orders_of(tones)
    assert (orders["n"], orders["every"]["value"], orders["same"]["value"], orders["bias"]) == (40, 1.0, 1.0, 0.0)
    tones.run("--ab-perturbations=order", "--ab-refresh", unheard="tone-3")
    assert orders_of(tones)["n"] == 39


DECLARED = """
manifest = "data/tones.jsonl"
perturbations = ["order", "text"]
require = ["lift >= 50pp", "order_worst >= 90%"]
"""
MARKED = """
import pytest
from pytest_audiobench import manifest, multiple_choice

pytestmark = pytest.mark.audiobench(suite="hearing")

@pytest.mark.audiobench(perturbations=["order", "text"])
def test_tones(evaluate):
    evaluate(manifest("data/tones.jsonl"), multiple_choice())
    evaluate.require("lift >= 10pp", "lift.lower > 0", "order_worst >= 0.9", "order_same >= 99%", "order_bias <= 0.05")
"""
ORDERS = ["order-1", "order-2", "order-3"]


def rows_of(folder):
    return [json.loads(line) for line in (folder / "data" / "tones.jsonl").read_text().splitlines()]


def numbers_of(item):
    return {metric["name"]: metric["value"] for metric in item["metrics"] if not metric["group"]}


READ = """
import pytest
from pytest_audiobench import manifest, multiple_choice

@pytest.mark.audiobench(perturbations=["order", "text", "fragments", "windows"])
def test_tones(evaluate):
    result = evaluate(manifest("data/tones.jsonl"), multiple_choice())
    assert result["lift"] == 0.75
    assert result["lift"].lower > 0
    assert result["order_worst"] >= 0.9
    assert (result["some_part"], result["whole_clip"]) == (1.0, 0.0)
    evaluate.require("some_part >= 90%", "whole_clip <= 10%")
    evaluate.require("noise_less_silence >= -99pp", "late_less_early <= 99pp")

def test_plain(evaluate):
    result = evaluate(manifest("data/tones.jsonl"), multiple_choice())
    with pytest.raises(KeyError, match="needs the eval asked under fragments too"):
        result["whole_clip"]
"""


def test_what_an_eval_comes_to_beside_itself_asked_otherwise_is_read_and_required_like_any_metric(suite):
    suite.tones()
    suite.write(test_tones=READ)
    result = suite.run()
    assert result.ret == 0, result.outlines
    run, folder = suite.last()
    item = run["items"][0]
    assert {metric["name"] for metric in item["metrics"] if metric["scorer"] is None} == {
        *("lift", "order_worst", "some_part", "whole_clip", "noise_less_silence", "late_less_early")
    }
    assert [verdict["status"] for verdict in item["verdicts"]] == ["pass"] * 4
    aspects = {aspect["name"]: aspect["value"] for aspect in run["suites"][0]["aspects"]}
    figures = numbers_of(item)
    assert {name: figures[name] for name in aspects if name in figures} == {
        name: value for name, value in aspects.items() if name != "mid_less_early"
    }
    assert suite.audiobench("verify", folder).returncode == 0


def test_a_marker_asks_beside_and_its_figures_are_required_like_any_metric(suite):
    suite.tones()
    suite.write(test_tones=MARKED)
    result = suite.run()
    assert result.ret == 0, result.outlines
    run, _ = suite.last()
    assert [item["eval"] for item in run["items"]] == [
        "hearing/tones",
        *(f"hearing/tones[{name}]" for name in [*ORDERS, "text"]),
    ]
    assert len({item["hashes"]["input_hash"] for item in run["items"]}) == len(run["items"])
    figures = numbers_of(run["items"][0])
    assert {name: figures[name] for name in figures if name.startswith("order")} == {
        "order_worst": 1.0,
        "order_same": 1.0,
        "order_bias": 0.0,
    }
    assert figures["lift"] == 1.0 - numbers_of(run["items"][-1])["accuracy"] == 0.75
    distinct_texts = len({(tuple(row["choices"]), row["question"]) for row in rows_of(suite.path)})
    assert run["answers"]["asked"] == 4 * 40 + distinct_texts
    result = suite.run("--ab-refresh", deaf="yes")
    assert result.ret == 1
    told = result.stdout.str()
    assert "lift >= 10pp: +0.0 pp is not >= +10.0 pp" in told
    assert "order_worst >= 0.9: 25.0 % is not >= 90.0 %" in told
    assert "order_bias <= 0.05: 75.0 % is not <= 5.0 %" in told


def test_verify_recomputes_lift_and_orders_of_repeated_askings_that_some_orders_fail(suite):
    suite.tones()
    suite.write(test_tones=MARKED)
    suite.run("--ab-epochs=2", "--ab-max-errors=4", unheard="tone-3")
    run, folder = suite.last()
    assert 0.7 < numbers_of(run["items"][0])["lift"] < 0.8
    assert run["suites"][0]["orders"][0]["n"] == 2 * 39
    answer = suite.audiobench("verify", folder, "-v")
    assert answer.returncode == 0, answer.stdout
    assert "orders" in answer.stdout
    assert "robustness" in answer.stdout


def test_a_file_asks_beside_what_it_requires_of_its_eval_as_it_is(suite):
    suite.tones()
    (suite.path / "hear.audiobench.toml").write_text(DECLARED)
    result = suite.run()
    assert result.ret == 0, result.outlines
    run, _ = suite.last()
    assert [item["eval"] for item in run["items"]] == ["hear", *(f"hear[{name}]" for name in [*ORDERS, "text"])]
    assert [len(item["verdicts"]) for item in run["items"]] == [2, 0, 0, 0, 0]
    (pooled,) = run["suites"]
    assert (pooled["evals"], pooled["n"]) == (1, 40)
    result.stdout.fnmatch_lines(["to ask of one: 200 answers in 5 evals*"])
    again = suite.run()
    again.stdout.fnmatch_lines(["answers: 0 asked now, * from the store*"])


def test_a_list_that_says_where_clean_stands_is_a_grid_of_evals_of_their_own(suite):
    suite.tones()
    (suite.path / "hear.audiobench.toml").write_text(
        'manifest = "data/tones.jsonl"\nperturbations = ["clean", "order"]\nrequire = ["accuracy >= 0.9"]\n'
    )
    assert suite.run().ret == 0
    run, _ = suite.last()
    assert [item["eval"] for item in run["items"]] == [f"hear[{name}]" for name in ["clean", *ORDERS]]
    assert [len(item["verdicts"]) for item in run["items"]] == [1] * 4


@pytest.mark.parametrize(
    ("requirement", "asked"),
    [("lift >= 10pp", "text"), ("order_worst >= 0.5", "order"), ("whole_clip >= 5%", "fragments")],
)
def test_a_figure_that_is_not_asked_for_is_refused_before_the_first_request(suite, requirement, asked):
    suite.tones()
    (suite.path / "hear.audiobench.toml").write_text(
        f'manifest = "data/tones.jsonl"\nperturbations = ["silence"]\nrequire = ["{requirement}"]\n'
    )
    result = suite.run(log="asked")
    assert result.ret == 1
    result.stdout.fnmatch_lines([f"*{requirement} of hear needs the eval asked under {asked} too*nothing was asked*"])
    assert "tone-" not in (suite.path / "asked").read_text() or numbers_of(suite.last()[0]["items"][0]) == {}


def test_a_file_of_thresholds_requires_them_of_what_the_option_asks(tones):
    rule = '[[threshold]]\neval = "tones"\nrequire = ["lift >= {bound}", "order_worst >= 90%"]\n'
    (tones.path / "audiobench.toml").write_text(rule.format(bound="70pp"))
    assert tones.run("--ab-perturbations=order,text").ret == 0
    (tones.path / "audiobench.toml").write_text(rule.format(bound="80pp"))
    result = tones.run("--ab-perturbations=order,text")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*tones: lift >= 80pp: +75.0 pp is not >= +80.0 pp*"])
    result = tones.run("--ab-perturbations=text")
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["*order_worst >= 90% of tones needs the eval asked under order too*nothing was asked*"]
    )


def test_an_order_that_the_prompt_does_not_show_is_refused_before_the_first_request(tones):
    tones.write(
        test_tones=MARKED.replace("multiple_choice()", 'multiple_choice(prompt="{question}")').replace(
            "    evaluate.require", "    0 and evaluate.require"
        )
    )
    result = tones.run()
    assert result.ret == 1
    result.assert_outcomes(passed=2, failed=3)
    result.stdout.fnmatch_lines(["*order-1 changes nothing of what a model is shown of *tones*"])


def test_what_an_eval_took_as_it_is_tells_beforehand_what_its_perturbations_will_take(tones):
    tones.run()
    result = tones.run("--ab-perturbations=order")
    result.stdout.fnmatch_lines(["to ask of one: 160 answers in 4 evals*"])


def test_a_lift_that_code_requires_late_and_nothing_asked_for_is_red(tones):
    tones.write(test_tones=MARKED.replace('perturbations=["order", "text"]', "gpu=False"))
    result = tones.run()
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*there is no lift in this result: it needs the eval asked under text too*"])
    assert [verdict["status"] for verdict in tones.last()[0]["items"][0]["verdicts"]] == ["fail"] * 5


@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["as it is first", "named first"])
def test_a_lift_is_that_of_the_eval_it_was_measured_of_whatever_the_test_evaluates_beside_it(tones, order):
    calls = ['evaluate(manifest("data/tones.jsonl"), multiple_choice()', 'evaluate(tones, multiple_choice(), name="b"']
    lines = [f"{calls[place]})" for place in order]
    tones.write(
        test_tones=MARKED.replace(
            'evaluate(manifest("data/tones.jsonl"), multiple_choice())', "\n    ".join(lines)
        ).replace("def test_tones(evaluate):", 'def test_tones(evaluate):\n    tones = manifest("data/tones.jsonl")')
    )
    result = tones.run()
    assert result.ret == 0, result.outlines
    items = {item["eval"]: item for item in tones.last()[0]["items"]}
    assert numbers_of(items["hearing/tones"])["lift"] == 0.75
    assert "lift" not in numbers_of(items["hearing/tones:b"])
    verdicts = {name: [verdict["threshold"] for verdict in item["verdicts"]] for name, item in items.items()}
    assert (len(verdicts["hearing/tones"]), verdicts["hearing/tones:b"]) == (5, [])
    assert tones.audiobench("verify", tones.last()[1]).returncode == 0


def test_a_lift_of_samples_that_could_not_be_asked_is_incomplete(tones):
    tones.write(test_tones=MARKED)
    result = tones.run(unheard="tone-3")
    assert result.ret == 6
    (item, *_) = tones.last()[0]["items"]
    assert {verdict["status"] for verdict in item["verdicts"]} == {"incomplete"}


def test_an_eval_asked_beside_keeps_the_name_and_hashes_by_which_a_baseline_knows_it(tones):
    assert tones.run("--ab-run=plain").ret == 0
    plain = tones.last()[0]["items"][0]
    result = tones.run("--ab-baseline=plain", "--ab-perturbations=order,text", "--ab-max-drop=1pp")
    assert result.ret == 0, result.outlines
    run, _ = tones.last()
    assert (run["items"][0]["eval"], run["items"][0]["hashes"]) == (plain["eval"], plain["hashes"])
    (line,) = run["items"][0]["regressions"]
    # What is asked beside it takes none of its alpha.
    assert line["lines"] == run["baseline"]["lines"] == 1
    assert not any(item["regressions"] for item in run["items"][1:])
    result.stdout.fnmatch_lines(["passed (1 of 1 comparison pass*"])


JUDGE = """

class Judge:
    listens, device, batching, in_process = False, "cpu", "opaque", False

    def __init__(self, target, options):
        self.spec, self.limits, self._mumbles = f"judge:{target}", Limits(), target == "mumbling"

    def fingerprint(self):
        return {"judge": self.spec}

    def load(self):
        pass

    def close(self):
        pass

    def ask(self, batch):
        return [self._verdict(request) for request, _ in batch]

    def _verdict(self, request):
        text = "".join(part for message in request.messages for part in message.parts)
        if self.spec == "judge:unreadable" or (self._mumbles and request.sample_id[-1] in "02468"):
            return Response.of("Perhaps")
        reference, answer = text.partition("Reference: ")[2].partition("\\n")[::2]
        # Letters stand for options that are listed; a free answer has none of these.
        said = f"\\n{reference}\\n" in answer and "Options:" not in text
        return Response.of("YES" if said else "NO")


_own = pytest_audiobench_register


def pytest_audiobench_register(registration):
    _own(registration)
    registration.model("judge", Judge)
"""


@pytest.fixture
def judged_tones(tones):
    with (tones.path / "conftest.py").open("a") as conftest:
        conftest.write(JUDGE)
    return tones


def free_answers(suite):
    run, _ = suite.last()
    item = next(item for item in run["items"] if item["eval"] == "tones[no-options]")
    aspects = [aspect for pooled in run["suites"] for aspect in pooled["aspects"] if aspect["name"] == "no_options"]
    return item, aspects


def test_without_options_the_free_answer_is_weighed_by_the_judge(judged_tones):
    result = judged_tones.run("--ab-perturbations=no-options", "--ab-judge=judge:fair")
    assert result.ret == 0, result.outlines
    item, (aspect,) = free_answers(judged_tones)
    assert (aspect["value"], aspect["n"], aspect["scorer"]) == (1.0, 40, "yes-no")
    assert item["protocol"] == "judged"
    result.stdout.fnmatch_lines(["*right without the options, by yes-no (n=40): 100.0 %*"])
    assert judged_tones.audiobench("verify", judged_tones.last()[1]).returncode == 0


def test_the_evals_own_judging_weighs_free_answers_too(judged_tones):
    own = 'judged(multiple_choice(), "beans-yes-no")'
    judged_tones.write(test_tones=(judged_tones.path / "test_tones.py").read_text().replace("multiple_choice()", own))
    judged_tones.write(
        test_tones=(judged_tones.path / "test_tones.py").read_text().replace("import ", "import judged, ")
    )
    assert judged_tones.run("--ab-perturbations=no-options", "--ab-judge=judge:fair").ret == 0
    _, (aspect,) = free_answers(judged_tones)
    assert (aspect["scorer"], aspect["value"]) == ("beans-yes-no", 1.0)


def test_verdicts_that_cannot_be_read_are_left_out_and_counted(judged_tones):
    assert judged_tones.run("--ab-perturbations=no-options", "--ab-judge=judge:mumbling").ret == 0
    item, (aspect,) = free_answers(judged_tones)
    assert (aspect["value"], aspect["n"]) == (1.0, 20)
    assert any("20 of 40 verdicts" in warning for warning in item["warnings"])


def test_a_judge_none_of_whose_verdicts_can_be_read_raises_an_alarm(judged_tones):
    result = judged_tones.run("--ab-perturbations=no-options", "--ab-judge=judge:unreadable")
    result.stdout.fnmatch_lines(
        ["*Alarm: 40 of 40 verdicts of * could not be parsed*", "*See the alarm before the numbers*"]
    )
    page = judged_tones.last()[1] / "report.html"
    assert '"perturbed"' in page.read_text()


def test_without_a_judge_free_answers_are_not_judged_and_never_wrong(tones):
    result = tones.run("--ab-perturbations=no-options", "-rs")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*yes-no, yes-no-kept need a judge: name one with --ab-judge*"])
    item, aspects = free_answers(tones)
    assert (item["outcome"], item["metrics"], aspects) == ("skipped", [], [])


def test_parts_and_windows_say_whether_a_part_is_enough_and_what_place_and_fill_do(tones):
    assert tones.run("--ab-perturbations=fragments,windows", model="tone:one").ret == 0
    run, _ = tones.last()
    (pooled,) = run["suites"]
    aspects = {aspect["name"]: aspect for aspect in pooled["aspects"]}
    # Tones of a third of a second are their own first, middle and last three seconds.
    assert (aspects["whole_clip"]["value"], aspects["some_part"]["value"]) == (0.0, 1.0)
    assert {aspects[name]["unit"] for name in ("late_less_early", "mid_less_early", "noise_less_silence")} == {"points"}
    assert aspects["whole_clip"]["lower"] is not None


def test_a_recorded_lift_or_order_that_the_answers_do_not_give_fails_verification(suite):
    suite.tones()
    suite.write(test_tones=MARKED)
    suite.run()
    run, folder = suite.last()
    assert suite.audiobench("verify", folder).returncode == 0
    for change in ("lift", "orders"):
        forged = json.loads(json.dumps(run))
        if change == "lift":
            next(metric for metric in forged["items"][0]["metrics"] if metric["name"] == "lift")["value"] = 0.9
        else:
            forged["suites"][0]["orders"][0]["worst"]["value"] = 0.5
        (folder / "run.json").write_text(json.dumps(forged))
        answer = suite.audiobench("verify", folder, "-v")
        assert answer.returncode == 1
        assert ("robustness" if change == "lift" else "orders") in answer.stdout
