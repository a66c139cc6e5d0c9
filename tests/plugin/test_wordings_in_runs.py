"""Wordings through a whole run: what is asked again, what is on record, and that scoring again finds the same."""

import json

import pytest

HEAR = """
import numpy as np
from pytest_audiobench.models.messages import Response
from pytest_audiobench.models.model import Limits


class Hears:
    \"\"\"Says yes to "Do you hear" where the clip is loud, and follows its mood in other words.\"\"\"

    listens, device, batching = True, "cpu", "opaque"
    limits = Limits(max_batch=8, max_clip_s=30.0)

    def __init__(self, target, options):
        self.spec, self._options = f"hears:{target}", options

    def fingerprint(self):
        return {"hears": "1"}

    def load(self):
        pass

    def close(self):
        pass

    def ask(self, batch):
        return [self._answer(one) for one in batch]

    def _answer(self, one):
        text = one.request.messages[0].parts[-1]
        with open(self._options["log"], "a") as file:
            file.write(f"{one.request.sample_id}|{one.request.stage}|{text}\\n")
        loud = float(np.sqrt(np.mean(one.audio[0].samples ** 2))) > 0.1
        if text.startswith("Can you"):
            return Response.of("I cannot tell.")
        if text.startswith("Is there"):
            return Response.of("Yes, there is." if one.request.sample_id.endswith(("0", "1")) == loud else "No.")
        return Response.of("Yes." if loud else "No.")


def pytest_audiobench_register(registration):
    registration.model("hears", Hears)
"""
EVAL = """
import numpy as np
from pytest_audiobench import Dataset, Sample, with_prompt_variants
from pytest_audiobench.protocols.presence.task import presence
from pytest_audiobench.audio.clip import ArraySource, Clip


def read(places):
    found = []
    for number in range(24):
        level = 0.5 if number % 2 else 0.01
        wave = level * np.sin(np.arange(8000) * (0.1 + 0.01 * number))
        metadata = {{"label": "alarm", "condition": "quad" if number % 3 else "solo", "mixture": f"m{{number // 2}}"}}
        clip = Clip(ArraySource.of(wave.tolist(), 16_000))
        found.append(Sample(f"s{{number}}", (clip,), "", reference="yes" if number % 2 else "no", metadata=metadata))
    return found


PROBES = Dataset("probes", read, cluster="mixture", groups=("condition",))


def test_probes(evaluate):
    result = evaluate(PROBES, {protocol})
    {body}
"""


@pytest.fixture
def probes(suite):
    (suite.path / "conftest.py").write_text(HEAR)

    def run(prompts, *args, body="pass", scorers=""):
        protocol = f"presence({scorers})"
        protocol = f"with_prompt_variants({protocol}, {prompts})" if prompts else protocol
        suite.write(test_probes=EVAL.format(protocol=protocol, body=body))
        log = suite.path / "asked.log"
        log.unlink(missing_ok=True)
        found = suite.run(*args, model=f"hears:one,log={log}")
        return found, log.read_text().splitlines() if log.exists() else []

    return run


def values(item, scorer, name):
    return {
        ",".join(f"{k}={v}" for k, v in one["group"].items()): one["value"]
        for one in item["metrics"]
        if (one["scorer"], one["name"]) == (scorer, name)
    }


def test_more_wordings_ask_only_the_new_ones(probes, suite):
    run, asked = probes("'yesno', 1")
    run.assert_outcomes(passed=1)
    assert len(asked) == 24
    assert all("Do you hear an alarm?" in line for line in asked)
    run, asked = probes("'yesno', 3")
    run.assert_outcomes(passed=1)
    assert len(asked) == 48
    assert {line.split("|")[1] for line in asked} == {"answer@2", "answer@3"}
    assert suite.last()[0]["items"][0]["asking"]["known"] == 24


def test_the_record_says_what_the_wordings_make_of_the_score(probes, suite):
    body = """
    assert result["wording_spread"] > 0.9
    evaluate.require("wording_agreement >= 0.3", "wording_sd <= 90%", "wording_spread[condition=solo] >= 10%")
"""
    run, _ = probes("'yesno', 3", body=body)
    run.assert_outcomes(passed=1)
    (item,) = suite.last()[0]["items"]
    each = [values(item, f"heard@{n}", "balanced_accuracy")[""] for n in (1, 2, 3)]
    assert each[0] == 1.0
    assert each[2] == 0.0
    assert values(item, "heard", "wording_spread")[""] == pytest.approx(1.0)
    assert set(values(item, "heard", "wording_spread")) == {"", "condition=solo", "condition=quad"}
    spread = next(one for one in item["metrics"] if one["name"] == "wording_spread")
    assert spread["lower"] is None
    assert spread["method"].startswith("no interval: 12 clusters, 20 needed")
    assert values(item, "heard", "wording_worst")[""] == min(each)
    assert values(item, "heard", "wording_mean")[""] == pytest.approx(sum(each) / 3)
    assert values(item, "heard", "wording_consistency")[""] == 0.0
    assert (spread["unit"], spread["direction"]) == ("points", "lower")
    assert values(item, "heard", "wording_sd")[""] == pytest.approx(
        ((each[0] - sum(each) / 3) ** 2 + (each[1] - sum(each) / 3) ** 2 + (each[2] - sum(each) / 3) ** 2) ** 0.5
        / 2**0.5
    )
    assert 1 / 3 <= values(item, "heard", "wording_agreement")[""] <= 2 / 3
    assert "wording_agreement" not in {one["name"] for one in item["metrics"] if one["scorer"] == "heard@1"}
    assert item["options"]["wording_set"] == "yesno-v1"
    assert len(item["options"]["wordings"]) == 3
    # How a text went wrong is told of the wording that met it.
    coverage = {one["name"]: one["coverage"] for one in item["scorers"]}
    assert coverage["heard@1"]["parsed"] == 24
    assert coverage["heard@3"]["refused"] == 24
    lines = [json.loads(line) for line in (suite.last()[1] / "scored_predictions.jsonl").read_text().splitlines()]
    assert all(("refused" in one["failures"]) == (one["scorer"] == "heard@3") for one in lines)


def test_scoring_again_and_a_replay_find_the_same(probes, suite):
    run, _ = probes("'yesno', 3", scorers="'heard', 'ab-yesno'")
    run.assert_outcomes(passed=1)
    record, folder = suite.last()
    from pytest_audiobench.records.fields import plain
    from pytest_audiobench.rescoring.layouts import source_of
    from pytest_audiobench.rescoring.rescore import ScoringOptions, rescore

    again = rescore(source_of(folder), ScoringOptions())
    (before,), (after,) = record["items"], again.items
    assert plain(after.metrics) == before["metrics"]
    assert {name: after.hashes[name] for name in ("input_hash", "run_hash", "score_hash")} == {
        name: before["hashes"][name] for name in ("input_hash", "run_hash", "score_hash")
    }
    assert not [warning for warning in after.warnings if "another" in warning]
    other = rescore(source_of(folder), ScoringOptions(("ab-yesno@2",)))
    assert [scorer.name for scorer in other.items[0].scorers] == ["ab-yesno@2"]
    suite.run(model=f"replay:{folder}").assert_outcomes(passed=1)
    replayed = suite.last()[0]["items"][0]
    assert [one["value"] for one in replayed["metrics"]] == [one["value"] for one in before["metrics"]]


def test_a_copy_of_a_set_is_the_same_set(probes, suite):
    hashes = []
    for name in ("a", "copy"):
        (suite.path / f"{name}.yaml").write_text("version: v\nparaphrases: ['Do you hear a {label}?', 'A {label}?']\n")
        run, asked = probes(f"'{name}.yaml'")
        run.assert_outcomes(passed=1)
        hashes.append(suite.last()[0]["items"][0]["hashes"])
    assert asked == []
    assert hashes[0] == hashes[1]


def test_a_baseline_holds_the_vote_and_sees_another_wording(probes, suite):
    run, _ = probes("'yesno', 3")
    run.assert_outcomes(passed=1)
    run, _ = probes("'yesno', 3", "--ab-baseline", "last")
    run.assert_outcomes(passed=1)
    assert [one["status"] for one in suite.last()[0]["items"][0]["regressions"]] == ["pass"]
    (suite.path / "other.yaml").write_text(
        "version: v\nparaphrases: ['Do you hear a {label}?', 'Is there a {label} in this audio?', 'A {label}?']\n"
    )
    run, _ = probes("'other.yaml'", "--ab-baseline", "last")
    run.assert_outcomes(failed=1)
    run.stdout.fnmatch_lines(["*24*were asked with another prompt than in the baseline*"])


def test_a_run_may_name_the_wordings_itself(probes, suite):
    (suite.path / "mine.yaml").write_text("version: mine-2\nparaphrases: ['A {label}?', 'Any {label}?', '{label}?']\n")
    run, asked = probes("'yesno', 3", "--ab-prompts", "mine.yaml:2")
    run.assert_outcomes(passed=1)
    assert {line.split("|")[2] for line in asked} == {"An alarm?", "Any alarm?"}
    assert suite.last()[0]["items"][0]["options"] == {
        "wordings": ["A {label}?", "Any {label}?"],
        "wording_set": "mine-2",
    }


def test_a_run_asks_an_eval_of_one_wording_in_all_of_a_set(probes, suite):
    run, asked = probes("")
    assert {line.split("|")[2] for line in asked} == {"Do you hear an alarm?"}
    run, asked = probes("", "--ab-prompts", "yesno:3", "--ab-limit", "24")
    run.assert_outcomes(passed=1)
    # The eval's own words are the set's first, whose answers are in the store.
    assert {line.split("|")[2] for line in asked} == {"Is there an alarm in this audio?", "Can you hear an alarm?"}
    run.stdout.fnmatch_lines(
        [
            "*heard@1 * 100.0 %*Do you hear a {label}?*",
            "*heard@3 *   0.0 %*Can you hear a {label}?*",
        ]
    )
    record = suite.last()[0]["items"][0]
    assert record["asking"]["known"] == 24


def test_the_cost_of_wordings_is_shown_before_the_first_request(probes):
    probes("")
    run, _ = probes("", "--ab-prompts", "yesno")
    run.stdout.fnmatch_lines(["*to ask of one: 120 answers in 1 eval*"])
    run, asked = probes("", "--ab-prompts", "yesno")
    run.stdout.fnmatch_lines(["*to ask of one: 120 answers in 1 eval, up to 120 in the store*"])
    assert asked == []
    run, _ = probes("")
    run.stdout.fnmatch_lines(["*to ask of one: 24 answers in 1 eval, up to 24 in the store*"])
    run, _ = probes("", "--ab-prompts", "yesno:draw")
    run.stdout.fnmatch_lines(["*to ask of one: 24 answers in 1 eval*"])


def test_what_is_required_of_the_wordings_fails_by_its_number(probes):
    requirements = "evaluate.require('wording_spread <= 3pp', 'wording_worst >= 40%', 'wording_mean >= 10%')"
    run, _ = probes("", "--ab-prompts", "yesno:3", body=requirements)
    run.assert_outcomes(failed=1)
    rows = ["wording_spread", "*<= 0.03 *fail", "wording_worst*>= 0.4 *fail", "wording_mean*pass"]
    run.stdout.fnmatch_lines(rows)


def test_a_set_of_another_family_is_refused_before_the_first_request(probes):
    run, asked = probes("", "--ab-prompts", "asr-3")
    run.assert_outcomes(failed=1)
    run.stdout.fnmatch_lines(
        ["no set of --ab-prompts is for presence of probes, but for transcription, hallucination:*"]
    )
    assert asked == []


def test_a_drawn_wording_is_asked_again_by_its_seed_alone(probes, suite):
    (suite.path / "mine.yaml").write_text("version: mine-2\nparaphrases: ['A {label}?', 'Any {label}?', '{label}?']\n")
    run, first = probes("", "--ab-prompts", "mine.yaml:draw")
    run.assert_outcomes(passed=1)
    assert {line.split("|")[1] for line in first} == {"answer"}
    assert {line.split("|")[2] for line in first} == {"An alarm?", "Any alarm?", "alarm?"}
    record, folder = suite.last()
    assert record["items"][0]["options"]["wording_seed"] == 0
    _, again = probes("", "--ab-prompts", "mine.yaml:draw", "--ab-refresh")
    assert sorted(again) == sorted(first)
    _, other = probes("", "--ab-prompts", "mine.yaml:draw=1", "--ab-refresh")
    assert sorted(other) != sorted(first)
    from pytest_audiobench.records.fields import plain
    from pytest_audiobench.rescoring.layouts import source_of
    from pytest_audiobench.rescoring.rescore import ScoringOptions, rescore

    after = rescore(source_of(folder), ScoringOptions()).items[0]
    assert plain(after.metrics) == record["items"][0]["metrics"]
    assert after.hashes["score_hash"] == record["items"][0]["hashes"]["score_hash"]


def test_wordings_are_the_same_over_workers(probes, suite):
    run, _ = probes("", "--ab-prompts", "yesno:3")
    alone = suite.last()[0]["items"][0]
    (suite.path / ".audiobench" / "store.sqlite").unlink()
    run, asked = probes("", "--ab-prompts", "yesno:3", "-n2")
    run.assert_outcomes(passed=1)
    assert len(asked) == 72
    over_workers = suite.last()[0]["items"][0]
    assert over_workers["metrics"] == alone["metrics"]
    assert over_workers["hashes"] == alone["hashes"]


def test_a_wrong_set_is_one_sentence(probes):
    run, asked = probes("'yesno', 9")
    run.assert_outcomes(failed=1)
    run.stdout.fnmatch_lines(["*the prompt set 'yesno-v1' has 5 wordings, and 9 are wanted: ask for 1 to 5*"])
    assert asked == []
    run, asked = probes("", "--ab-prompts", "nobody")
    assert (run.ret, asked) == (4, [])
    run.stderr.fnmatch_lines(["*no prompt set is called 'nobody'; there are yesno, *, or name a file that ends with*"])


def test_a_set_is_asked_under_perturbations_too(probes, suite):
    run, asked = probes("", "--ab-prompts", "yesno:2", "--ab-perturbations=silence")
    run.assert_outcomes(passed=2)
    assert len(asked) == 24 * 2 * 2
    names = {item["eval"]: [metric["name"] for metric in item["metrics"]] for item in suite.last()[0]["items"]}
    assert set(names) == {"probes", "probes[silence]"}
    assert all("wording_worst" in metrics for metrics in names.values())


@pytest.mark.parametrize("workers", [(), ("-n2",)])
def test_a_file_is_decoded_once_for_all_wordings(suite, workers):
    suite.tones(12)
    with (suite.path / "conftest.py").open("a") as file:
        file.write(COUNTING)
    suite.write(
        test_tones="from pytest_audiobench import manifest, multiple_choice\n\n"
        "def test_tones(evaluate):\n    evaluate(manifest('data/tones.jsonl'), multiple_choice())\n"
    )
    suite.run("--ab-prompts=choice-5", *workers).assert_outcomes(passed=1)
    decoded = (suite.path / "decoded.log").read_text().splitlines()
    assert len(decoded) == len(set(decoded)) > 0


COUNTING = """
import pytest_audiobench.audio.source_samples as source_samples

_read_file = source_samples.read_file
source_samples.SETTLE_S = -1.0  # files that were written a moment ago may be remembered, too

def _noted(source, path, *others):
    with open("decoded.log", "a") as log:
        log.write(f"{path}\\n")
    return _read_file(source, path, *others)

source_samples.read_file = _noted
"""
