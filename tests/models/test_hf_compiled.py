"""``compile=yes``: the steps of an answer compiled by torch, over a cache of fixed size."""

import importlib
import os

import pytest

from pytest_audiobench.errors import FatalError, UsageError
from pytest_audiobench.models.hf.model import HfModel


@pytest.fixture
def folder_of(built, tiny_checkpoint):
    return lambda family: str(tiny_checkpoint if family == "qwen2_audio" else built(family))


@pytest.fixture
def traced(monkeypatch):
    """Torch traces the steps and runs what it traced as it is, since its own compiler takes a quarter of a minute."""
    engine = importlib.import_module("pytest_audiobench.models.hf.engine")
    import torch

    real = engine.compile_config

    def traced_only(model, setup):
        config = real(model, setup)
        config.backend, config.mode = "eager", None
        return config

    monkeypatch.setattr(engine, "compile_config", traced_only)
    torch._dynamo.reset()
    yield torch._dynamo.utils.counters["stats"]
    torch._dynamo.reset()


@pytest.fixture
def questions(ask_about, recordings):
    def make(task):
        return [ask_about("What is heard?", played, task=task, max_new_tokens=6) for played in recordings(window_s=1.0)]

    return make


def _texts(model, asks):
    answers = model.ask(asks)
    assert {answer.error for answer in answers} == {None}
    return [answer.text for answer in answers]


def _task(family):
    return "transcription" if family == "whisper" else "open"


@pytest.mark.parametrize("family", [pytest.param("qwen2_audio", marks=pytest.mark.slow), "whisper"])
def test_greedy_answers_are_those_of_the_plain_way_whatever_was_asked_before(folder_of, questions, traced, family):
    asks, folder = questions(_task(family)), folder_of(family)
    plain, compiled = HfModel(folder, {"device": "cpu"}), HfModel(folder, {"device": "cpu", "compile": "yes"})
    expected = _texts(plain, asks)
    before = traced["unique_graphs"]
    assert [_texts(compiled, asks[:count]) for count in (4, 8, 4)] == [expected[:4], expected[:8], expected[:4]]
    assert traced["unique_graphs"] == before + 1  # one for all sizes: else answers would depend on the first
    assert any(expected)


@pytest.mark.slow
def test_torchs_own_compiler_gives_the_plain_answers_too(tiny_checkpoint, questions):
    asks, folder = questions("open"), str(tiny_checkpoint)
    compiled = HfModel(folder, {"device": "cpu", "compile": "yes"})
    assert _texts(compiled, asks) == _texts(HfModel(folder, {"device": "cpu"}), asks)


def test_it_is_another_model_by_its_identity(tiny_checkpoint):
    folder = str(tiny_checkpoint)
    plain, off, on = (HfModel(folder, given).fingerprint() for given in ({}, {"compile": "no"}, {"compile": "yes"}))
    assert plain == off
    assert on == {**plain, "steps": "compiled, static cache"}


def test_a_model_of_which_transformers_does_not_say_that_it_can_is_refused(tiny_checkpoint, monkeypatch):
    transformers = pytest.importorskip("transformers")
    for name in ("Qwen2AudioForConditionalGeneration", "Qwen2Model"):
        monkeypatch.setattr(getattr(transformers, name), "_can_compile_fullgraph", False)
    with pytest.raises(UsageError, match="does not say of Qwen2AudioForConditionalGeneration that it can be compiled"):
        HfModel(str(tiny_checkpoint), {"device": "cpu", "compile": "yes"}).load()


def test_what_writes_no_answer_step_by_step_is_refused_before_it_is_loaded(built):
    with pytest.raises(UsageError, match="writes no answer step by step"):
        _ = HfModel(str(built("clap")), {"compile": "yes"}).limits
    with pytest.raises(UsageError, match="leave beams=… out"):
        HfModel("anywhere", {"compile": "yes", "beams": "2"})
    with pytest.raises(UsageError, match="compile=perhaps"):
        HfModel("anywhere", {"compile": "perhaps"})


@pytest.mark.slow
def test_without_a_compiler_it_says_what_is_missing(tiny_checkpoint, questions, monkeypatch, tmp_path):
    torch = pytest.importorskip("torch")
    inductor = importlib.import_module("torch._inductor.config")
    torch._dynamo.reset()
    monkeypatch.setitem(os.environ, "TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(inductor.cpp, "cxx", (None, str(tmp_path / "no-compiler")))
    compiled = HfModel(str(tiny_checkpoint), {"device": "cpu", "compile": "yes"})
    with pytest.raises(FatalError, match=r"a C\+\+ compiler such as g\+\+.*leave compile=yes out"):
        compiled.ask(questions("open"))
    torch._dynamo.reset()
