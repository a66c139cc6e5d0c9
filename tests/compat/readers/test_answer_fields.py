"""What readers share: options in a prompt, fields that must be there, and what breaks figures down."""

import json

import pytest

from pytest_audiobench.compat.answer_fields import breakdowns, listed_options, option_of
from pytest_audiobench.compat.answer_files import AnswerFile, all_readers
from pytest_audiobench.errors import UsageError
from tests.compat.readers.scoring import FILES, rows_of


@pytest.mark.parametrize(
    "prompt",
    [
        "What is heard?\nA. a dog\nB. a hen",
        "What is heard?\nA) a dog\nB) a hen\n",
        "Which?\n(A) a dog (B) a hen",
        "Examples:\nA. one\nB. two\nNow this one:\nA. a dog\nB. a hen\nAnswer with a letter.",
    ],
)
def test_the_last_list_of_a_prompt_is_its_options(prompt):
    assert listed_options(prompt) == ("a dog", "a hen")


@pytest.mark.parametrize("prompt", ["", "A. only one", "B. second\nC. third", "Say A or B."])
def test_a_prompt_without_a_list_from_a_on_has_no_options(prompt):
    assert listed_options(prompt) == ()


@pytest.mark.parametrize("answer", ["B", "(b)", "B.", "a hen", "B. a hen", "(B) a hen"])
def test_an_option_is_known_by_its_letter_and_by_its_text(answer):
    assert option_of(answer, ("a dog", "a hen")) == "a hen"


@pytest.mark.parametrize("answer", ["a goose", "A. a hen", "D"])
def test_what_is_no_option_stays_what_it_is(answer):
    assert option_of(answer, ("a dog", "a hen")) == answer


def test_figures_are_broken_down_by_what_several_rows_share():
    rows = [{"id": str(number), "task": "ab"[number % 2], "set": "one", "rate": 16000} for number in range(6)]

    assert breakdowns(rows) == ("task",)


@pytest.mark.parametrize(
    "file",
    sorted(path for path in FILES.rglob("*.*") if not path.name.endswith(("results.json", "-overall.json"))),
    ids=lambda path: path.name,
)
def test_each_file_of_answers_is_known_by_one_particular_reader(file):
    fitting = [name for name, reader in all_readers().items() if not reader.general and reader.fits(AnswerFile(file))]

    assert len(fitting) == (0 if "reports" in file.parts else 1)


def test_a_file_that_was_edited_is_refused_in_a_sentence(tmp_path):
    content = json.loads((FILES / "omni" / "vllm-daily-omni.json").read_text())
    content["daily_omni_eval_items"][0] = 3
    file = tmp_path / "result.json"
    file.write_text(json.dumps(content))

    with pytest.raises(
        UsageError, match=r"result\.json is not one of vllm-omni's accuracy results .*: was it edited\?"
    ):
        rows_of(file)
