"""How a family of models is asked to reason, and where in its answer the reasoning is."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_audiobench.errors import UsageError
from pytest_audiobench.protocols.multiple_choice.task import (
    FAITHFULNESS_AF3,
    FAITHFULNESS_AF3_REASONING,
    multiple_choice,
)
from pytest_audiobench.protocols.reasoned_choice.prompt_styles import STYLES, model_style, style_named, style_scorers

MARKED = st.lists(
    st.sampled_from(
        ["<Reasoning>", "</Reasoning>", "<reason", ">", "<Conclusion>", "It meows. ", "Answer: B\n", "?", " "]
    )
).map("".join)


@pytest.mark.parametrize(
    ("spec", "style"),
    [
        ("hf:nvidia/audio-flamingo-3-hf", "af3"),
        ("openai:Audio-Flamingo-3,base_url=http://127.0.0.1:8000/v1", "af3"),
        ("hf:checkpoints/af3-step-20", "af3"),
        ("hf:Qwen/Qwen2.5-Omni-7B", "qwen"),
        ("hf:Qwen/Qwen2-Audio-7B-Instruct", "qwen2-audio"),
        ("http:qwen2_audio,url_file=job.url", "qwen2-audio"),
        ("http:salmonn-7b,url_file=job.url", "salmonn"),
        ("openai:gpt-4o-audio-preview", "plain"),
        ("openai:gpt-4o-audio-preview,base_url=http://qwen.example/v1", "plain"),
        ("hf:checkpoints/graf32", "plain"),
        ("listener", "plain"),
    ],
)
def test_the_style_goes_by_the_models_name(spec: str, style: str) -> None:
    assert model_style(spec) == style


def test_a_style_that_there_is_not_is_refused() -> None:
    with pytest.raises(UsageError, match="no style of asking is called 'gemma'; there are plain, af3, qwen"):
        style_named("gemma")


@pytest.mark.parametrize(
    ("style", "dataset", "reasoned", "direct"),
    [
        ("plain", "sakura/animal", ("letters",), ("letters",)),
        ("af3", "sakura/animal", ("runtime-af3", "recovered"), ("runtime-af3-direct",)),
        ("af3", "mmar", ("runtime-af3", "recovered-mm"), ("runtime-af3-direct",)),
        ("af3", "MMAU/test-mini", ("runtime-af3", "recovered-mmau"), ("runtime-af3-direct-mmau",)),
        ("qwen", "mmar", ("runtime-qwen",), ("runtime-qwen",)),
        ("qwen", "mmau", ("runtime-qwen-mmau",), ("runtime-qwen-mmau",)),
        ("qwen2-audio", "mmar", ("runtime-qwen2-audio",), ("runtime-qwen2-audio",)),
        ("salmonn", "sakura/animal", ("runtime-salmonn",), ("runtime-salmonn",)),
    ],
)
def test_each_style_and_data_set_has_the_scorers_that_the_study_had(style, dataset, reasoned, direct) -> None:
    for reasoning, own in ((True, reasoned), (False, direct)):
        names = [one.removeprefix("faithfulness-") for one in style_scorers(style, dataset, reasoning)]
        assert names == list(dict.fromkeys(["letters", *own]))
        multiple_choice(*style_scorers(style, dataset, reasoning))


def test_the_words_of_the_study_have_one_home() -> None:
    assert STYLES["af3"].reasoned == FAITHFULNESS_AF3_REASONING
    assert FAITHFULNESS_AF3_REASONING.startswith(FAITHFULNESS_AF3)
    assert STYLES["af3"].conditioned.startswith(FAITHFULNESS_AF3_REASONING)
    assert [STYLES[name].tokens for name in ("af3", "qwen")] == [(512, 512, 20), (128, 1024, 32)]


@pytest.mark.parametrize(
    ("style", "text", "reasoning", "answer"),
    [
        ("plain", "It meows.\nAnswer: B", "It meows.", "Answer: B"),
        ("plain", "It meows.\n**Final answer:** B", "It meows.", "**Final answer:** B"),
        ("plain", "Answer: A, at first.\nNo.\nAnswer: B", "Answer: A, at first.\nNo.", "Answer: B"),
        ("plain", "It meows. So it is a cat.", "It meows.", "So it is a cat."),
        ("plain", "Answer: B", "", "Answer: B"),
        ("plain", "B", "", "B"),
        ("af3", "It meows.  Cats do! The answer is (B) cat", "It meows. Cats do!", "The answer is (B) cat"),
        ("af3", "(B) cat", "", "(B) cat"),
        ("af3", "", "", ""),
        ("qwen", "<Reasoning>\nIt meows.\n</Reasoning>\n<Conclusion>", "It meows.", "\n<Conclusion>"),
        ("qwen", "<reason>It meows.</REASONS>B", "It meows.", "B"),
        ("qwen", "I'm sorry, I cannot hear it.", "I'm sorry, I cannot hear it.", "I'm sorry, I cannot hear it."),
        ("qwen", "<Reasoning></Reasoning>B", "<Reasoning></Reasoning>B", "<Reasoning></Reasoning>B"),
        ("qwen", "<Reasoning>a</Reasoning>b</Reasoning>c", "a", "b</Reasoning>c"),
        ("qwen", "", "", ""),
        ("salmonn", "It meows.  Cats do! The answer is (B) cat", "It meows. Cats do!", "The answer is (B) cat"),
        ("salmonn", "It lasts approx. 3 s. So B.", "It lasts approx. 3 s.", "So B."),
        ("qwen2-audio", "(B) cat", "", "(B) cat"),
        ("qwen2-audio", "", "", ""),
    ],
)  # fmt: skip
def test_an_answer_is_taken_apart(style: str, text: str, reasoning: str, answer: str) -> None:
    assert STYLES[style].split(text) == (reasoning, answer)


@given(MARKED)
def test_the_tags_are_found_as_the_studys_pattern_finds_them(text: str) -> None:
    found = re.search(r"<Reason.*?>(.*?)</Reason.*?>", text, re.I | re.S)
    expected = found[1].strip() if found else ""
    assert STYLES["qwen"].split(text).reasoning == (expected or text)


@given(MARKED)
def test_the_last_sentence_is_left_as_the_study_leaves_it(text: str) -> None:
    pieces = re.split(r"(?<=[.!?])\s+", text.strip())
    assert STYLES["af3"].split(text).reasoning == (" ".join(pieces[:-1]) if len(pieces) > 1 else "")


HOSTILE = ("<Reason", "<Reasoning>", "</Reason", "Answer", "\n\n ", "answer: ", ". ", "a" * 50, "\x00\ud800")


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("piece", HOSTILE)
def test_a_hostile_text_is_taken_apart_too(style: str, piece: str) -> None:
    """A pattern that backtracks would not come to an end with this."""
    text = piece * (400_000 // len(piece))
    assert len(STYLES[style].split(text).reasoning) <= len(text)
