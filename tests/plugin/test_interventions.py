"""Masks, noise and controls through real runs: selected by words, over workers, on record, verified from the files."""

import json

import pytest

from pytest_audiobench.audio.clip import DataRoot, FileSource
from pytest_audiobench.audio.clip_record import clip_of
from pytest_audiobench.audio.decode import decode
from pytest_audiobench.audio.edits.masks import segments

GRID = """
import pytest
from pytest_audiobench import manifest, multiple_choice, perturb
from pytest_audiobench.datasets.perturbations.catalogue import named_perturbations
from pytest_audiobench.datasets.perturbations.interventions import controls
from pytest_audiobench.datasets.perturbations.catalogue import noises
from pytest_audiobench.datasets.perturbations.interventions import masks

STEPS = [
    *named_perturbations("clean"), *masks(40, 100), *masks(40, 100, mode="scattered"), *masks(100, fill="noise"),
    *noises(-10, -30), *controls(),
]

@pytest.mark.parametrize("perturbation", STEPS, ids=str)
def test_tones(evaluate, perturbation):
    evaluate(perturb(manifest("data/tones.jsonl"), perturbation), multiple_choice())
"""


@pytest.fixture
def grid(suite):
    suite.tones()
    suite.write(test_tones=GRID)
    return suite


@pytest.mark.parametrize(
    ("words", "chosen"),
    [
        ("mask-p40", {"mask-p40", "mask-p40-scattered"}),
        ("mask and not scattered and not noise", {"mask-p40", "mask-p100"}),
        ("noise-m10dB", {"noise-m10dB"}),
        ("silence or swapped or text", {"silence", "swapped", "text"}),
    ],
)
def test_words_select_perturbations(grid, words, chosen):
    found = grid.run("--collect-only", "-q", "-k", words)
    assert {line.partition("[")[2].rstrip("]") for line in found.outlines if "test_tones[" in line} == chosen


def test_a_grid_over_workers_draws_its_curves_asks_nothing_twice_and_can_be_verified(grid, tmp_path):
    log = tmp_path / "asked.txt"
    grid.run("-n2", "--ab-run=first", log=log).assert_outcomes(passed=11)
    asked = [line for line in log.read_text().splitlines() if line != "load"]
    assert 11 * 40 > len(asked) > 5 * 40  # without their sound many tones are the same question, and are asked once
    grid.run("--ab-run=again", log=log).assert_outcomes(passed=11)
    assert [line for line in log.read_text().splitlines() if line != "load"] == asked
    record, folder = grid.last()
    (suite,) = record["suites"]
    curves = {curve["family"]: curve for curve in suite["curves"]}
    assert {name: [point["dose"] for point in curve["points"]] for name, curve in curves.items()} == {
        "mask": [40, 100],
        "mask-scattered": [40, 100],
        "noise": [-10, -30],
    }
    assert all(curve["points"][0]["value"] > curve["points"][1]["value"] for curve in curves.values())
    verified = grid.audiobench("verify", folder)
    assert verified.returncode == 0, verified.stdout + verified.stderr


def test_which_frames_were_masked_can_be_told_from_the_record(grid):
    grid.run("-k", "mask-p40").assert_outcomes(passed=2)
    _, folder = grid.last()
    rows = [json.loads(line) for line in (folder / "predictions.jsonl").read_text().splitlines()]
    root = DataRoot("data", grid.path / "data")
    told = 0
    for row in rows:
        (recipe,) = row["recipes"]
        clip = clip_of(recipe, lambda name: FileSource(root, name.rpartition(":")[2]))
        (edit,) = clip.edits
        heard = decode(clip, 16_000, None).samples
        written = dict(edit.parameters)
        for begin, end in segments(len(heard), 16_000, float(written["percent"]), written["mode"], edit.seed or ""):
            assert not heard[begin:end].any()
            told += 1
    assert len(rows) == 80
    assert told >= 80
