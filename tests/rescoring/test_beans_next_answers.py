"""Six models' answers that BEANS-Next recorded: processed and scored as there to the last digit, ours beside them.

What is compared with BEANS-Next itself needs an interpreter in which it is installed: ``BEANS_NEXT_PYTHON``.
"""

import json
import os
import subprocess
from collections import Counter
from functools import cache
from itertools import groupby
from pathlib import Path

import pytest

from pytest_audiobench.cli import main
from pytest_audiobench.compat.beans_next import read
from pytest_audiobench.protocols.bioacoustic.data_set_scores import dataset_scores
from pytest_audiobench.protocols.bioacoustic.pipeline import process, steps_of_run, steps_of_score_from_file
from pytest_audiobench.protocols.bioacoustic.scoring import sample_scores
from pytest_audiobench.rescoring.layouts import source_of
from pytest_audiobench.rescoring.rescore import ScoringOptions, rescore

PAIRS = Path(__file__).parents[3] / "shared" / "data" / "beans_next" / "pairs.jsonl"
THEIRS = os.environ.get("BEANS_NEXT_PYTHON", "")
FIXTURE = "from pathlib import Path; import beans_next; print(Path(beans_next.__file__).parents[1] / 'tests/fixtures')"
RECORDED_WITHOUT_KIND = "call-type-fixed-vocab"
"""Its rows say that it is a classification, and were processed as a task of no kind."""

SCORING = """
import json, sys
from beans_next.api.types import DatasetExample
from beans_next.metrics import score_sample
from beans_next.post_process.pipeline import PostProcessResult
from beans_next.runner._utils import compute_dataset_level_metrics
scored = []
for task, rows in json.load(sys.stdin):
    each = [
        score_sample(
            DatasetExample(sample_id="s", labels=target), post=PostProcessResult([text], text, ()),
            raw_predictions=[raw], task_type=task,
        )
        for text, raw, target in rows
    ]
    scored.append([each, compute_dataset_level_metrics([(text, target) for text, _, target in rows], task)])
print(json.dumps(scored))
"""


@pytest.fixture(params=["part", "whole"])
def pairs(request):
    """The recorded answers: the part beside this checkout, and the whole where BEANS-Next is installed."""
    if request.param == "part":
        if not PAIRS.is_file():
            pytest.skip(f"the recorded answers do not lie beside this checkout (looked for {PAIRS})")
        return PAIRS
    fixtures = Path(theirs(FIXTURE).strip())
    return fixtures / "pairs" / "beans_next_pairs_all6_full.jsonl"


def theirs(program, given=""):
    if not THEIRS:
        pytest.skip("BEANS_NEXT_PYTHON names no interpreter in which BEANS-Next is installed")
    done = subprocess.run([THEIRS, "-c", program], input=given, capture_output=True, text=True, check=True)
    return done.stdout


def processed(file):
    """By task: its kind, and rows of processed text, raw text, target and what was recorded."""
    tasks = {}
    for row in read(file):
        tasks.setdefault(row.eval, []).append(row)
    for task, rows in tasks.items():
        kind = "detection" if "detection" in rows[0].family else "classification"
        targets = [row.stored["targets"] for row in rows]
        without_kind = task == RECORDED_WITHOUT_KIND
        steps = steps_of_score_from_file(None, targets) if without_kind else steps_of_run(kind, (), targets)
        texts = [(process(row.responses["answer"].text, steps).text, row.responses["answer"].text) for row in rows]
        yield kind, [(*pair, row.stored["targets"], row) for pair, row in zip(texts, rows, strict=True)]


@cache
def rescored(file):
    return rescore(source_of(file), ScoringOptions(("bioacoustic", "beans-run")))


def test_every_answer_is_processed_as_it_was_recorded(pairs):
    rows = [row for _, rows in processed(pairs) for row in rows]
    assert len(rows) == len(pairs.read_text().splitlines())
    assert [text for text, _, _, _ in rows] == [row.stored["processed_prediction"] for _, _, _, row in rows]


def test_every_score_is_that_of_beans_next_to_the_last_digit(pairs):
    theirs("import beans_next")
    tasks = [(kind, [row[:3] for row in rows]) for kind, rows in processed(pairs)]
    # Lists of labels have scores of their own.
    listed = [(kind, [(text, raw, target.split(", ")) for text, raw, target in rows]) for kind, rows in tasks]
    ours = [
        [
            [sample_scores(target, text, raw, kind) for text, raw, target in rows],
            dataset_scores([(text, target) for text, _, target in rows], kind),
        ]
        for kind, rows in (*tasks, *listed)
    ]
    assert ours == json.loads(theirs(SCORING, json.dumps([*tasks, *listed])))


def test_the_named_scorers_have_the_recorded_scores(pairs):
    """Where BEANS-Next scores one label, the accuracy of its rules is the share of recorded texts that are right."""
    right = Counter(
        (row.eval, row.model)
        for row in read(pairs)
        if " ".join(row.stored["processed_prediction"].split()) == " ".join(row.stored["targets"].split())
    )
    compared = 0
    for item in rescored(pairs).items:
        values = {
            metric.name: metric.value for metric in item.metrics if not metric.group and metric.scorer == "beans-run"
        }
        if item.eval != RECORDED_WITHOUT_KIND:
            assert values.get("accuracy", values.get("beans_accuracy")) == right[item.eval, item.model] / item.n
            compared += 1
    assert compared >= 30


def test_one_command_scores_every_task_by_ours_and_the_published_rules(pairs, capsys):
    assert main(["score", str(pairs), "--format", "json"]) == 0
    items = json.loads(capsys.readouterr().out)
    tasks = {(row.eval, row.model) for row in read(pairs)}
    assert {(item["eval"], item["model"]) for item in items} == tasks
    for item in items:
        scorers = {row["scorer"] for table in item["metrics"] for row in table["rows"]}
        assert scorers >= {"beans-run", "beans-score-from-file", "beans-zero"}
        assert "bioacoustic" in scorers


@pytest.mark.slow
def test_tasks_of_the_fundamental_frequency_lie_below_the_majority(pairs, capsys):
    assert main(["score", str(pairs)]) == 0
    said = capsys.readouterr().out
    assert "below the majority: f0-mean-seen-taxa: 6 of 6 models" in said
    study = said.partition("\n\n6 models in ")[2]
    assert study.count("\n  af3 ") == len({row.eval for row in read(pairs)})
    assert study.count("majority") >= len({row.eval for row in read(pairs)})
    assert max(map(len, study.splitlines())) <= 80


def test_tasks_that_are_declared_are_read_by_their_declarations(pairs):
    signatures = {item.eval: [scorer.signature for scorer in item.scorers] for item in rescored(pairs).items}
    assert signatures["bird-presence"][0].startswith("bioacoustic:classification|v:2|labels:task|")
    assert signatures["bird-presence"][1] == "beans-next:run|v:0.1.0|task:detection|labels:targets"
    assert signatures["call-type-fixed-vocab"][0].startswith("bioacoustic:detection|v:2|labels:task|")
    assert signatures["f0-mean-seen-taxa"][0].startswith("bioacoustic:number|v:1|unit:Hz|within:10%|")
    assert "|labels:task|" in signatures["zebra-description"][0]


def test_answers_of_one_task_lie_together_for_every_model(pairs):
    runs = [key for key, _ in groupby(read(pairs), lambda row: (row.eval, row.model))]
    assert len(runs) == len(set(runs))
