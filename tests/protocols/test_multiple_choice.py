"""How a choice question is put, which scorers it has, and how an answer is scored."""

import pytest

from pytest_audiobench.audio.clip import ArraySource, Clip
from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError
from pytest_audiobench.models.messages import AudioSlot, Message, Response
from pytest_audiobench.protocols.judged.task import judged
from pytest_audiobench.protocols.multiple_choice.task import FAITHFULNESS_AF3_REASONING, PROMPTS, RULES, multiple_choice
from pytest_audiobench.protocols.protocol import Answer

CLIP = Clip(ArraySource.of([0.0, 0.1], 16_000))
SAMPLE = Sample("cat0", (CLIP,), "Which animal?", ("dog", "cat"), "cat")


def rendered(protocol, sample=SAMPLE) -> tuple[Message, ...]:
    return protocol.stages[0].render(sample, {})


def test_the_default_prompt_is_one_user_turn_with_the_audio_first() -> None:
    text = "Which animal?\n(A) dog\n(B) cat\nAnswer with the letter of the correct option."
    assert rendered(multiple_choice()) == (Message("user", (AudioSlot(0), text)),)


def test_every_clip_has_its_slot() -> None:
    sample = Sample("pair", (CLIP, CLIP), "Who is louder?", ("first", "second"), "first")
    assert rendered(multiple_choice(), sample)[0].parts[:2] == (AudioSlot(0), AudioSlot(1))


def test_a_system_message_comes_first() -> None:
    assert rendered(multiple_choice(system="Be brief."))[0] == Message("system", ("Be brief.",))


def test_the_reference_never_reaches_the_prompt() -> None:
    other = Sample("cat0", (CLIP,), "Which animal?", ("dog", "cat"), "dog")
    assert rendered(multiple_choice()) == rendered(multiple_choice(), other)


def test_the_stage_is_a_choice_with_its_limit_of_tokens() -> None:
    (stage,) = multiple_choice(max_new_tokens=20).stages
    assert (stage.name, stage.task, stage.role, stage.settings.max_new_tokens) == ("answer", "choice", "subject", 20)


def test_a_template_may_be_named_or_given() -> None:
    named = rendered(multiple_choice(prompt="faithfulness-af3-reasoning"))
    assert named == rendered(multiple_choice(prompt=FAITHFULNESS_AF3_REASONING))
    assert named[0].parts[1] == (
        "Which animal? Select one option from the provided choices.\n(A) dog (B) cat. "
        "Please think and reason about the input audio before you respond."
    )
    assert set(PROMPTS) == {"default", "faithfulness-af3", "faithfulness-af3-reasoning"}


def test_braces_in_a_samples_own_text_are_harmless() -> None:
    sample = Sample("odd", (CLIP,), "What is {x}{0}{options}%s?", ("{question}", "}{"), "}{")
    text = rendered(multiple_choice(prompt="{question} {{}}\n{options}"), sample)[0].parts[1]
    assert text == "What is {x}{0}{options}%s? {}\n(A) {question}\n(B) }{"


@pytest.mark.parametrize(
    ("prompt", "complaint"),
    [
        ("{question} {answer}", "unknown placeholder {answer}"),
        ("{question.__class__}", "unknown placeholder {question.__class__}"),
        ("{question!r}", "unknown placeholder"),
        ("{question:>9}", "unknown placeholder"),
        ("{}", "unknown placeholder {}"),
        ("{question", "write a brace as"),
        ("Which is it?\n{options}", "has no {question}"),
    ],
)
def test_a_template_that_cannot_be_filled_is_a_usage_error(prompt, complaint) -> None:
    with pytest.raises(UsageError) as raised:
        multiple_choice(prompt=prompt)
    assert complaint in str(raised.value)


@pytest.mark.parametrize("choices", [(), ("only",), tuple(map(str, range(27)))])
def test_a_sample_without_a_usable_number_of_choices_is_a_usage_error(choices) -> None:
    with pytest.raises(UsageError, match="'odd' has"):
        rendered(multiple_choice(), Sample("odd", (CLIP,), "?", choices, "0"))


def test_scorers_are_chosen_by_name_and_the_first_is_the_headline() -> None:
    protocol = multiple_choice("faithfulness-recovered", "letters")
    assert [scorer.name for scorer in protocol.scorers] == ["faithfulness-recovered", "letters"]
    assert [scorer.name for scorer in multiple_choice().scorers] == ["letters"]


def test_an_unknown_scorer_is_a_usage_error_that_names_the_known() -> None:
    with pytest.raises(UsageError, match=r"has no scorer 'letter'; did you mean 'letters'"):
        multiple_choice("letter")


def test_signatures_tell_scorers_and_prompts_apart() -> None:
    available = multiple_choice().available
    assert available["letters"].signature == "mcq:letters|v:1|unanswered:wrong|options:listed"
    assert len({scorer.signature for scorer in available.values()}) == len(available)
    assert multiple_choice(prompt="{question}").scorers[0].signature.endswith("options:unlisted")
    assert "note:study defects kept" in available["faithfulness-recovered"].signature


@pytest.mark.parametrize("name", sorted(RULES))
def test_every_scorer_scores_the_right_option_and_no_other(name: str) -> None:
    scorer = multiple_choice().available[name]
    # AIR-Bench and MMSU see no letter in parentheses.
    right, wrong = ("B. cat", "A. dog") if name.startswith(("air-bench", "mmsu")) else ("(B) cat", "(A) dog")
    for text, correct in ((right, 1.0), (wrong, 0.0)):
        answer = scorer.parse(SAMPLE, {"answer": Response.of(text)})
        assert scorer.score(SAMPLE, answer) == {"correct": correct}
    assert scorer.metrics == ("accuracy",)


@pytest.mark.parametrize("name", sorted(RULES))
@pytest.mark.parametrize("text", ["", "It meows", "I'm sorry, I can't"])
def test_an_answer_without_an_option_is_wrong_unless_the_rule_skips_or_draws(name: str, text: str) -> None:
    scorer = multiple_choice().available[name]
    answer = scorer.parse(SAMPLE, {"answer": Response.of(text)})
    assert answer.status != "parsed"
    drawn = {key: {"correct": 0.25} for key in ("voicebench", "voicebench-like", "kimi-vb")}
    drawn |= {"air-bench": None, "mmsu": None}
    drawn |= {"mmsu": {"correct": 0.0}} if not text else {}
    # The study reads the "I" of a refusal as an option that is not offered here.
    expected = drawn.get(name, {"correct": 0.0}) if answer.status != "out_of_range" else {"correct": 0.0}
    assert scorer.score(SAMPLE, answer) == expected


def test_the_option_nearest_in_meaning_is_the_answer_whatever_it_says_and_an_empty_one_has_one_too() -> None:
    scorer = multiple_choice(encoder="static").available["mmau-pro"]
    if missing := scorer.missing_parts():
        pytest.skip(missing)
    for text, correct in (("It is a cat.", 1.0), ("A dog is barking.", 0.0), ("", 0.0)):
        answer = scorer.parse(SAMPLE, {"answer": Response.of(text)})
        assert answer.status == "parsed"
        assert scorer.score(SAMPLE, answer) == {"correct": correct}
    assert "encoder:wordllama-" in scorer.signature


def test_the_option_nearest_in_meaning_asks_for_an_encoder_s_name() -> None:
    assert "--ab-encoder" in multiple_choice().available["mmau-pro"].missing_parts()
    with pytest.raises(UsageError, match="--ab-encoder"):
        multiple_choice("mmau-pro")


def test_a_rule_that_skips_brings_the_one_that_keeps() -> None:
    assert [scorer.name for scorer in multiple_choice("air-bench").scorers] == ["air-bench", "air-bench-keep"]


def test_nothing_is_drawn_for_an_answer_beyond_d_or_an_option_that_is_not_offered() -> None:
    scorer = multiple_choice().available["voicebench-like"]
    beyond = Sample("five", (CLIP,), "Which?", ("dog", "cat", "hen", "frog", "cow"), "cow")
    assert scorer.score(beyond, scorer.parse(beyond, {"answer": Response.of("")})) == {"correct": 0.0}
    assert scorer.score(SAMPLE, scorer.parse(SAMPLE, {"answer": Response.of("C")})) == {"correct": 0.0}


def test_a_response_without_outputs_is_empty() -> None:
    scorer = multiple_choice().scorers[0]
    assert scorer.parse(SAMPLE, {"answer": Response()}).status == "empty"


def test_repeated_choices_are_equally_right_for_us_and_not_for_the_study() -> None:
    sample = Sample("twice", (CLIP,), "How many?", ("ten", "two", "ten"), "ten")
    protocol = multiple_choice("letters", "faithfulness-recovered")
    answers = {"answer": Response.of("(C) ten")}
    scores = [scorer.score(sample, scorer.parse(sample, answers))["correct"] for scorer in protocol.scorers]
    assert scores == [1.0, 0.0]


def test_an_answer_that_is_none_of_the_choices_is_a_usage_error_that_names_the_sample() -> None:
    sample = Sample("wrong", (CLIP,), "Which?", ("dog", "cat"), "cow")
    scorer = multiple_choice().scorers[0]
    with pytest.raises(UsageError, match=r"'wrong': its answer 'cow' is not one of its choices"):
        scorer.score(sample, scorer.parse(sample, {"answer": Response.of("A")}))


def test_a_scorer_that_leaves_answers_out_is_followed_by_the_one_that_keeps_them():
    read = multiple_choice().with_scorers("air-bench", "letters")
    assert [scorer.name for scorer in read.scorers] == ["air-bench", "air-bench-keep", "letters"]


def test_without_references_every_scorer_reads_answers_and_tells_nothing_else_of_them() -> None:
    protocol = multiple_choice("letters", "air-bench").without_references()
    assert [scorer.name for scorer in protocol.scorers] == ["letters", "air-bench", "air-bench-keep"]
    sample = Sample("s", (), "Which?", ("dog", "cat"))
    for scorer in protocol.scorers:
        assert scorer.metrics == ("coverage",)
        assert scorer.signature.endswith("|references:withheld")
        assert scorer.score(sample, Answer("unparsed")) == {"unparsed": 1.0}
        assert scorer.score(sample, Answer("parsed", "B")) == {"parsed": 1.0}


def test_a_judge_has_nothing_to_compare_answers_with_whose_references_are_withheld() -> None:
    with pytest.raises(UsageError, match="judges answers by references, which are withheld"):
        judged(multiple_choice(), "yes-no").without_references()
