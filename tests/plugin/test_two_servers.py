"""Two servers in one run: asked the same in turns, and the one gated against the other."""

import importlib.util
import json
import re
import xml.etree.ElementTree as ElementTree
from collections import Counter
from functools import partial
from itertools import groupby
from pathlib import Path

import pytest

pytest.importorskip("openai", reason="needs the openai library (pip install 'pytest-audiobench[openai]')")

EVALS = """
from pytest_audiobench import manifest, multiple_choice

def test_tones(evaluate):
    evaluate(manifest("data/tones.jsonl"), multiple_choice())

def test_tones_again(evaluate):
    evaluate(manifest("data/tones.jsonl"), multiple_choice())
"""


def _peer_module():
    file = Path(__file__).parents[1] / "models" / "openai" / "peer.py"
    spec = importlib.util.spec_from_file_location("openai_peer", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# Loaded before any test, as the laboratory is.
PEER = _peer_module()


class Pair:
    """Two servers, and in which order they were asked. Each is wrong about so many of ten tones."""

    def __init__(self, manifest):
        self.rows = self.rows_of(manifest)
        self.wrong, self.behaviour, self.order = {"base": 0, "candidate": 0}, {}, []
        self.wait_s, self.tokens = {"base": 0.0, "candidate": 0.0}, {"base": 1, "candidate": 1}
        self.servers = {name: PEER.Peer(partial(self._behave, name)) for name in self.wrong}

    @staticmethod
    def rows_of(manifest):
        rows = [json.loads(row) for row in manifest.read_text().splitlines()]
        # Tones of one length have other options.
        return {(row["choices"][0], n % 10): row for n, row in enumerate(rows)}

    def _behave(self, name, call):
        if name in self.behaviour:
            return self.behaviour[name](call)
        usage = {"prompt": 10 + sum(call.heard) // 640, "completion_tokens": self.tokens[name]}
        return PEER.Reply(PEER.completion(self.answer(name, call), **usage), wait_s=self.wait_s[name])

    def answer(self, name, call):
        if call.is_probe:
            return "A"
        first = re.search(r"\(A\) (\d+ Hz)", json.dumps(call.body["messages"]))[1]
        tenth = round((call.heard[0] / 16000 - 0.2) * 100)
        row = self.rows[first, tenth]
        self.order.append((name, row["id"]))
        return "ABCD"[(row["choices"].index(row["answer"]) + (tenth < self.wrong[name])) % 4]

    def asked(self, name):
        return [id_ for asked, id_ in self.order if asked == name]

    def models(self, **options):
        habits = "".join(f",{key}={value}" for key, value in options.items())
        return [f"--ab-model={name}=openai:tiny,base_url={peer.url}{habits}" for name, peer in self.servers.items()]


@pytest.fixture
def pair(suite, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    servers = Pair(suite.tones(40))
    suite.write(test_tones=EVALS)
    yield servers
    for peer in servers.servers.values():
        peer.stop()


def run(suite, pair, *args, gate="candidate:base", concurrency=4):
    return suite.run(*pair.models(concurrency=concurrency), f"--ab-gate={gate}", *args, model=None)


def lines(record):
    return {(item["eval"], item["model"]): item["regressions"] for item in record["items"]}


def test_a_worse_server_has_regressed_against_the_base_of_the_same_run(suite, pair):
    pair.wrong["candidate"] = 4
    ran = run(suite, pair, "-k", "not again", "--junitxml=junit.xml")
    assert ran.ret == 1
    ran.stdout.fnmatch_lines(
        ["compared with the model base (base = openai:tiny*", "regressed (1 of 1 comparison regressed)*"]
    )
    record, folder = suite.last()
    assert record["baseline"]["model"] == "base"
    assert [(item["model"], item["outcome"]) for item in record["items"]] == [
        ("base", "passed"),
        ("candidate", "failed"),
    ]
    (line,) = lines(record)["tones", "candidate"]
    assert (line["status"], line["baseline"], line["value"], line["worse"]) == ("regressed", 1.0, 0.6, 16)
    assert (line["pairs"], line["better"], lines(record)["tones", "base"]) == (40, 0, [])
    assert record["answers"]["asked"] == 80
    properties = {each.get("name"): each.get("value") for each in ElementTree.parse("junit.xml").iter("property")}
    assert (properties["eval.accuracy.verdict"], properties["eval.accuracy.baseline"]) == ("regressed", "1.0")
    assert (folder / "report.html").read_text().count("the model base")
    comment = suite.audiobench("comment", folder.name).stdout
    assert "regressed" in comment
    assert "the model base" in comment
    assert "Measured, not compared" not in comment
    # Four of each at a time, on the same samples; who was last in one round begins the next.
    turns = [list(turn) for _, turn in groupby(pair.order, key=lambda asked: asked[0])]
    assert [len(turn) for turn in turns] == [4, *[8] * 9, 4]
    for start in range(0, 80, 8):
        both = pair.order[start : start + 8]
        assert {id_ for name, id_ in both if name == "base"} == {id_ for name, id_ in both if name == "candidate"}


def test_equal_servers_are_green_with_workers_too_and_each_is_asked_once(suite, pair):
    pair.wrong.update(base=1, candidate=1)
    ran = run(suite, pair, "-n2", "--ab-max-drop=10pp")
    assert ran.ret == 0
    record, _ = suite.last()
    verdicts = lines(record)
    assert [verdicts[eval_, "candidate"][0]["status"] for eval_ in ("tones", "tones/tones_again")] == ["pass", "pass"]
    assert [verdicts[eval_, "candidate"][0]["lines"] for eval_ in ("tones", "tones/tones_again")] == [2, 2]
    for name in pair.wrong:
        assert Counter(pair.asked(name)) == dict.fromkeys(pair.asked(name), 1)
        assert len(pair.asked(name)) == 40


def test_a_run_that_one_server_broke_says_nothing_of_the_other_and_is_resumed(suite, pair):
    def broken(call):
        if len(pair.asked("base")) >= 12:
            return PEER.Reply({"error": {"message": "no"}}, 401)
        return PEER.Reply(PEER.completion(pair.answer("base", call), prompt=10 + sum(call.heard) // 640))

    pair.behaviour["base"] = broken
    ran = run(suite, pair, "-k", "not again")
    assert ran.ret == 6
    assert f"{pair.servers['base'].url} says 401: no" in ran.stdout.str()
    before = {name: len(pair.asked(name)) for name in pair.wrong}
    assert before["base"] == 12
    pair.behaviour.clear()
    ran = run(suite, pair, "-k", "not again")
    assert ran.ret == 0
    assert suite.last()[0]["answers"]["asked"] == 80 - sum(before.values())
    assert {name: len(set(pair.asked(name))) for name in pair.wrong} == {"base": 40, "candidate": 40}


def test_an_eval_that_one_of_the_two_cannot_be_asked_is_not_comparable(suite, pair):
    base, candidate = pair.models()
    ran = suite.run(f"{base},api=transcriptions", candidate, "--ab-gate=candidate:base", "-k", "not again", model=None)
    assert ran.ret == 6
    ran.stdout.fnmatch_lines(["*tones is not comparable, and nothing was asked: base cannot be asked it (*"])
    assert pair.order == []


@pytest.mark.parametrize(
    ("gate", "args", "why"),
    [
        ("candidate:main", (), "compares two models, and --ab-model gives base, candidate: name both as ALIAS=SPEC"),
        ("base:base", (), "takes CANDIDATE:BASE, two different aliases of --ab-model, not 'base:base'"),
        ("candidate:base", ("--ab-baseline=last",), "--ab-gate and --ab-baseline do not go together"),
    ],
)
def test_what_is_no_pair_is_refused_before_anything_is_asked(suite, pair, gate, args, why):
    ran = run(suite, pair, *args, gate=gate)
    assert ran.ret == pytest.ExitCode.USAGE_ERROR
    assert why in ran.stderr.str()
    assert not any(server.calls for server in pair.servers.values())


SLOW_LINES = """
[[threshold]]
eval = "*"
max_drop = "none"
require = ["latency.drop <= 5%", "token_time.drop <= 400%", "tokens.drop <= 50%", "throughput.drop <= 5%",
           "latency.p95.drop <= 5%", "first_token.drop <= 5%"]
"""


def test_a_slower_server_has_regressed_and_shorter_answers_are_said_beside_it(suite, pair):
    suite.tones(70)
    pair.rows = Pair.rows_of(suite.path / "data" / "tones.jsonl")
    (suite.path / "audiobench.toml").write_text(SLOW_LINES)
    pair.wait_s.update(candidate=0.1)
    pair.tokens.update(base=10, candidate=5)
    ran = run(suite, pair, "-k", "not again", concurrency=2)
    assert ran.ret == 1
    found = {line["metric"]: line for line in lines(suite.last()[0])["tones", "candidate"]}
    statuses = {name: line["status"] for name, line in found.items() if name != "token_time"}
    # Of totals: one stall of the machine leaves it inconclusive.
    assert statuses.pop("throughput") in ("regressed", "inconclusive")
    assert None not in (found["throughput"]["value"], found["throughput"]["baseline"])
    assert statuses == {
        "latency": "regressed",
        "tokens": "pass",
        "latency.p95": "not_comparable",
        "first_token": "not_comparable",
    }
    latency = found["latency"]
    # The first of 35 turns of two warms up.
    assert (latency["pairs"], latency["clusters"], latency["unit"]) == (68, 34, "s")
    assert latency["baseline"] < latency["value"]
    assert latency["drop"] == pytest.approx(latency["value"] / latency["baseline"] - 1.0)
    assert (latency["relative"], latency["margin"]) == (True, 0.05)
    assert "; answers are 50.0 % shorter (" in latency["detail"]
    assert found["tokens"]["drop"] == pytest.approx(-0.5)
    # Slower by the request, and by twice as much by the token.
    assert found["token_time"]["drop"] == pytest.approx(2.0 * latency["drop"] + 1.0)
    assert found["latency.p95"]["detail"] == "unmeasured: of 68 requests fewer than 10 lie beyond p95"
    assert "it is reported for streams only (stream=yes)" in found["first_token"]["detail"]
    ran.stdout.fnmatch_lines(["*latency.drop <= 5%*"])


def test_answers_of_the_store_are_not_timed_and_what_nobody_timed_is_not_green(suite, pair):
    (suite.path / "audiobench.toml").write_text('[[threshold]]\neval = "*"\nrequire = ["latency.drop <= 50%"]\n')
    run(suite, pair, "-k", "not again")
    ran = run(suite, pair, "-k", "not again", "--ab-reuse")
    assert ran.ret == 6
    (line,) = [line for line in lines(suite.last()[0])["tones", "candidate"] if line["metric"] == "latency"]
    assert line["status"] == "not_comparable"
    assert line["detail"] == "unmeasured: of 40 pairs 0 were asked in this run, in turns of both, and timed"


def test_models_whose_batches_are_planned_have_whole_windows_for_turns(suite):
    suite.tones(40)
    suite.write(test_tones=EVALS)
    models = [f"--ab-model={name}=tone:{name},log=asked.txt" for name in ("base", "candidate")]
    run_of_two = suite.run(*models, "--ab-gate=candidate:base", "-k", "not again", model=None)
    assert run_of_two.ret == 0
    record, _ = suite.last()
    (line,) = lines(record)["tones", "candidate"]
    assert (line["pairs"], line["drop"], line["worse"]) == (40, 0.0, 0)
    # Its power is of the candidate's line, with the flips between the two.
    power = suite.audiobench("power", "last", "--drop", "10pp", "--format", "csv").stdout
    assert [row.split(",")[0] for row in power.splitlines()[1:] if row.startswith("tones")] == ["tones"], power
    asked = Counter((suite.path / "asked.txt").read_text().splitlines())
    assert asked.pop("load") == 2
    assert asked == dict.fromkeys((f"tone-{n}" for n in range(40)), 2)
