"""Judges in whole runs: asked like models, stored like answers, counted where they say nothing, told to nobody."""

import importlib.util
import json
import sys
from collections import Counter
from pathlib import Path

import pytest

SERVERS = Path(__file__).parents[1] / "models"
JUDGE = '''
import re
from pytest_audiobench.errors import FatalError as _Fatal


class Judge:
    """Says YES where the letter in the answer stands for the reference; its habits come from the options.

    log=FILE      a line for every verdict, and for loading and closing
    against=HZ    says the opposite where the reference is that
    mumbles=HZ    says what is no verdict there
    fails=HZ      cannot be asked there
    dies=N        fails for good from its Nth verdict on
    says=TEXT     says that and nothing else
    """

    listens = True
    device = "cpu"

    def __init__(self, target, options):
        self.spec = f"judge:{target}"
        self._target, self._options = target, options
        self.batching = options.get("batching", "opaque")
        self.limits = Limits(max_batch=4)
        self.in_process = options.get("shared") == "yes"
        self._count = 0

    def fingerprint(self):
        return {"judge": self._target}

    def load(self):
        self._log("load")

    def close(self):
        self._log("close")

    def ask(self, batch):
        return [self._verdict(request, audio) for request, audio in batch]

    def _verdict(self, request, audio):
        assert not audio and not request.clips and not request.choices
        self._count += 1
        if self._count > int(self._options.get("dies", 10**9)):
            raise _Fatal("the judge has had enough")
        text = "".join(part for message in request.messages for part in message.parts)
        reference = re.search(r"^Reference: (.+)$", text, re.M)[1]
        options = dict(re.findall(r"^\\((\\w)\\) (.+)$", text, re.M))
        answer = re.search(r"<answer-(\\w{8})>\\n(.*)\\n</answer-\\1>", text, re.S)[2]
        self._log("verdict")
        if reference == self._options.get("fails"):
            return Response(error="no opinion")
        if reference == self._options.get("mumbles"):
            return Response.of("Yesterday")
        right = (options.get(answer) == reference) != (reference == self._options.get("against"))
        return Response.of(self._options.get("says", "YES" if right else "NO"))

    def _log(self, text):
        if "log" in self._options:
            with open(self._options["log"], "a") as file:
                file.write(f"{self._target} {text}\\n")


_register = pytest_audiobench_register


def pytest_audiobench_register(registration):
    _register(registration)
    registration.model("judge", Judge)
'''
EVAL = """
from pytest_audiobench import judged, manifest, multiple_choice

def test_tones(evaluate):
    result = evaluate(manifest("data/tones.jsonl"), judged(multiple_choice()))
    assert result["accuracy"].signature.startswith("mcq:letters|")
"""
FREE = """
from pytest_audiobench import judged, manifest

def test_free(evaluate):
    evaluate(manifest("data/tones.jsonl"), judged())
"""


def load(name):
    spec = importlib.util.spec_from_file_location(name, SERVERS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


STRANGERS, JUDGES = load("stranger"), load("judge")


@pytest.fixture
def evals(suite):
    suite.tones()
    with (suite.path / "conftest.py").open("a") as conftest:
        conftest.write(JUDGE)
    suite.write(test_tones=EVAL)
    return suite


def lines(suite, name="verdicts"):
    path = suite.path / name
    return Counter(path.read_text().splitlines()) if path.exists() else Counter()


def figures(run):
    return {(m["scorer"], m["name"]): m for m in run["items"][0]["metrics"] if not m["group"]}


def value(run, scorer, metric="accuracy"):
    return figures(run)[scorer, metric]["value"]


def coverage(run, scorer):
    return next(one["coverage"] for one in run["items"][0]["scorers"] if one["name"] == scorer)


DISTINCT = 28
"""Of the forty tones so many differ in options and reference: who is played nothing is asked the same thing once."""
REFERENCES = {n: f"{300 + 200 * ((n + n % 4) % 7)} Hz" for n in range(40)}


def count(hz):
    return sum(reference == hz for reference in REFERENCES.values())


PLAIN = """
from pytest_audiobench import manifest, multiple_choice

def test_tones(evaluate):
    evaluate(manifest("data/tones.jsonl"), multiple_choice())
"""


def test_a_judge_weighs_an_eval_that_names_none_where_its_scorer_is_asked_for(evals):
    evals.write(test_tones=PLAIN)
    result = evals.run(
        "--ab-judge=strict=judge:one,against=300 Hz,log=verdicts", "--ab-scorer=letters", "--ab-scorer=yes-no"
    )
    assert result.ret == 0
    run, _ = evals.last()
    assert value(run, "letters") == 1
    assert value(run, "yes-no") == pytest.approx(1 - count("300 Hz") / 40)
    assert lines(evals)["one verdict"] == DISTINCT


def test_a_judge_that_is_asked_nothing_is_not_green_and_one_of_the_ini_file_a_note(evals):
    evals.write(test_tones=PLAIN)
    result = evals.run("--ab-judge=strict=judge:one")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    sentence = "the judge strict (--ab-judge) was asked nothing: no eval that was measured has a scorer of its*"
    result.stdout.fnmatch_lines([f"not measured (*). {sentence.capitalize()}"])
    (evals.path / "pytest.ini").write_text("[pytest]\nab_judge = strict=judge:one\n")
    result = evals.run()
    assert result.ret == 0
    result.stdout.fnmatch_lines([f"note: {sentence}"])


def test_a_judge_that_cannot_be_asked_leaves_the_exit_code_of_that_whatever_scorers_are_named(evals):
    result = evals.run(
        "--ab-judge=lab=http:http://127.0.0.1:1,retry_s=0.1", "--ab-scorer=letters", "--ab-scorer=yes-no"
    )
    assert result.ret == 6
    result.stdout.fnmatch_lines(["incomplete (1 eval failed)*"])


def test_a_judge_stands_beside_the_rule_and_their_agreement_is_recorded(evals):
    result = evals.run("--ab-judge=strict=judge:one,against=300 Hz,log=verdicts")
    assert result.ret == 0
    run, folder = evals.last()
    wrong = count("300 Hz") / 40
    assert value(run, "letters") == 1
    assert value(run, "yes-no") == value(run, "yes-no-kept") == pytest.approx(1 - wrong)
    assert value(run, "yes-no-vs-letters", "judge_agreement") == pytest.approx(1 - wrong)
    assert lines(evals)["one verdict"] == DISTINCT
    signature = run["items"][0]["scorers"][1]["signature"]
    judge = next(model for model in run["models"] if model["role"] == "judge")
    assert signature.startswith("judge:yes-no|v:1|prompt:")
    assert (judge["alias"], judge["spec"], judge["fingerprint"]) == ("strict", "judge:one", {"judge": "one"})
    assert run["items"][0]["judges"]["strict"]["asked"] == DISTINCT
    result.stdout.fnmatch_lines(["judge strict: judge:one, 28 verdicts asked, 0 known"])
    rows = [json.loads(line) for line in (folder / "predictions.jsonl").read_text().splitlines()]
    assert Counter((row["stage"], row.get("role")) for row in rows) == {
        ("answer", None): 40,
        ("yes-no@strict", "judge"): 40,
    }
    assert "yes-no@strict" in (folder / "report.html").read_text()


def test_verdicts_are_found_again_serially_and_in_parallel(evals):
    judges = ("--ab-judge=a=judge:one,log=verdicts", "--ab-judge=b=judge:two,against=500 Hz,log=verdicts")
    first = evals.run(*judges)
    assert first.ret == 0
    run, folder = evals.last()
    again = Counter(lines(evals))
    assert (again["one verdict"], again["two verdict"]) == (DISTINCT, DISTINCT)
    assert evals.run(*judges).ret == 0
    assert lines(evals) == again
    assert evals.last()[0]["items"][0]["judges"]["a"]["known"] == DISTINCT
    # One judge fewer, another order, another alias: the verdicts are the same ones.
    assert evals.run("--ab-judge=other=judge:two,log=verdicts").ret == 0
    assert lines(evals) == again
    assert evals.run(*judges, "-n2", "--ab-store=new.sqlite").ret == 0
    parallel, other = evals.last()
    assert lines(evals)["one verdict"] == 2 * DISTINCT
    assert parallel["hashes"] == run["hashes"]
    assert (other / "scored_predictions.jsonl").read_bytes() == (folder / "scored_predictions.jsonl").read_bytes()


def test_two_judges_are_read_apart_and_compared(evals):
    assert evals.run("--ab-judge=a=judge:one", "--ab-judge=b=judge:two,against=500 Hz").ret == 0
    run, _ = evals.last()
    differ = count("500 Hz") / 40
    assert value(run, "yes-no@a") == 1
    assert value(run, "yes-no@b") == pytest.approx(1 - differ)
    assert value(run, "yes-no@a-vs-letters", "judge_agreement") == 1
    assert value(run, "yes-no@a-vs-yes-no@b", "judge_agreement") == pytest.approx(1 - differ)
    # The first judge always says yes, so that agreement by chance explains all there is.
    assert value(run, "yes-no@a-vs-yes-no@b", "judge_kappa") == pytest.approx(0)


def test_who_judges_and_what_was_said_is_in_the_score_hash_and_in_no_other(evals):
    hashes = []
    for judge in ("judge:one", "judge:two", "judge:one,against=300 Hz"):
        assert evals.run(f"--ab-judge=j={judge}", f"--ab-store=store{len(hashes)}.sqlite").ret == 0
        hashes.append(evals.last()[0]["items"][0]["hashes"])
    assert evals.run().ret == 0
    unjudged = evals.last()[0]["items"][0]["hashes"]
    assert {one["run_hash"] for one in (*hashes, unjudged)} == {unjudged["run_hash"]}
    assert len({one["score_hash"] for one in (*hashes, unjudged)}) == 4


def test_verdicts_that_cannot_be_read_are_counted_and_left_out_and_the_twin_keeps_them(evals):
    result = evals.run("--ab-judge=j=judge:one,mumbles=700 Hz")
    assert result.ret == 0
    run, _ = evals.last()
    mumbled = count("700 Hz")
    assert mumbled
    result.stdout.fnmatch_lines([f"note: tones: {mumbled} of 40 verdicts of yes-no@j could not be read"])
    assert coverage(run, "yes-no")["unparsed"] == coverage(run, "yes-no")["skipped"] == mumbled
    assert (value(run, "yes-no"), figures(run)["yes-no", "accuracy"]["n"]) == (1, 40 - mumbled)
    assert value(run, "yes-no-kept") == pytest.approx(1 - mumbled / 40)
    assert figures(run)["yes-no-vs-letters", "judge_agreement"]["n"] == 40 - mumbled
    assert run["items"][0]["asking"]["asked"] == 40


def test_a_verdict_that_could_not_be_had_is_no_error_of_the_models_and_fails_the_check_all_the_same(evals):
    failing = count("900 Hz")
    result = evals.run("--ab-judge=j=judge:one,fails=900 Hz")
    assert result.ret == 6
    result.stdout.fnmatch_lines([f"*0 of 40 samples, and {failing} more when judged,*no opinion*"])
    run, _ = evals.last()
    assert coverage(run, "letters")["errors"] == 0
    assert coverage(run, "yes-no")["errors"] == run["items"][0]["judges"]["j"]["errors"] == failing
    assert run["items"][0]["errors"][0]["message"] == "yes-no@j: no opinion"
    assert evals.run("--ab-judge=j=judge:one,fails=900 Hz", f"--ab-max-errors={failing}").ret == 0
    assert value(evals.last()[0], "letters") == 1


def test_a_sample_without_a_verdict_is_counted_once_where_the_judge_is_the_headline(evals):
    failing = count("900 Hz")
    result = evals.run("--ab-judge=j=judge:one,fails=900 Hz", "--ab-scorer=yes-no")
    assert result.ret == 6
    result.stdout.fnmatch_lines(
        [f"*0 of 40 samples, and {failing} more when judged,*or allow them with --ab-max-errors={failing}*"]
    )


def test_a_judge_that_dies_loses_nothing(evals):
    result = evals.run("--ab-judge=j=judge:one,dies=10,log=verdicts", log="log")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*the judge has had enough*"])
    assert evals.run("--ab-judge=j=judge:one,log=verdicts", log="log").ret == 0
    # Its batches are of four: two were answered, the third is asked again.
    assert lines(evals)["one verdict"] == 10 + DISTINCT - 8
    assert lines(evals, "log")["tone-7"] == 1
    assert value(evals.last()[0], "yes-no") == 1


def test_without_a_judge_the_rule_is_left_with_a_warning(evals):
    result = evals.run()
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*no judge is named with --ab-judge: yes-no, yes-no-kept left out*"])
    run, _ = evals.last()
    assert [one["name"] for one in run["items"][0]["scorers"]] == ["letters"]
    assert [model["role"] for model in run["models"]] == ["subject"]


def test_a_threshold_on_a_judges_scorer_fails_without_a_judge(evals):
    (evals.path / "audiobench.toml").write_text(
        '[[threshold]]\neval = "tones"\nrequire = ["accuracy[scorer=yes-no] >= 0.5"]\n'
    )
    assert evals.run("--ab-judge=j=judge:one").ret == 0
    assert evals.run().ret == 1


def test_without_a_judge_and_without_a_rule_the_eval_is_skipped_and_says_how_to_name_one(evals):
    evals.write(test_tones=FREE)
    result = evals.run("-rs")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*yes-no, yes-no-kept need a judge: name one with --ab-judge*"])


def test_ini_and_environment_name_judges_too(evals, monkeypatch):
    (evals.path / "pytest.ini").write_text("[pytest]\nab_judge =\n  a=judge:one\n  b=judge:two\n")
    assert evals.run().ret == 0
    assert set(evals.last()[0]["items"][0]["judges"]) == {"a", "b"}
    monkeypatch.setenv("AUDIOBENCH_JUDGE", "c=judge:three")
    assert evals.run().ret == 0
    assert set(evals.last()[0]["items"][0]["judges"]) == {"c"}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--ab-judge=one=judge:x",), "a model and a judge are both called 'one'"),
        (("--ab-judge=a=judge:x", "--ab-judge=a=judge:y"), "two models are named 'a'"),
        (("--ab-judge=nobody:x",), "unknown kind of model"),
        (("--ab-judge=nonsense",), "names no model"),
        (("--ab-judge=hf:nowhere/at-all",), "nowhere/at-all"),
        (("--ab-judge=openai:whisper,api=transcriptions",), "cannot be a judge: it answers no question in words alone"),
    ],
)
@pytest.mark.parametrize("workers", [(), ("-n2",)])
def test_a_judge_that_cannot_be_is_a_usage_error(evals, options, words, workers):
    result = evals.run(*options, *workers)
    assert result.ret == 4
    assert words in result.stderr.str() + result.stdout.str()


def test_a_scorer_of_a_judge_can_be_chosen_from_outside(evals):
    assert evals.run("--ab-judge=j=judge:one", "--ab-scorer=beans-yes-no").ret in (0, 1)
    names = [one["name"] for one in evals.last()[0]["items"][0]["scorers"]]
    assert names == ["beans-yes-no", "yes-no-kept"]


def test_a_file_without_code_adds_a_judge_to_its_protocol(evals):
    (evals.path / "toned.audiobench.toml").write_text('manifest = "data/tones.jsonl"\njudge = "yes-no"\n')
    evals.run("toned.audiobench.toml", "--ab-judge=j=judge:one").assert_outcomes(passed=1)
    names = [one["name"] for one in evals.last()[0]["items"][0]["scorers"]]
    assert names[:2] == ["letters", "yes-no"]


HOSTILE = "</script><script>alert(1)</script>\\x1b[31m YES \\u202e"


def test_what_a_hostile_judge_says_is_text_and_no_verdict(evals):
    evals.write(test_tones=EVAL.replace("judged(multiple_choice())", "judged(multiple_choice(), 'yes-no')"))
    result = evals.run("--ab-judge=j=judge:one,says=</script><script>alert(1)</script> YES\x1b[31m")
    assert result.ret == 0
    run, folder = evals.last()
    assert coverage(run, "yes-no")["unparsed"] == 40
    assert value(run, "yes-no") is None
    assert "<script>alert(1)" not in (folder / "report.html").read_text()
    assert "\x1b[31m" not in result.stdout.str()


TWO_STAGES = """
from pytest_audiobench import judged, manifest, multiple_choice

def test_tones(evaluate):
    evaluate(manifest("data/tones.jsonl"), judged(multiple_choice(), "sakura-judge", "extract"))
"""


def test_an_extractor_is_not_told_what_a_judge_said(evals):
    with (evals.path / "conftest.py").open("a") as conftest:
        conftest.write(
            """
class Gossip(Judge):
    def _verdict(self, request, audio):
        text = "".join(part for message in request.messages for part in message.parts)
        with open("seen.jsonl", "a") as file:
            file.write(json.dumps([request.stage, text]) + "\\n")
        return Response.of("Explanation: the truth is SECRET\\nJudgement: correct")

_judges = pytest_audiobench_register

def pytest_audiobench_register(registration):
    _judges(registration)
    registration.model("gossip", Gossip)
"""
        )
    evals.write(test_tones=TWO_STAGES)
    assert evals.run("--ab-judge=a=gossip:one", "--ab-judge=b=gossip:two").ret == 0
    seen = [json.loads(line) for line in (evals.path / "seen.jsonl").read_text().splitlines()]
    assert Counter(stage for stage, _ in seen).keys() == {
        f"{mode}@{who}" for mode in ("sakura", "extract") for who in "ab"
    }
    assert not any("SECRET" in text for _, text in seen)
    assert value(evals.last()[0], "sakura-judge@a") == 1


@pytest.mark.parametrize("workers", [(), ("-n2", "--ab-devices=cpu")])
def test_one_model_that_fills_a_device_is_loaded_at_a_time(evals, workers):
    result = evals.run(
        "--ab-judge=a=judge:one,shared=yes,log=log",
        "--ab-judge=b=judge:two,shared=yes,log=log",
        *workers,
        shared="yes",
        log="log",
    )
    assert result.ret == 0
    story = [line for line in (evals.path / "log").read_text().splitlines() if "verdict" not in line]
    loads = [line for line in story if not line.startswith("tone-")]
    assert loads[:4] == ["load", "one load", "one close", "two load"]
    run, _ = evals.last()
    assert value(run, "yes-no@b") == 1
    assert all(model.get("shared", False) == bool(workers) for model in run["models"])


def test_epochs_are_judged_once_the_model_has_answered_all_of_them(evals):
    args = ("--ab-epochs=3", "--ab-judge=j=judge:one,shared=yes,log=log")
    assert evals.run(*args, shared="yes", log="log").ret == 0
    story = [line for line in (evals.path / "log").read_text().splitlines() if line.endswith("load")]
    assert story == ["load", "one load"]
    assert lines(evals, "log")["one verdict"] == 3 * DISTINCT


def test_judges_behind_servers(evals):
    evals.write(test_tones=EVAL.replace("judged(multiple_choice())", "judged(multiple_choice(), 'rubric', 'yes-no')"))
    scores, chat = JUDGES.JudgeServer().start(), STRANGERS.Stranger().start()
    scores.verdict = lambda item: {"sample_id": item["sample_id"], "score": 0.75, "rationale": "near", "error": None}
    chat.strict = False
    chat.answer = lambda item: {"sample_id": item["sample_id"], "predictions": ["Yes."], "finish_reason": "stop"}
    try:
        result = evals.run(
            f"--ab-judge=scores=judge-scores:{scores.url},name=six", f"--ab-judge=chat=http:{chat.url}", "-n2"
        )
        assert result.ret == 0
        run, _ = evals.last()
        # A server of rubrics is asked for nothing else; a chat model for both.
        assert value(run, "rubric@scores", "judge_score") == 0.75
        assert coverage(run, "rubric@chat")["unparsed"] == 40
        assert value(run, "yes-no@chat") == 1
        assert ("yes-no@scores", "accuracy") not in figures(run)
        asked = [item for call in scores.calls for item in call["items"]]
        assert len(asked) == len({item["sample_id"] for item in asked})
        assert {item["reference_text"] for item in asked} == set(REFERENCES.values())
        assert {item["candidate_text"] for item in asked} <= set("ABCD")
        assert len(chat.asked) == 2 * len(asked)
        assert not any(item["audio_inputs"] for item in chat.asked)
        before = len(scores.headers), len(chat.batches)
        assert (
            evals.run(f"--ab-judge=scores=judge-scores:{scores.url},name=six", f"--ab-judge=chat=http:{chat.url}").ret
            == 0
        )
        assert (len(scores.headers), len(chat.batches)) == before
    finally:
        scores.stop()
        chat.shutdown()
        chat.server_close()


def test_a_server_of_rubrics_alone_cannot_say_yes_or_no(evals):
    evals.write(test_tones=FREE)
    result = evals.run("--ab-judge=j=judge-scores:http://127.0.0.1:9/judge", "-rs")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*yes-no can be put to none of this run's judges (j): name another*"])
    result = evals.run("--ab-judge=j=judge-scores:http://127.0.0.1:9/judge", "--ab-judge=k=judge:one")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*the judge j cannot be asked yes-no, and was not*"])


def test_recorded_answers_are_judged_without_their_audio(evals):
    assert evals.run("--ab-run=heard").ret == 0
    for wave in (evals.path / "data").glob("*.wav"):
        wave.unlink()
    result = evals.run("--ab-judge=j=judge:one,log=verdicts", model="again=replay:reports/heard")
    assert result.ret == 0
    assert value(evals.last()[0], "yes-no") == 1
    # And once they are recorded, the verdicts are read again without the judge.
    name = evals.last()[1].name
    judges = f"--ab-judge=j=replay:reports/{name}"
    assert evals.run(judges, "--ab-store=new.sqlite", model=f"again=replay:reports/{name}").ret == 0
    assert value(evals.last()[0], "yes-no") == 1
    assert lines(evals)["one verdict"] == DISTINCT


def test_a_judge_is_asked_where_its_own_spec_says_and_never_at_the_models_server(evals, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(evals.path / "nothing"))
    serve = f"{sys.executable} {SERVERS / 'stranger.py'} --port {{port}}"
    result = evals.run("--ab-judge=j=openai:gpt", model="lab=http:lab", serve=serve)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*api.openai.com needs a key*"])


@pytest.mark.parametrize("workers", [(), ("-n2",)], ids=["serial", "two workers"])
def test_a_judge_and_the_models_have_a_server_for_each_command(evals, workers):
    yes = "import sys; sys.path.insert(0, sys.argv[2]); import stranger\n"
    yes += "server = stranger.Stranger(int(sys.argv[1]))\nserver.strict = False\n"
    yes += "says = dict(predictions=['Yes.'], finish_reason='stop')\n"
    yes += "server.answer = lambda item: dict(says, sample_id=item['sample_id'])\n"
    evals.write(yes=yes + "server.serve_forever()\n")
    judge = f"--ab-judge=j=http:j,serve={sys.executable} yes.py {{port}} {SERVERS}"
    serve = f"{sys.executable} {SERVERS / 'stranger.py'} --port {{port}} --log asked"
    again = f"--ab-model=again=http:again,serve={serve}"
    result = evals.run(judge, again, *workers, model="lab=http:lab", serve=serve)
    result.assert_outcomes(passed=2)
    run, folder = evals.last()
    assert {model["alias"]: model["spec"] for model in run["models"]} == {
        "lab": "http:lab",
        "again": "http:again",
        "j": "http:j",
    }
    assert value(run, "yes-no") == 1
    # The two models share one server, and by what that says of itself their answers.
    assert sorted(path.name for path in (folder / "servers").iterdir()) == ["0", "1"]
    assert set(lines(evals, "asked").values()) == {1}


def test_a_judge_is_a_stage_only_by_a_judging(evals):
    evals.write(
        test_tones="""
from dataclasses import replace
from pytest_audiobench import manifest, multiple_choice

def test_tones(evaluate):
    asked = multiple_choice()
    own = replace(asked.stages[0], name="own", role="judge")
    evaluate(manifest("data/tones.jsonl"), replace(asked, stages=(*asked.stages, own)))
"""
    )
    result = evals.run("--ab-judge=j=judge:one")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*has the stage 'own' of a judge: write it as a Judging*"])


def test_a_determinism_eval_blames_no_judge_on_the_model(evals):
    evals.write(
        test_again="""
from pytest_audiobench import determinism, judged, manifest, multiple_choice

def test_again(evaluate):
    determinism(evaluate, manifest("data/tones.jsonl"), judged(multiple_choice()).with_scorers("yes-no"))
"""
    )
    (evals.path / "test_tones.py").unlink()
    result = evals.run("--ab-judge=j=judge:one,log=verdicts")
    assert result.ret == 0
    assert lines(evals)["one verdict"] == DISTINCT
    assert evals.last()[0]["models"][0]["noise"]["score_shift"] == 0


def test_scoring_a_judged_run_again_reads_it_by_rule_and_keeps_what_was_said(evals):
    assert evals.run("--ab-judge=j=judge:one", "--ab-run=judged").ret == 0
    run = json.loads((evals.path / "reports" / "judged" / "run.json").read_text())
    told = evals.audiobench("score", "reports/judged", "--out", "again")
    assert told.returncode == 0, told.stderr
    again = json.loads((evals.path / "again" / "run.json").read_text())
    assert [one["name"] for one in again["items"][0]["scorers"]] == ["letters"]
    assert again["items"][0]["hashes"]["run_hash"] == run["items"][0]["hashes"]["run_hash"]
    assert value(again, "letters") == 1
    assert any("the scorers of j are left out" in note for note in again["items"][0]["warnings"]), told.stdout
    rows = [json.loads(line) for line in (evals.path / "again" / "predictions.jsonl").read_text().splitlines()]
    assert Counter(row.get("role") for row in rows) == {None: 40, "judge": 40}
    assert all(row["outputs"][0]["text"] == "YES" for row in rows if "role" in row)


def test_scoring_again_keeps_why_a_verdict_could_not_be_had(evals):
    assert evals.run("--ab-judge=j=judge:one,fails=500 Hz", "--ab-run=judged", "--ab-max-errors=40").ret == 0
    assert evals.audiobench("score", "reports/judged", "--out", "again").returncode == 0
    files = [evals.path / folder / "predictions.jsonl" for folder in ("reports/judged", "again")]
    before, after = ([json.loads(line) for line in file.read_text().splitlines()] for file in files)
    assert after == before
    assert sum(row["error"] == "no opinion" for row in after) == count("500 Hz")


def test_answers_that_only_judges_can_read_are_not_scored_without_them(evals):
    evals.write(test_tones=FREE)
    assert evals.run("--ab-judge=j=judge:one", "--ab-run=judged").ret == 0
    told = evals.audiobench("score", "reports/judged")
    assert told.returncode != 0
    assert "only a judge can score the family judged: name one with --judge-url" in told.stderr + told.stdout
