"""At which step a model stands, by its names."""

import pytest

from pytest_audiobench.comparison.run_series import Names, by_pattern, by_words, family, steps
from pytest_audiobench.errors import UsageError


def step(text, find=by_words):
    return steps([Names(text, "", "")], find)[0]


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("step-2000", 2000),
        ("model_step2000", 2000),
        ("global_step=12345", 12345),
        ("checkpoint-500", 500),
        ("ckpt_1.5k", 1500),
        ("iter-2M", 2_000_000),
        ("epoch-3-step-700", 700),
        ("hf:runs/a/checkpoint-64000,dtype=float32", 64000),
        ("hf:runs/2k", 2000),
        ("500", 500),
        ("Steps 2.3k", 2300),
    ],
)
def test_a_step_is_the_number_behind_its_word_or_a_whole_name(name, number):
    assert step(name) == number


@pytest.mark.parametrize(
    "name", ["good-seed2", "Qwen2-Audio-7B", "qwen-2", "2026-11-21-190652", "backstep-", "doorstep3x", "v1.5", "step-"]
)
def test_other_numbers_are_no_steps(name):
    assert step(name) is None


def test_a_pattern_of_a_users_finds_what_words_do_not():
    assert step("lr3e-4_s0099", by_pattern(r"_s(\d+)")) == 99


@pytest.mark.parametrize(("pattern", "said"), [("(", "is not a regular expression"), (r"step-\d+", "has no group")])
def test_a_pattern_that_is_none_is_refused(pattern, said):
    with pytest.raises(UsageError, match=said):
        by_pattern(pattern)


def test_the_names_in_which_all_have_a_step_are_taken():
    named = [Names("main", "hf:a/step-1", "epoch-9"), Names("step-7", "hf:a/step-2", "epoch-9")]
    assert steps(named, by_words) == [1, 2]


def test_the_step_is_cut_out_of_what_a_model_is_called():
    assert family(Names("x", "hf:a/step-2000,dtype=float32", "r"), by_words) == "hf:a/step-*,dtype=float32"
    assert family(Names("x", "openai:gpt", "r"), by_words) == "openai:gpt"


def test_digits_without_end_are_no_step():
    assert step("step-" + "9" * 5000) is None
    assert step("epochs" * 5000) is None
