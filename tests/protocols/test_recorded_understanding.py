"""SLURP's scorer on its publisher's predictions: our rule gives what its script prints, as the benchmark cites it."""

import json
from pathlib import Path

import pytest

from pytest_audiobench.datasets.declaration import read_declarations
from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.models.messages import Response
from pytest_audiobench.protocols.understanding import understanding

ROOT = Path(__file__).parents[2]
RECORDED = ROOT.parent / "shared" / "data" / "outputs" / "slurp"
pytestmark = pytest.mark.skipif(not RECORDED.is_dir(), reason=f"the recorded predictions are not at {RECORDED}")


def rows(name):
    with (RECORDED / name).open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


@pytest.fixture(scope="module")
def statistics():
    predictions = {row["slurp_id"]: row for row in rows("gold_sfid_predictions.jsonl")}
    scorer = understanding("slurp").scorers[0]
    scores = []
    for row in rows("test.jsonl"):
        true = f"{row['scenario']}_{row['action']}: {row['sentence_annotation']}"
        sample = Sample(str(row["slurp_id"]), (), "", reference=true)
        text = json.dumps(predictions[sample.id])
        scores.append(scorer.score(sample, scorer.parse(sample, {"answer": Response.of(text)})))
    return scores


@pytest.mark.parametrize("part", ["scenario", "action"])
def test_scenarios_and_actions_are_right_as_often_as_the_predictions_hold_the_true_ones(part, statistics):
    predictions = {row["slurp_id"]: row for row in rows("gold_sfid_predictions.jsonl")}
    true = rows("test.jsonl")
    right = sum(predictions[str(row["slurp_id"])][part] == row[part] for row in true)
    assert metric_kind(f"{part}_accuracy").estimate(statistics, None).value == right / len(true)


@pytest.mark.parametrize("metric", ["intent_accuracy", "entity_f1", "slu_word_f1", "slu_char_f1", "slu_f1"])
def test_the_published_predictions_have_the_published_figures(metric, statistics):
    published = read_declarations(ROOT / "evals" / "slurp.audiobench.toml")[""].published
    (row,) = [row for row in published if "gold_sfid" in row.source and row.metric == metric]
    assert (row.n, row.scorer) == (len(statistics), "slurp")
    assert metric_kind(metric).estimate(statistics, None).value == pytest.approx(row.value, abs=1e-8)
