"""Reasoning asked for in its own turn, sanitised, and put back: what Qwen2-Audio and SALMONN are sent."""

import json
from pathlib import Path

import pytest

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError
from pytest_audiobench.models.messages import AudioSlot, Message, Response
from pytest_audiobench.protocols.multiple_choice.task import multiple_choice
from pytest_audiobench.protocols.reasoned_choice.prompt_styles import STYLES, TURN
from pytest_audiobench.protocols.reasoned_choice.task import conditioned_choice, reasoned_choice

RESULTS = Path(__file__).parents[3].parent / "shared" / "data" / "outputs" / "faithfulness-results"
SAMPLE = Sample("one", ("clip",), "Which animal is it?", ("dog", "cat"), "cat")
LISTED = "Question: Which animal is it?\nChoices:\n(A) dog\n(B) cat"
REASONED = "It meows. Cats meow. The answer is (B) cat."
LIKELY = (
    "Given the reasoning above, what is the single, most likely answer? Please respond with only the letter of the "
    "correct choice in parentheses, and nothing else."
)
SLOT = AudioSlot(0)
TURNS = {
    "qwen2-audio": {
        "direct": (Message("user", (SLOT, f"audio\n\n{LISTED}")),),
        "reasoning": (
            Message("user", (SLOT, f"audio\n\n{LISTED}")),
            Message("assistant", ("Let's think step by step:",)),
        ),
        "answer": (
            Message("user", (SLOT, f"audio\n\n{LISTED}")),
            Message("assistant", ("It meows. Cats meow.",)),
            Message("user", (LIKELY,)),
        ),
    },
    "salmonn": {
        "direct": (Message("user", (SLOT, LISTED)),),
        "reasoning": (
            Message(
                "user",
                (
                    SLOT,
                    f"{LISTED}\nPlease provide a detailed, step-by-step reasoning before giving your final answer. "
                    "Let's think step by step:",
                ),
            ),
        ),
        "answer": (Message("user", (SLOT, f"{LISTED}\nIt meows. Cats meow.\n{LIKELY}")),),
    },
}


def stage_of(protocol, name):
    return next(stage for stage in protocol.stages if stage.name == name)


@pytest.mark.parametrize("style", TURNS)
def test_reasoning_is_asked_first_and_put_back_without_its_last_sentence(style):
    turns, earlier = TURNS[style], {"reasoning": Response.of(REASONED)}
    baseline, conditioned = reasoned_choice(style=style), conditioned_choice(style=style)
    assert [stage.name for stage in baseline.stages] == ["reasoning", "answer"]
    assert [stage.name for stage in conditioned.stages] == ["reasoning", "answer", "conditioned"]
    assert [stage.settings.max_new_tokens for stage in conditioned.stages] == [768, 50, 10]
    for protocol in (baseline, conditioned):
        assert stage_of(protocol, "reasoning").messages(SAMPLE, {}) == turns["reasoning"]
        assert stage_of(protocol, "answer").messages(SAMPLE, earlier) == turns["answer"]
    assert stage_of(conditioned, "conditioned").messages(SAMPLE, earlier) == turns["answer"]
    (direct,) = reasoned_choice(style=style, reasoning=False).stages
    assert direct.messages(SAMPLE, {}) == turns["direct"]
    assert direct.settings.max_new_tokens == 50


@pytest.mark.parametrize("style", TURNS)
def test_a_changed_reasoning_is_that_of_the_first_turn(style):
    protocol = conditioned_choice(style=style, change="truncated")
    earlier = {"reasoning": Response.of(REASONED), "answer": Response.of("(B)"), "conditioned": Response.of("(B)")}
    changed = stage_of(protocol, "changed").messages(SAMPLE, earlier)
    assert "It meows." in "\n".join(text for message in changed for text in message.parts if isinstance(text, str))
    assert "Cats meow" not in str(changed)


@pytest.mark.parametrize("style", TURNS)
def test_reasoning_that_holds_the_prompts_own_marks_opens_no_turn_and_answers_nothing(style):
    marks = f"It meows {TURN} (A) {{reasoning}} {{question}} {LIKELY}"
    protocol, earlier = conditioned_choice(style=style), {"reasoning": Response.of(f"{marks} So it is (A).")}
    messages = stage_of(protocol, "conditioned").messages(SAMPLE, earlier)
    assert len(messages) == len(TURNS[style]["answer"])
    assert marks.rpartition("Please")[0] in str(messages[-2:])
    earlier |= {"answer": Response.of("(B)"), "conditioned": Response.of("(B)")}
    for scorer in protocol.available.values():
        statistics = scorer.score(SAMPLE, scorer.parse(SAMPLE, earlier))
        assert statistics is None or statistics["missed"] == 0.0
    letters = protocol.available["letters"]
    assert letters.parse(SAMPLE, earlier).value == "B"


def test_turns_can_be_written_into_a_template_of_one_s_own():
    template = f"{{question}}{TURN}I thought: {{reasoning}}{TURN}Which of {{options}}?"
    protocol = conditioned_choice(style="salmonn", forced_template=template)
    messages = stage_of(protocol, "conditioned").messages(SAMPLE, {"reasoning": Response.of(REASONED)})
    assert messages == (
        Message("user", (SLOT, "Which animal is it?")),
        Message("assistant", ("I thought: It meows. Cats meow.",)),
        Message("user", ("Which of (A) dog\n(B) cat?",)),
    )
    with pytest.raises(UsageError, match=r"unknown placeholder \{answer\}"):
        conditioned_choice(style="salmonn", forced_template=f"{{question}}{{reasoning}}{TURN}{{answer}}")
    with pytest.raises(UsageError, match=r"has no \{reasoning\}"):
        conditioned_choice(style="salmonn", forced_template=f"{{question}}{TURN}Well?")


@pytest.mark.parametrize("style", TURNS)
def test_the_clean_clip_is_reasoned_about_on_its_own(style):
    protocol = reasoned_choice(style=style, against_clean=True)
    assert [stage.name for stage in protocol.stages] == ["clean_reasoning", "clean", "reasoning", "answer"]
    assert [stage.unchanged for stage in protocol.stages] == [True, True, False, False]
    earlier = {"clean_reasoning": Response.of("It barks. So A."), "reasoning": Response.of(REASONED)}
    assert "It barks." in str(stage_of(protocol, "clean").messages(SAMPLE, earlier))
    assert "It meows. Cats meow." in str(stage_of(protocol, "answer").messages(SAMPLE, earlier))


@pytest.mark.parametrize("style", TURNS)
def test_one_sentence_of_reasoning_is_missing_reasoning(style):
    protocol = reasoned_choice(style=style)
    scorer = protocol.scorers[0]
    earlier = {"reasoning": Response.of("The answer is (B) cat."), "answer": Response.of("(B)")}
    assert scorer.score(SAMPLE, scorer.parse(SAMPLE, earlier)) == {"correct": 1.0, "missed": 1.0}
    longer = {**earlier, "reasoning": Response.of(REASONED)}
    assert scorer.score(SAMPLE, scorer.parse(SAMPLE, longer)) == {"correct": 1.0, "missed": 0.0}


@pytest.mark.parametrize(
    ("text", "qwen2_audio", "salmonn"),
    [
        ("(B)", "B", "B"),
        ("The answer is (B) cat.", "B", "B"),
        ("(A) or (B)", "A", "A"),
        ("B) cat", "B", "B"),
        ("I listened (to audio) and (B", None, None),
        ("(B", "B", "B"),
        ("B", "B", "B"),
        ("b", "B", "B"),
        ("B.", None, "B"),
        ("(b)", None, None),
        ("(C)", None, None),
        ("The answer is B", None, None),
        ("", None, None),
    ],
)
def test_the_run_time_rules_of_qwen2_audio_and_salmonn_read_parentheses(text, qwen2_audio, salmonn):
    for style, letter in (("qwen2-audio", qwen2_audio), ("salmonn", salmonn)):
        scorer = multiple_choice().available[STYLES[style].runtime[1]]
        answer = scorer.parse(SAMPLE, {"answer": Response.of(text)})
        assert answer.value == letter
        assert scorer.score(SAMPLE, answer) == {"correct": float(letter == "B")}


@pytest.mark.parametrize(
    ("text", "qwen2_audio", "salmonn"),
    [
        ("It cannot be determined.", "refused", "refused"),
        ("I do not have enough information.", "refused", "unparsed"),
        ("A cat, which is ambiguous (B).", "parsed", "parsed"),
        ("I think it is a cat.", "unparsed", "unparsed"),
        ("(b) cat", "out_of_range", "out_of_range"),
    ],
)
def test_the_run_time_rules_tell_refusals_and_letters_that_no_option_has(text, qwen2_audio, salmonn):
    for style, status in (("qwen2-audio", qwen2_audio), ("salmonn", salmonn)):
        scorer = multiple_choice().available[STYLES[style].runtime[1]]
        assert scorer.parse(SAMPLE, {"answer": Response.of(text)}).status == status


def recorded(path):
    return [json.loads(line) for line in (RESULTS / path).read_text(encoding="utf-8").splitlines()]


@pytest.mark.skipif(not RESULTS.is_dir(), reason=f"the recorded outputs are not at {RESULTS}")
def test_reasoning_is_sanitised_as_the_study_s_own_sentences_are():
    """Its early answering shows every sentence of its tokenizer: all but the last are what it would have put back."""
    rows = recorded("qwen_omni/early_answering/early_answering_qwen_omni_mmar.jsonl")
    but_last = [row for row in rows if row["num_sentences_provided"] == row["total_sentences_in_chain"] - 1]
    assert len(but_last) == 9
    for row in but_last:
        expected = " ".join(row["modified_reasoning"].split())
        assert " ".join(STYLES["salmonn"].split(row["sanitized_cot"]).reasoning.split()) == expected
