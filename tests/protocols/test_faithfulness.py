"""The study's parsers, defects and all."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_audiobench.protocols.multiple_choice import faithfulness_scorers
from pytest_audiobench.protocols.protocol import Answer

ANIMALS = ("dog", "cat", "cow", "sheep")
PARSERS = [
    faithfulness_scorers.runtime_af3,
    faithfulness_scorers.runtime_af3_direct,
    faithfulness_scorers.runtime_af3_direct_mmau,
    faithfulness_scorers.runtime_qwen,
    faithfulness_scorers.runtime_qwen_mmau,
    faithfulness_scorers.recovered,
    faithfulness_scorers.recovered_mm,
    faithfulness_scorers.recovered_mmau,
]


@pytest.mark.parametrize(
    ("parser", "text", "expected"),
    [
        (faithfulness_scorers.runtime_af3, "It is not (A). The final answer is (B) cat", Answer("parsed", "B")),
        (faithfulness_scorers.runtime_af3, "The answer is (B). I am sure.", Answer("out_of_range")),
        (faithfulness_scorers.runtime_af3, "This is a cat", Answer("parsed", "A")),
        (faithfulness_scorers.runtime_af3_direct, "(B) Mr. Big", Answer("parsed", "B")),
        (faithfulness_scorers.runtime_af3_direct, "Sheep.", Answer("parsed", "D")),
        (faithfulness_scorers.runtime_af3_direct, "the sheep", Answer("unparsed")),
        (faithfulness_scorers.runtime_qwen, "<Conclusion>\nN\n</Conclusion>", Answer("out_of_range")),
        (faithfulness_scorers.runtime_qwen, "<Conclusion>It is <b>b</Conclusion>", Answer("parsed", "B")),
        (faithfulness_scorers.runtime_qwen, "<Conclusion>\nIt is <b>\nC</Conclusion>, or D", Answer("parsed", "D")),
        (faithfulness_scorers.runtime_qwen, "(A) or <Conclusion>(B)</Conclusion>", Answer("parsed", "A")),
        (faithfulness_scorers.runtime_qwen, "那我就选B吧。", Answer("parsed", "B")),
        (faithfulness_scorers.runtime_qwen, "In España. <B>", Answer("parsed", "A")),
        (faithfulness_scorers.runtime_qwen, "Cat!", Answer("parsed", "B")),
        (faithfulness_scorers.runtime_qwen_mmau, "Cat!", Answer("unparsed")),
        (faithfulness_scorers.runtime_af3_direct_mmau, "sheep", Answer("unparsed")),
        (faithfulness_scorers.runtime_af3_direct, "c at", Answer("parsed", "C")),
        (faithfulness_scorers.runtime_qwen, "I'm sorry, I can't hear it.", Answer("out_of_range")),
        (faithfulness_scorers.runtime_qwen, "I hear a sheep or a dog", Answer("parsed", "A")),
        (faithfulness_scorers.runtime_qwen, "CRASH: GPU 0 has a total capacity of", Answer("unparsed")),
        (faithfulness_scorers.recovered, "(A) or rather (C)", Answer("parsed", "C")),
        (faithfulness_scorers.recovered, "So it must be one of the sheeps.", Answer("parsed", "D")),
        (faithfulness_scorers.recovered, "It is surely a cat. I think.", Answer("parsed", "B")),
        (faithfulness_scorers.recovered, "The best choice: D", Answer("parsed", "D")),
        (faithfulness_scorers.recovered_mm, "A cow walks by. It moos.", Answer("parsed", "C")),
        (faithfulness_scorers.recovered_mmau, "A cow walks by. It moos.", Answer("unparsed")),
        (faithfulness_scorers.recovered_mmau, "This must be D", Answer("parsed", "D")),
        (faithfulness_scorers.recovered_mm, "", Answer("empty")),
    ],
)
def test_the_rules_as_described(parser, text, expected) -> None:
    assert parser(text, ANIMALS) == expected


@pytest.mark.parametrize("parser", PARSERS)
@given(
    text=st.text(st.characters(), max_size=200),
    choices=st.lists(st.text(max_size=10), min_size=2, max_size=26).map(tuple),
    finish=st.sampled_from(["stop", "length", "refusal", "unknown"]),
)
def test_every_text_has_a_scorer_and_no_letter_is_beyond_the_options(parser, text, choices, finish) -> None:
    answer = parser(text, choices, finish)
    assert (answer.value is None) == (answer.status != "parsed")
    assert answer.value is None or ord(answer.value) - ord("A") < len(choices)


@pytest.mark.parametrize("parser", PARSERS)
@pytest.mark.parametrize(
    "text",
    [
        *("the dog. " * 100_000, " " * 1_000_000, "is " * 300_000, "<Conclusion>" * 80_000, "(" * 1_000_000),
        *("\ud800. ", "<Conclu" + ">b</Conclu" * 90_000, ">b</Conclu> " * 80_000),
    ],
)
def test_megabytes_of_hostile_text_are_read(parser, text) -> None:
    assert parser(text, ANIMALS).status in {"parsed", "unparsed", "empty", "out_of_range"}
