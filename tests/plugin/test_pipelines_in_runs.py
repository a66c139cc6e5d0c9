"""Pipelines as models of runs: the store keeps what their parts answer, and a wrong file ends the run."""

import json
from pathlib import Path

import pytest

from tests.models.pipeline.parts import PIPELINE

PARTS = Path(__file__).parents[1] / "models" / "pipeline" / "parts.py"
SCENES = """
from pytest_audiobench import dataset, protocol

def test_scenes(evaluate):
    evaluate(dataset("soundscape_scenes", scenes=2), protocol("soundscape", encoder="static"))
"""


def _counts(suite):
    lines = (suite.path / "asked.jsonl").read_text("utf-8").splitlines()
    names = [json.loads(line)[0] for line in lines]
    return {name: names.count(name) for name in sorted(set(names))}


def test_a_run_with_one_part_exchanged_asks_that_part_alone(suite):
    pytest.importorskip("wordllama")
    suite.write(test_scenes=SCENES, parts=PARTS.read_text("utf-8"))
    (suite.path / "scene.toml").write_text(PIPELINE, encoding="utf-8")
    assert suite.run(model="pipeline:scene.toml").ret == 0
    first = _counts(suite)
    assert (first["voices"], first["sounds"]) == (2, 2)
    (suite.path / "scene.toml").write_text(PIPELINE.replace(":words", ":other_words"), encoding="utf-8")
    assert suite.run(model="pipeline:scene.toml").ret == 0
    assert _counts(suite) == {**first, "other_words": first["words"]}
    record, _ = suite.last()
    assert "no audio" in json.dumps(record)


def test_a_file_with_mistakes_ends_the_run_before_anything_is_asked(suite):
    suite.write(test_scenes=SCENES, parts=PARTS.read_text("utf-8"))
    (suite.path / "scene.toml").write_text(PIPELINE.replace("[describe]", "[decribe]"), encoding="utf-8")
    result = suite.run(model="pipeline:scene.toml")
    assert result.ret == 4
    assert "unknown key 'decribe'" in result.stderr.str() + result.stdout.str()
    assert not (suite.path / "asked.jsonl").exists()


def test_a_library_that_is_missing_ends_the_run_before_anything_is_asked(suite):
    suite.write(test_scenes=SCENES, parts=PARTS.read_text("utf-8"))
    (suite.path / "scene.toml").write_text(PIPELINE.replace("python:parts:voices", "sortformer"), encoding="utf-8")
    result = suite.run(model="pipeline:scene.toml")
    assert result.ret == 4
    assert "nemo_toolkit is not installed" in result.stderr.str() + result.stdout.str()
