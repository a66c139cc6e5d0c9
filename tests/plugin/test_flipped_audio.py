"""The samples that a perturbation turns, on the page of real runs: whose sounds are there, serial and over workers."""

import json
import re

import pytest

FLIPS = """
import pytest
from pytest_audiobench import perturb
from pytest_audiobench.datasets.bundled import bundled
from pytest_audiobench.datasets.perturbations.catalogue import named_perturbations
from pytest_audiobench.datasets.perturbations.interventions import masks
from pytest_audiobench.protocols.reasoned_choice.task import reasoned_choice

(CLEAN,) = named_perturbations("clean")

def test_clean(evaluate):
    evaluate(perturb(bundled("digits"), CLEAN), reasoned_choice(), samples=16)

@pytest.mark.parametrize("perturbation", masks(20, 60, 90), ids=str)
def test_mask(evaluate, perturbation):
    evaluate(perturb(bundled("digits"), perturbation), reasoned_choice(against_clean=True), samples=16)
"""


def page(suite):
    """The page's data, and its sounds."""
    text = (suite.last()[1] / "report.html").read_text()
    data = json.loads(text.partition('id="data" type="application/json">')[2].partition("</script>")[0])
    return data, re.findall(r'class="sound" data-type="audio/mpeg">([^<]*)<', text)


def rows(suite, name):
    return [json.loads(line) for line in (suite.last()[1] / name).open()]


@pytest.fixture
def flipping(suite):
    suite.write(test_flips=FLIPS)
    return suite


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_the_first_samples_that_flip_at_the_smallest_dose_can_be_heard_both_ways(flipping, workers):
    assert flipping.run(workers, model="listener=baseline:listener").ret == 0
    data, sounds = page(flipping)
    (flipped,) = data["flips"]
    turned = {
        perturbation: {
            row["sample_id"]
            for row in rows(flipping, "scored_predictions.jsonl")
            if row["eval"].endswith(f"mask[{perturbation}]") and row["scores"]["flipped"]
        }
        for perturbation in ("mask-p20", "mask-p60", "mask-p90")
    }
    easiest = next(perturbation for perturbation, ids in turned.items() if ids)
    assert (flipped["perturbation"], flipped["count"]) == (easiest, len(turned[easiest]))
    assert {flip["sample_id"] for flip in flipped["flips"]} == turned[easiest]
    heard = [flip for flip in flipped["flips"] if flip["sounds"]]
    assert len(heard) == min(3, len(turned[easiest]))
    for flip in heard:
        versions = {sound[-1]: sounds[sound[1]] for sound in flip["sounds"]}
        assert set(versions) == {"clean", "changed"}
        assert versions["clean"] != versions["changed"]
        assert flip["before"] != flip["after"]
    before = [row for row in rows(flipping, "processed_predictions.jsonl") if "before" in row]
    assert {row["eval"] for row in before} == {f"flips/mask[{perturbation}]" for perturbation in turned}


def test_no_sound_is_left_where_none_is_wanted_and_every_changed_one_where_all_are(flipping):
    flipping.run("--ab-report-audio=none", model="listener=baseline:listener")
    data, sounds = page(flipping)
    assert sounds == []
    assert data["flips"]
    flipping.run("--ab-report-audio=all", model="listener=baseline:listener")
    data, sounds = page(flipping)
    versions = [sound[-1] for sound in data["samples"]["sounds"]]
    assert versions.count("changed") == 3 * 16
    assert versions.count("") == 16
    assert 0 < versions.count("clean") <= 3 * 3
