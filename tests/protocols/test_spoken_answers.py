"""Slots and spoken questions: when an answer in free words is right, and when it did the task at all."""

import re
import string
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.models.messages import Response
from pytest_audiobench.protocols.slot_filling import slot_filling
from pytest_audiobench.protocols.spoken_questions.matching import followed, matches
from pytest_audiobench.protocols.spoken_questions.task import spoken_questions

SPEECH = "wake me up at nine am on friday"
SLOT = Sample("one", (), "", reference="nine am", metadata={"slot": "time", "transcript": SPEECH})
QUESTION = Sample("two", (), "", reference="Kathmandu", references=("Kathmandu", "the city of Kathmandu"))


def read(protocol, name, sample, text, finish="stop"):
    scorer = protocol.available[name]
    answer = scorer.parse(sample, {"answer": Response.of(text, finish)})
    return answer.status, scorer.score(sample, answer)


def test_each_slot_is_asked_for_by_its_name() -> None:
    (stage,) = slot_filling().stages
    assert stage.render(SLOT, {})[0].parts == ("According to the speech, what is the time?",)
    named = Sample("x", (), "", metadata={"slot": "event_name"})
    assert stage.render(named, {})[0].parts == ("According to the speech, what is the event name?",)
    own = Sample("x", (), "When?", metadata={"slot": "time"})
    assert stage.render(own, {})[0].parts == ("When?",)


def test_a_sample_that_names_no_slot_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="'x' has neither a question nor metadata \"slot\""):
        slot_filling().stages[0].render(Sample("x", (), ""), {})


@pytest.mark.parametrize(
    ("said", "accepted", "correct", "em", "f1"),
    [
        ("Nine A.M.", ["nine am"], 1, 1, 1),
        ("It is at nine am.", ["nine am"], 1, 0, 4 / 7),
        ("nine and ten am", ["nine am"], 0, 0, 4 / 6),
        ("nineteen am", ["nine am"], 0, 0, 1 / 2),
        ("9 am", ["nine am"], 0, 0, 1 / 2),
        ("The Alarm", ["an alarm"], 1, 1, 1),
        ("dog dog", ["dog"], 1, 0, 2 / 3),
        ("cat", ["dog", "a cat"], 1, 1, 1),
        ("尼泊尔的首都是加德满都。", ["加德满都"], 1, 0, 8 / 15),
        ("", ["dog"], 0, 0, 0),
        ("", [""], 1, 1, 1),
        ("dog", [""], 0, 0, 0),
        ("the", ["a"], 0, 0, 0),
        ("dog", [], 0, 0, 0),
    ],
)
def test_an_answer_is_compared_by_its_words(said, accepted, correct, em, f1) -> None:
    assert matches(said, accepted) == pytest.approx({"correct": correct, "em": em, "f1": f1})


def squad(said: str, truth: str) -> tuple[float, float]:
    """SQuAD's exact match and F1 as its paper describes them, for ASCII words without inner punctuation."""

    def words(text: str) -> list[str]:
        bare = "".join(" " if c in string.punctuation else c for c in text.lower())
        kept = re.sub(r"\b(a|an|the)\b", " ", bare).split()
        return kept or bare.split()

    mine, theirs = words(said), words(truth)
    common = sum((Counter(mine) & Counter(theirs)).values())
    if not mine or not theirs:
        return float(mine == theirs), float(mine == theirs)
    if common == 0:
        return float(mine == theirs), 0.0
    precision, recall = common / len(mine), common / len(theirs)
    return float(mine == theirs), 2 * precision * recall / (precision + recall)


WORDS = st.lists(st.sampled_from(["a", "the", "Dog", "dog", "cat", "9", ",", "!", "nine"]), max_size=7).map(" ".join)


@given(WORDS, st.lists(WORDS, min_size=1, max_size=3))
def test_exact_match_and_f1_are_squads_and_bounded_by_containment(said, accepted) -> None:
    found = matches(said, accepted)
    assert found["em"] == max(squad(said, truth)[0] for truth in accepted)
    assert found["f1"] == pytest.approx(max(squad(said, truth)[1] for truth in accepted))
    assert found["em"] <= found["correct"] <= 1.0
    assert found["em"] <= found["f1"] <= 1.0
    assert matches(said, accepted[::-1]) == found


def test_a_transcription_holds_the_value_and_did_not_follow() -> None:
    assert read(slot_filling(), "slot-value", SLOT, SPEECH)[1]["correct"] == 1.0
    assert read(slot_filling(), "following", SLOT, SPEECH)[1] == {"followed": 0.0}
    assert read(slot_filling(), "following", SLOT, "Nine am.")[1] == {"followed": 1.0}


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("a b c d e f g h i j", False),
        ("A, b, c d e f g h i!", False),
        ("a b c d e f g h", False),
        ("a b c d e f g", True),
        ("a b c d e f g x y z", True),
        ("a b c d e f g h i j k l", False),
        ("the answer is j", True),
        ("", False),
        ("...", False),
    ],
)
def test_a_word_error_rate_of_three_in_ten_is_no_transcription(said, expected) -> None:
    assert followed(said, "a b c d e f g h i j") is expected


@pytest.mark.parametrize("protocol", [slot_filling(), spoken_questions()], ids=lambda protocol: protocol.name)
@pytest.mark.parametrize("metadata", [{}, {"transcript": ""}, {"transcript": None}, {"transcript": 3}])
def test_following_without_a_transcript_is_a_usage_error_of_one_sentence(protocol, metadata) -> None:
    with pytest.raises(UsageError, match=r"'x' has no metadata \"transcript\", which .* or leave this protocol out$"):
        read(protocol, "following", Sample("x", (), "?", reference="y", metadata=metadata), "z")


def test_any_accepted_answer_makes_a_question_right() -> None:
    assert read(spoken_questions(), "answer-contained", QUESTION, "It is the city of Kathmandu!") == (
        "parsed",
        {"correct": 1.0, "em": 0.0, "f1": 6 / 8},
    )
    assert read(spoken_questions(), "answer-contained", QUESTION, "Pokhara.")[1]["correct"] == 0.0


@pytest.mark.parametrize(
    ("text", "status", "right"),
    [
        ("I'm sorry, I can't hear a question about Kathmandu.", "refused", 0.0),
        ("I'm sorry, I can't hear it well. It is Kathmandu.", "refused", 1.0),
        ("It is Kathmandu. I cannot tell you more.", "parsed", 1.0),
        ("", "empty", 0.0),
    ],
)
def test_what_a_refusal_mentions_is_no_answer(text, status, right) -> None:
    found = read(spoken_questions(), "answer-contained", QUESTION, text)
    assert (found[0], found[1]["correct"]) == (status, right)


def test_a_servers_refusal_is_no_answer() -> None:
    assert read(spoken_questions(), "answer-contained", QUESTION, "Kathmandu", "refusal")[1]["correct"] == 0.0


def test_question_level_measures_are_precision_recall_and_f1_over_questions() -> None:
    unanswerable = Sample("none", (), "", references=("",))
    rows = [
        read(spoken_questions(), "question-level", sample, text)[1]
        for sample, text in (
            *((QUESTION, "Kathmandu"), (QUESTION, "Kathmandu, Nepal"), (QUESTION, "Pokhara")),
            *((QUESTION, "I don't know."), (unanswerable, "Paris"), (unanswerable, "I don't know.")),
        )
    ]
    # Two right of four answered, of four that have an answer.
    values = {name: metric_kind(name).estimate(rows, None).value for name in ("question_precision", "question_recall")}
    assert values == {"question_precision": 2 / 4, "question_recall": 2 / 4}
    assert metric_kind("question_f1").estimate(rows, None).value == 0.5
    assert metric_kind("question_f1").estimate(rows[:4], None).value == pytest.approx(2 * (2 / 3) * (2 / 4) / (7 / 6))


@pytest.mark.parametrize("name", ["question_precision", "question_recall", "question_f1"])
def test_no_question_is_no_number(name) -> None:
    nothing = {"right": 0.0, "answered": 0.0, "answerable": 0.0}
    assert metric_kind(name).estimate([nothing, nothing], None).value != 0.0


COUNTS = st.tuples(st.booleans(), st.booleans(), st.booleans()).map(
    lambda t: {"right": float(all(t)), "answered": float(t[1]), "answerable": float(t[2])}
)


@given(st.lists(COUNTS, min_size=2, max_size=30), st.randoms(use_true_random=False))
def test_question_f1_is_the_harmonic_mean_and_does_not_know_the_order(rows, random) -> None:
    value = {
        name: metric_kind(name).estimate(rows, None).value
        for name in ("question_precision", "question_recall", "question_f1")
    }
    precision, recall, f1 = value.values()
    if precision > 0 and recall > 0:
        assert f1 == pytest.approx(2 * precision * recall / (precision + recall))
        assert 0.0 <= f1 <= 1.0
    shuffled = rows[:]
    random.shuffle(shuffled)
    again = metric_kind("question_f1").estimate(shuffled, None).value
    assert again == f1 or (again != again and f1 != f1)


@pytest.mark.parametrize(
    ("answer", "right"),
    [
        ("", 0.0),
        ("  ", 0.0),
        ("tuesday", 0.0),
        ("It is not tuesday but monday.", 0.0),
        ("None", 1.0),
        ("N/A", 1.0),
        ("There is no date.", 1.0),
        ("The date isn't mentioned in the speech.", 1.0),
        ("No date is given.", 1.0),
        ("None.</s>", 1.0),
        ("Nothing compares to you by Prince", 0.0),
    ],
)
def test_a_slot_that_a_request_lacks_is_right_where_the_answer_says_so(answer: str, right: float) -> None:
    lacking = Sample("one", (), "", reference="", metadata={"slot": "date", "transcript": SPEECH})
    assert read(slot_filling(), "slot-value", lacking, answer)[1] == {"correct": right, "em": right, "f1": right}
