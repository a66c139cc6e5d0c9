"""The audiobench tool's recorded runs of sound identification, counted again by its own parser's rule."""

import json
import math
from pathlib import Path

import pytest

from pytest_audiobench import with_prompt_variants
from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.metrics.estimates import value_of
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.models.messages import Response
from pytest_audiobench.protocols.presence.task import presence
from pytest_audiobench.protocols.prompt_sets import YESNO, PromptSet

RUNS = Path(__file__).parents[4] / "shared" / "data" / "audiobench-runs"


def sound_runs():
    if not RUNS.is_dir():
        return []
    each = ((path.stem, json.loads(path.read_text())) for path in sorted(RUNS.glob("*.json")))
    return [pytest.param(run, id=name) for name, run in each if run["suite"] == "ab/sound-id"]


RECORDED = sound_runs() or [pytest.param(None, marks=pytest.mark.skip(reason=f"needs the recorded runs in {RUNS}"))]


def texts_of(probe):
    return [one["raw_answer"] for one in probe.get("paraphrase_answers", [])] or [probe["raw_answer"]]


def protocol_of(run):
    """As many wordings as the run asked; what they were plays no part, since they were answered already."""
    count = len(texts_of(run["per_mixture"][0]["probes"][0]))
    return with_prompt_variants(presence("ab-yesno"), YESNO, count)


def samples_of(run):
    for mixture in run["per_mixture"]:
        for probe in mixture["probes"]:
            metadata = {"label": probe["label"], "pack": mixture["pack"], "condition": mixture["condition"]}
            name = f"{mixture['mixture_name']}/{probe['label']}"
            yield Sample(name, (), "", reference="yes" if probe["expected"] else "no", metadata=metadata), probe


def scored(run):
    protocol = protocol_of(run)
    scorer = protocol.scorers[0]
    found = []
    for sample, probe in samples_of(run):
        told = {stage.name: Response.of(text) for stage, text in zip(protocol.stages, texts_of(probe), strict=True)}
        answer = scorer.parse(sample, told)
        assert (answer.value == "yes") is probe["answered_yes"]
        found.append((sample, scorer.score(sample, answer)))
    return found


def value(metric, rows):
    return value_of(metric_kind(metric), [statistics for _, statistics in rows])


def same(found, published):
    """Theirs is 0 where a denominator is; ours has no value."""
    return found == published or (math.isnan(found) and published == 0.0)


@pytest.mark.parametrize("run", RECORDED)
def test_its_headline_comes_out_exactly(run):
    rows, headline = scored(run), run["headline"]
    assert value("components_understood", rows) == headline["components_understood"]
    assert sum(one["present"] for _, one in rows) == headline["components_present"]
    assert same(value("recall", rows), headline["weighted_recall"])
    assert same(value("fpr", rows), headline["weighted_fpr"])
    cliff = value("solo_quad_cliff", rows)
    assert (None if math.isnan(cliff) else cliff) == headline["solo_quad_cliff"]


@pytest.mark.parametrize("run", RECORDED)
@pytest.mark.parametrize(("field", "table"), [("label", "per_class"), ("condition", "per_condition")])
def test_every_class_and_condition_comes_out_exactly(run, field, table):
    every = scored(run)
    compared = 0
    for pack, summary in run["pack_summaries"].items():
        for name, published in summary[table].items():
            rows = [one for one in every if one[0].metadata[field] == name and one[0].metadata["pack"] == pack]
            for metric in ("recall", "precision", "fpr", "components_understood"):
                assert same(value(metric, rows), published[metric])
            # Theirs goes by way of precision and recall, which rounds otherwise.
            assert value("f1", rows) == pytest.approx(published["f1"], abs=1e-15) or same(
                value("f1", rows), published["f1"]
            )
            compared += 1
    assert compared


def test_the_wordings_of_its_runs_have_the_digest_that_the_runs_record():
    run = next(
        (one.values[0] for one in RECORDED if one.values[0] and "prompt_paraphrases_hash" in one.values[0]["config"]),
        None,
    )
    if run is None:
        pytest.skip(f"needs the recorded runs in {RUNS}")
    assert run["config"]["prompt_paraphrases_hash"] == YESNO.digest
    assert run["config"]["prompt_version"] == YESNO.version
    assert PromptSet("other", YESNO.paraphrases, source="elsewhere").digest == YESNO.digest
