"""Real transformers models, small enough to be tested with, asked through the plugin as a user would ask them."""

import importlib.util
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
CHECKPOINTS = ROOT / "fixtures" / "checkpoints"
BUNDLED = ROOT / "fixtures" / "bundled"
SHARED = ROOT.parent / "shared" / "data"
SAKURA_IS_HERE = (SHARED / "sakura").is_dir()
WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]

pytestmark = pytest.mark.skipif(
    not (importlib.util.find_spec("torch") and importlib.util.find_spec("transformers")),
    reason="needs torch and transformers (pip install 'pytest-audiobench[hf]')",
)


class Done(NamedTuple):
    """A run that has ended: its exit code, what the terminal showed, its record and its folder."""

    code: int
    shown: str
    record: dict
    folder: Path

    def items(self):
        return {item["model"]: item for item in self.record["items"]}


class Suite:
    """A folder with the benchmark's evals, outside the checkout, so that stores and reports stay out of it."""

    def __init__(self, folder, forks):
        self.folder, self._forks = folder, forks
        shutil.copytree(ROOT / "evals", folder / "evals", ignore=shutil.ignore_patterns("__pycache__"))
        (folder / "pytest.ini").write_text("[pytest]\n")

    def command(self, name, *args, models):
        asked = [f"--ab-model=hf:{folder},device=cpu{options}" for folder, options in models]
        kept = [f"--ab-run={name}", "-p", "no:cacheprovider", "-p", "no:hypothesispytest", "-p", "no:anyio"]
        if not any(arg.startswith("--ab-store") for arg in args):
            kept.append(f"--ab-store={name}.sqlite")
        return [*asked, *kept, *args]

    def run(self, name, *args, models, forks=None, **environment):
        environment = {**os.environ, "COLUMNS": "140", **environment}
        done = (forks or self._forks).pytest(self.command(name, *args, models=models), self.folder, environment)
        shown = done.stdout + done.stderr
        folder = self.folder / "reports" / name
        assert (folder / "run.json").is_file(), shown
        return Done(done.returncode, shown, json.loads((folder / "run.json").read_text()), folder)


@pytest.fixture(scope="module")
def suite(tmp_path_factory, forks_with_torch):
    return Suite(tmp_path_factory.mktemp("suite"), forks_with_torch)


def bundled(*names):
    return [(CHECKPOINTS / name, "") for name in names]


def accuracy(item, **group):
    found = [m for m in item["metrics"] if (m["name"], m["group"]) == ("accuracy", group)]
    assert len(found) == 1
    return found[0]


def count_right(item):
    metric = accuracy(item)
    return round(metric["value"] * metric["n"], 6)


# Recorded digits


FSDD = """
from pytest_audiobench import manifest, multiple_choice

def test_fsdd(evaluate):
    evaluate(manifest("takes/takes.jsonl", groups=("speaker",)), multiple_choice(prompt="{question}"))
"""


@pytest.fixture(scope="module")
def spoken_digits(tmp_path_factory, forks_with_torch):
    """Two stages of one training, asked about takes 0 to 4 of every digit and speaker of FSDD, in one run."""
    if not ((SHARED / "fsdd").is_dir() and (SHARED / "checkpoints").is_dir()):
        pytest.skip(f"needs the recordings and the checkpoints in {SHARED}/fsdd and {SHARED}/checkpoints")
    suite = Suite(tmp_path_factory.mktemp("fsdd"), forks_with_torch)
    takes = suite.folder / "takes"
    takes.mkdir()
    lines = []
    for source in sorted((SHARED / "fsdd" / "recordings").glob("*_[0-4].wav")):
        digit, speaker, take = source.stem.split("_")
        shutil.copy(source, takes)
        row = {"id": source.stem, "audio": source.name, "question": "Which digit?", "choices": WORDS}
        row |= {"answer": WORDS[int(digit)], "metadata": {"speaker": speaker, "take": int(take)}}
        lines.append(json.dumps(row))
    (takes / "takes.jsonl").write_text("\n".join(lines) + "\n")
    (suite.folder / "test_fsdd.py").write_text(FSDD)
    # Training padded its clips to half a second; larger batches than the default are quicker here.
    stages = [(SHARED / "checkpoints" / f"fsdd-qwen2audio-epoch{epoch}", ",pad_s=0.5,batch=64") for epoch in (4, 20)]
    done = suite.run("fsdd", "test_fsdd.py", models=stages)
    assert done.code == 0, done.shown
    return {alias.rpartition("-")[2]: item for alias, item in done.items().items()}


def test_accuracy_on_recorded_digits_is_what_training_measured(spoken_digits):
    assert {item["n"] for item in spoken_digits.values()} == {300}
    assert count_right(spoken_digits["epoch20"]) == 287
    # The early stage's figure is known to whole per cents.
    assert abs(count_right(spoken_digits["epoch4"]) - 66) <= 2


def test_accuracy_is_told_by_speaker_and_adds_up(spoken_digits):
    for item in spoken_digits.values():
        speakers = [m for m in item["metrics"] if m["name"] == "accuracy" and set(m["group"]) == {"speaker"}]
        assert [m["n"] for m in speakers] == [50] * 6
        assert round(sum(m["value"] * m["n"] for m in speakers), 6) == count_right(item)


# A threshold between good and poor


THRESHOLDS = """
[[threshold]]
eval = "bundled/digits"
require = ["accuracy >= 0.9"]

[[threshold]]
eval = "bundled/*"
model = "good*"
require = ["accuracy.lower >= 0.85"]
"""


@pytest.fixture(scope="module")
def gated(tmp_path_factory, forks_with_torch):
    """Three checkpoints held against thresholds in one run."""
    suite = Suite(tmp_path_factory.mktemp("gated"), forks_with_torch)
    (suite.folder / "audiobench.toml").write_text(THRESHOLDS)
    models = bundled("good", "good-seed2", "poor")
    return suite.run("gated", "evals/test_bundled.py", "-k", "digits", models=models)


def test_the_good_checkpoints_pass_a_threshold_that_the_poor_one_fails(gated):
    assert gated.code == 1
    assert "1 failed, 2 passed" in gated.shown
    statuses = {
        model: {verdict["threshold"]: verdict["status"] for verdict in item["verdicts"]}
        for model, item in gated.items().items()
    }
    both = {"accuracy >= 0.9": "pass", "accuracy.lower >= 0.85": "pass"}
    assert statuses == {"good": both, "good-seed2": both, "poor": {"accuracy >= 0.9": "fail"}}


def test_a_failed_threshold_shows_its_table_and_no_traceback(gated):
    poor = gated.items()["poor"]
    metric = accuracy(poor)
    covered = next(m["value"] for m in poor["metrics"] if m["name"] == "coverage" and not m["group"])
    interval = f"[{100 * metric['lower']:.1f} to {100 * metric['upper']:.1f}]"
    row = ["accuracy", f"{100 * metric['value']:.1f} %", interval, "80", f"{100 * covered:.1f} %", ">= 0.9", "fail"]
    assert re.search(r"^\s*metric +value +interval +n +parse rate +threshold +verdict$", gated.shown, re.MULTILINE)
    assert re.search(" +".join(map(re.escape, row)), gated.shown), gated.shown
    assert "Traceback" not in gated.shown
    assert not re.search(r"\.py:\d+", gated.shown)


# Recordings that the model was not made for, and a plain test beside them


BY_EAR = """
def test_by_ear(model, audio):
    said = model.ask(audio.load({clip!r}), {question!r})
    assert said.text == {answer!r}
    assert said.finish == "stop"
    assert model.device == "cpu"
    assert (model.limits.rate_hz, model.limits.max_clip_s) == (16_000, 3.0)
"""


@pytest.fixture(scope="module")
def listening(suite):
    """One run of SAKURA's animals (skipped where they are not) and of a test that asks about one clip itself."""
    row = json.loads((BUNDLED / "emotion.jsonl").read_text().splitlines()[0])
    options = "\n".join(f"({letter}) {choice}" for letter, choice in zip("ABC", row["choices"], strict=True))
    question = f"{row['question']}\n{options}\nAnswer with the letter of the correct option."
    clip = str(BUNDLED / row["audio"])
    (suite.folder / "test_plain.py").write_text(BY_EAR.format(clip=clip, question=question, answer=row["answer"]))
    args = ["-v", "-k", "by_ear or (sakura and animal and single)", "--ab-limit=20"]
    if SAKURA_IS_HERE:
        args.append(f"--ab-data=sakura={SHARED}/sakura")
    return suite.run("listening", "evals", "test_plain.py", *args, models=bundled("good"))


def test_a_plain_test_may_ask_the_model_about_one_clip(listening):
    assert listening.code == (0 if SAKURA_IS_HERE else 1), listening.shown  # what was required was not measured
    assert re.search(r"^test_plain.py::test_by_ear PASSED", listening.shown, re.MULTILINE), listening.shown


@pytest.fixture
def animals(listening):
    if not SAKURA_IS_HERE:
        pytest.skip(f"needs SAKURA's clips in {SHARED}/sakura")
    assert listening.code == 0, listening.shown
    return listening


def test_a_limited_run_of_sakura_says_that_it_is_limited(animals):
    (item,) = animals.record["items"]
    assert item["eval"] == "sakura[animal-single]"
    assert item["limited"]
    # A limit ends with a window, so that its batches are the full run's.
    assert 20 <= item["n"] < 100
    assert not item["errors"]
    assert "Limited: only part of the samples was asked. Never comparable with a full run." in animals.shown
    assert f"limited to {item['n']} of 100 samples" in animals.shown


def test_clips_beyond_the_models_window_are_counted_and_reported(animals):
    (item,) = animals.record["items"]
    rows = [json.loads(line) for line in (animals.folder / "predictions.jsonl").read_text().splitlines()]
    beyond = [clip["duration_s"] - 3 for row in rows for clip in row["audio"] if clip["duration_s"] > 3]
    assert 0 < len(beyond) <= item["n"]
    assert item["asking"]["truncated_clips"] == len(beyond)
    said = f"{len(beyond)} of {item['n']} samples were cut to the model's window (up to {max(beyond):.1f} s lost)"
    assert said in animals.shown


def test_answers_that_are_no_option_are_wrong_and_the_low_coverage_is_shown(animals):
    (item,) = animals.record["items"]
    covered = item["scorers"][0]["coverage"]
    assert covered["parsed"] < 0.5 * covered["n"]
    assert accuracy(item)["n"] == item["n"]
    assert count_right(item) <= covered["parsed"]
    share = f"{100 * covered['parsed'] / covered['n']:.1f} %"
    assert re.search(
        rf"^sakura\[animal-single\] +accuracy .* {item['n']} +{re.escape(share)}", animals.shown, re.MULTILINE
    )


# One command, run in several ways


TWO = ("evals/test_bundled.py", "-k", "digits or emotion")


@pytest.fixture(scope="module")
def serial(suite):
    done = suite.run("serial", *TWO, models=bundled("good"))
    assert done.code == 0, done.shown
    assert asked_and_known(done) == (152, 0)
    return done


def asked_and_known(done):
    counts = [item["asking"] for item in done.record["items"]]
    assert not any(count["noise"] for count in counts)
    return sum(count["asked"] for count in counts), sum(count["known"] for count in counts)


def identity(done):
    """All that must be equal however a run came about."""
    hashes = [(item["eval"], item["hashes"]["input_hash"], item["hashes"]["run_hash"]) for item in done.record["items"]]
    whole = done.record["hashes"]
    return whole["input_hash"], whole["run_hash"], hashes, (done.folder / "scored_predictions.jsonl").read_bytes()


def answers_in(store):
    """How many answers a store holds, looked at without touching it; none while it is being made."""
    try:
        with closing(sqlite3.connect(f"{store.as_uri()}?mode=ro", uri=True)) as connection:
            return connection.execute("SELECT count(*) FROM answer").fetchone()[0]
    except sqlite3.OperationalError:
        return 0


def test_two_workers_give_what_one_process_gives(suite, serial):
    done = suite.run("parallel", *TWO, "-n2", models=bundled("good"))
    assert done.code == 0, done.shown
    assert asked_and_known(done) == (152, 0)
    assert identity(done) == identity(serial)


@pytest.mark.slow
def test_a_run_that_was_killed_goes_on_and_gives_the_same(suite, serial):
    store = suite.folder / "resumed.sqlite"
    command = [sys.executable, "-m", "pytest"]
    command += suite.command("killed", *TWO, f"--ab-store={store}", models=bundled("good"))
    process = subprocess.Popen(command, cwd=suite.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    give_up = time.monotonic() + 120
    while process.poll() is None and not answers_in(store) and time.monotonic() < give_up:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert not (suite.folder / "reports" / "killed" / "run.json").exists()
    held = answers_in(store)
    assert 0 < held < 152

    done = suite.run("resumed", *TWO, f"--ab-store={store}", models=bundled("good"))
    assert done.code == 0, done.shown
    # What was answered is not asked again; only the batch in flight may have been asked in vain.
    assert asked_and_known(done) == (152 - held, held)
    assert answers_in(store) == 152
    assert identity(done) == identity(serial)


@pytest.fixture
def no_torch(tmp_path):
    """An environment in which torch and transformers cannot be imported."""
    for name in ("torch", "transformers"):
        (tmp_path / f"{name}.py").write_text(f"raise ImportError('{name} was imported', name='{name}')\n")
    return {"PYTHONPATH": os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))}


def test_a_run_whose_answers_are_known_never_imports_torch(suite, serial, forks, no_torch):
    store = suite.folder / "serial.sqlite"
    done = suite.run("cached", *TWO, f"--ab-store={store}", models=bundled("good"), forks=forks, **no_torch)
    assert done.code == 0, done.shown
    assert asked_and_known(done) == (0, 152)
    assert identity(done) == identity(serial)


def test_without_torch_a_run_that_must_ask_says_what_to_install(suite, forks, no_torch):
    done = suite.run("torchless", *TWO, models=bundled("good"), forks=forks, **no_torch)
    assert done.code == 1
    assert "needs torch: pip install 'pytest-audiobench[hf]'" in " ".join(done.shown.split())
    assert "Traceback" not in done.shown
