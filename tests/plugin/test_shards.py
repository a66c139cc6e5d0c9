"""A run in shards: each asks its windows, and what is merged of them is the run of one machine, or red and named."""

import json
import shutil
import sqlite3
from contextlib import closing

import pytest

from .conftest import EVAL

JUDGED = """
from pytest_audiobench import manifest, multiple_choice

def test_tones(evaluate):
    evaluate.require("accuracy >= 0.99")
    evaluate(manifest("data/tones.jsonl"), multiple_choice())

def test_few(evaluate):
    few = evaluate(manifest("few/tones.jsonl"), multiple_choice(), name="few")["accuracy"]
    many = evaluate(manifest("data/tones.jsonl"), multiple_choice(), name="many", samples=100)
    assert few > 0.99
"""
STUDIES = """
from pytest_audiobench import determinism, listening, manifest, multiple_choice

def test_listens(evaluate):
    listening(evaluate, manifest("few/tones.jsonl"), multiple_choice(), samples=None)

def test_repeats_itself(evaluate):
    determinism(evaluate, manifest("data/tones.jsonl"), multiple_choice(), samples=90, batch_sizes=(1, 3), copies=2)
"""
DRAWN = """
import hypothesis
from pytest_audiobench import drawn_perturbations, manifest, multiple_choice, perturb

@hypothesis.settings(max_examples=3)
@hypothesis.given(change=drawn_perturbations(gain_db=(-20, 0)))
def test_quiet(evaluate, change):
    evaluate.require("accuracy >= 0.99")
    evaluate(perturb(manifest("few/tones.jsonl"), change), multiple_choice())
"""


class Shards:
    """A suite that is run in parts, each with its own store as on its own machine."""

    def __init__(self, suite, count):
        self.suite, self.path, self.count = suite, suite.path, count
        self.numbers = range(1, count + 1)

    def ask(self, number, *args, model="tone:one", **options):
        """The exit code of a shard."""
        own = (f"--ab-shard={number}/{self.count}", f"--ab-store=shards/{number}/store.sqlite")
        options = {"log": f"log{number}", **options}
        self.ran = self.suite.run(*own, *args, model=model, **options)
        return self.ran.ret

    def ask_all(self, *args, **options):
        assert [self.ask(number, *args, **options) for number in self.numbers] == [0] * self.count

    def asked(self, number):
        """How many samples a shard's model was asked about."""
        file = self.path / f"log{number}"
        return sum(line != "load" for line in file.read_text().splitlines()) if file.exists() else 0

    def merge(self, *shards, args="", model="tone:one"):
        """The exit code, and the merged run's record, where there is one; its model is never asked."""
        words = f"-p no:cacheprovider -p no:anyio --ab-model={model},log=merged {args}"
        name = f"merged{len(self.suite.runs())}"
        done = self.suite.audiobench("merge", *(shards or ("shards",)), "--run", name, "--pytest", words)
        self.printed = done.stdout + done.stderr
        assert not (self.path / "merged").exists()
        file = self.path / "reports" / name / "run.json"
        return done.returncode, json.loads(file.read_text()) if file.exists() else None

    def whole(self, *args, **options):
        """The exit code and the record of one machine's run."""
        status = self.suite.run("--ab-store=whole.sqlite", "--ab-run=whole", *args, **options).ret
        return status, json.loads((self.path / "reports" / "whole" / "run.json").read_text())

    def lines(self, run):
        return (self.path / "reports" / run["run"] / "scored_predictions.jsonl").read_bytes()


def assert_same(merged, whole):
    """That two runs have the same hashes and figures."""
    keys = ("eval", "n", "hashes", "metrics", "verdicts", "limited", "outcome", "errors", "draws")
    assert [[item[key] for key in keys] for item in merged["items"]] == [
        [item[key] for key in keys] for item in whole["items"]
    ]
    assert merged["hashes"] == whole["hashes"]


def alone(file):
    """A manifest's rows, each of its own question."""
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    file.write_text(
        "".join(json.dumps({**row, "question": f"Which frequency has {row['id']}?"}) + "\n" for row in rows)
    )


@pytest.fixture
def few(suite):
    """Twelve tones, in one window."""
    shutil.move(suite.tones(12).parent, suite.path / "few")


@pytest.fixture
def shards(suite):
    """Three, of 130 tones in four windows."""
    alone(suite.tones(130))
    suite.write(test_tones=EVAL)
    return Shards(suite, 3)


def test_eight_shards_are_together_the_run_of_one_machine(suite):
    alone(suite.tones(280))
    suite.write(test_tones=EVAL)
    shards = Shards(suite, 8)
    shards.ask_all()
    counts = [shards.asked(number) for number in shards.numbers]
    assert sum(counts) == 280
    assert sum(count > 0 for count in counts) >= 3  # whole windows, of which so small a slice has few
    status, merged = shards.merge()
    assert (status, merged["answers"]["asked"], merged["shard"]) == (0, 0, None)
    status, whole = shards.whole(log="whole")
    assert status == 0
    assert_same(merged, whole)
    assert shards.lines(merged) == shards.lines(whole)


def test_a_shard_judges_nothing_and_says_so(few, shards):
    shards.suite.write(test_tones=JUDGED)
    shards.ask_all(deaf="yes")
    run, folder = shards.suite.last()
    assert run["shard"] == {"index": 3, "count": 3}
    assert {item["outcome"] for item in run["items"]} == {"skipped"}
    assert not any(item["verdicts"] for item in run["items"])
    shards.ran.stdout.fnmatch_lines(["*Shard 3 of 3: a part of every eval was asked, and nothing judged.*"])
    shards.ran.stdout.fnmatch_lines(["shard 3 of 3: not judged. * Merge the shards."])
    assert "shard 3 of 3: not judged" in (folder / "report.html").read_text()
    # Of the few in one window most shards have none, and all of them ask the many that come after.
    status, merged = shards.merge(model="tone:one,deaf=yes")
    assert status == 1
    tones, first, second = merged["items"]
    assert [verdict["status"] for verdict in tones["verdicts"]] == ["fail"]
    assert "assert" in first["message"]
    assert second["n"] >= 100
    assert_same(merged, shards.whole(deaf="yes")[1])


def test_a_lost_shard_is_named_and_mended_by_merging_again(shards):
    shards.ask_all()
    (shards.path / "shards" / "3").rename(shards.path / "late")
    status, merged = shards.merge()
    assert status == 6
    assert "missing: shard 3 of 3" in shards.printed
    (item,) = merged["items"]
    assert "was not asked to its end by shard 3 of 3" in item["message"]
    assert merged["exit_status"] == 6
    assert shards.merge("shards", "late")[0] == 0


def test_a_shard_that_was_killed_goes_on_where_it_was(shards):
    shards.ask_all()
    shutil.rmtree(shards.path / "shards" / "2")
    ids = (shards.path / "log2").read_text().splitlines()
    (shards.path / "log2").unlink()
    assert shards.ask(2, die=ids[len(ids) // 2], how="kill") not in (0, 1, 6)
    before = shards.asked(2)
    assert shards.merge()[0] == 6
    assert "missing: shard 2 of 3" in shards.printed
    assert shards.ask(2) == 0
    answered = len(ids) - 1  # without the line of the loading
    assert 0 < before < answered <= shards.asked(2) <= answered + 4
    assert_same(shards.merge()[1], shards.whole()[1])


@pytest.mark.parametrize("changes", [("model",), pytest.param(("data", "audio", "code"), marks=pytest.mark.slow)])
def test_a_shard_that_was_asked_otherwise_is_refused_by_name(shards, changes):
    def git(command):
        assert shards.suite.pytester.run("git", *command.split()).ret == 0

    def commit():
        git("add -A")
        git("-c user.name=a -c user.email=b commit -qm c")

    git("init -q")
    (shards.path / ".gitignore").write_text("*\n!*.py\n!*.txt\n")
    commit()
    shards.ask_all()
    rows, sounds = shards.path / "data" / "tones.jsonl", sorted((shards.path / "data").glob("*.wav"))
    before = {file: file.read_bytes() for file in [rows, *sounds]}
    for change in changes:
        shutil.rmtree(shards.path / "shards" / "2")
        if change == "data":
            rows.write_text(rows.read_text().replace("Which", "What"))
        if change == "audio":
            for file in sounds:
                file.write_bytes(before[sounds[0]])
        if change == "code":
            (shards.path / "another.txt").touch()
            commit()
        assert shards.ask(2, **({"deaf": "yes"} if change == "model" else {})) == 0
        for file, content in before.items():
            file.write_bytes(content)
        if change == "code":
            git("reset -q --hard HEAD~1")
        status, merged = shards.merge()
        assert status == 1
        assert f"is of other {change} in shard 2 of 3 than here" in merged["items"][0]["message"]


def test_answers_that_failed_are_those_of_one_machine_too(shards):
    unheard = "tone-7"
    statuses = [shards.ask(number, unheard=unheard) for number in shards.numbers]
    assert sorted(statuses) == [0, 0, 6]
    assert shards.merge()[0] == 6
    statuses = [shards.ask(number, "--ab-max-errors=1", unheard=unheard) for number in shards.numbers]
    assert statuses == [0, 0, 0]
    status, merged = shards.merge(args="--ab-max-errors=1")
    assert status == 0
    assert_same(merged, shards.whole("--ab-max-errors=1", unheard=unheard)[1])


@pytest.mark.slow
def test_studies_are_asked_once_whatever_batches_they_want(few, shards):
    shards.suite.write(test_tones=STUDIES)
    shards.ask_all()
    status, merged = shards.merge()
    assert status == 0
    assert_same(merged, shards.whole()[1])


def test_what_hypothesis_draws_is_asked_by_one_shard(few, shards):
    shards.suite.write(test_tones=DRAWN)
    own = ("-p", "no:cacheprovider", "-p", "no:anyio")
    for number in shards.numbers:
        part = (f"--ab-shard={number}/3", f"--ab-store=shards/{number}/store.sqlite")
        assert shards.suite.pytest(*own, "--ab-model=tone:one,deaf=yes", *part).ret == 0
    status, merged = shards.merge(model="tone:one,deaf=yes")
    assert status == 1
    assert merged["items"][0]["draws"]["draws"]
    shards.suite.pytest(*own, "--ab-model=tone:one,deaf=yes", "--ab-store=whole.sqlite", "--ab-run=whole")
    assert_same(merged, json.loads((shards.path / "reports" / "whole" / "run.json").read_text()))


def test_workers_share_a_shard_and_its_merge(shards):
    shards.ask_all("-n2")
    status, merged = shards.merge(args="-n2")
    assert status == 0
    assert_same(merged, shards.whole()[1])


def test_a_batch_that_no_shard_answered_is_named_by_its_shard(shards):
    shards.ask_all()
    with closing(sqlite3.connect(shards.path / "shards" / "1" / "store.sqlite")) as connection, connection:
        connection.execute("DELETE FROM answer WHERE id = 1")
    status, merged = shards.merge()
    assert status == 6
    assert "of 130 answers (4 of shard 1)" in merged["items"][0]["message"]


def test_a_damaged_answer_is_left_out_and_named(shards):
    shards.ask_all()
    with closing(sqlite3.connect(shards.path / "shards" / "1" / "store.sqlite")) as connection, connection:
        connection.execute("UPDATE answer SET outputs = replace(outputs, 'text', 'test') WHERE id = 1")
    assert shards.merge()[0] == 6
    assert "store.sqlite: 1 damaged answers were left out" in shards.printed


@pytest.mark.parametrize("text", ["0/4", "5/4", "1/0", "x", "1", "1/", "/4", "-1/4", "all", "all/0", "1/4/2"])
def test_a_shard_that_cannot_be_is_refused(shards, text):
    result = shards.suite.run(f"--ab-shard={text}")
    assert result.ret == 4
    assert "--ab-shard takes I/N, from 1/N to N/N, or all/N" in result.stderr.str()


def test_merging_nothing_or_shards_of_two_runs_is_refused(shards):
    (shards.path / "shards").mkdir()
    assert shards.merge()[0] == 4
    assert "holds no store" in shards.printed
    (shards.path / "empty.sqlite").touch()
    assert shards.merge("empty.sqlite")[0] == 4
    assert "audiobench: empty.sqlite is a database of something else" in shards.printed
    assert shards.suite.run("--ab-store=plain.sqlite").ret == 0
    assert shards.merge("plain.sqlite")[0] == 4
    assert "of no run with --ab-shard" in shards.printed
    assert shards.ask(1) == 0
    assert shards.suite.run("--ab-shard=1/2", "--ab-store=shards/other.sqlite").ret == 0
    assert shards.merge()[0] == 4
    assert "of 2 and of 3: give those of one run's shards" in shards.printed
