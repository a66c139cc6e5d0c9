"""Several talkers at once: how an answer is cut, whom it is compared with, and what is left out."""

import itertools
import re

import jiwer
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_audiobench.audio.clip import ArraySource, Clip
from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError
from pytest_audiobench.models.messages import AudioSlot, Message, Response
from pytest_audiobench.protocols.answer_failures import failures
from pytest_audiobench.protocols.overlapped_speech import overlapped_speech, talkers_of
from pytest_audiobench.protocols.protocol import Answer

TRUTHS = ("hello how are you", "we leave at nine")
MIXTURE = Sample("mix", (Clip(ArraySource.of([0.0], 16_000)),), "", references=TRUTHS, reference=TRUTHS[0])


def scored(text: str, name: str = "cpwer", sample: Sample = MIXTURE):
    scorer = overlapped_speech().available[name]
    return scorer.score(sample, scorer.parse(sample, {"answer": Response.of(text)}))


def errors(text: str, name: str = "cpwer") -> float:
    found = scored(text, name)
    return found["S"] + found["D"] + found["I"]


@pytest.mark.parametrize(
    ("text", "talkers"),
    [
        ("Hello there. How are you?", ["Hello there.", "How are you?"]),
        ("Hello there, how are you", ["Hello there, how are you"]),
        ("Speaker 1: Hello. Yes.\nSpeaker 2: Good.\nSpeaker 1: Bye", ["Hello. Yes. Bye", "Good."]),
        ("**Speaker A:** hi **Speaker B:** yo", ["hi", "yo"]),
        ('Person 1 says, "Hello." Person 2 says, "Bye."', ["Hello.", "Bye."]),
        ("The man: hello. The woman: bye", ["hello.", "bye"]),
        ("Sure! Speaker 1: hi. Speaker 2: bye", ["Sure!", "hi.", "bye"]),
        ("1. Hello. Hi.\n2. Bye.", ["Hello. Hi.", "Bye."]),
        ("We leave at 9. Hello", ["We leave at 9.", "Hello"]),
        ("- hello\n\n- bye\n...", ["hello", "bye"]),
        ("你好。再见！好吗？", ["你好。", "再见！", "好吗？"]),
        ("Speaker 1：你好 Speaker 2：再见", ["你好", "再见"]),
        ("The speaker: nobody", ["The speaker: nobody"]),
        ("...", []),
        ("", []),
    ],
)
def test_an_answer_is_cut_by_labels_else_lines_else_sentences(text, talkers) -> None:
    assert talkers_of(text) == talkers


@given(st.text(max_size=80))
def test_cutting_leaves_nothing_said_out_but_labels_and_list_marks(text) -> None:
    if ":" in text or "：" in text or "﹕" in text or re.search(r"\d", text):
        return
    said = re.sub(r"\W", "", "".join(talkers_of(text)))
    assert all(character in said for character in re.findall(r"[a-z]", text))


def test_talkers_are_matched_in_whatever_order_they_come() -> None:
    assert errors("We leave at nine. Hello, how are you?") == 0
    assert errors("Speaker 1: We leave at nine\nSpeaker 2: Hello, how are you?") == 0


def test_a_missed_talker_is_deleted_and_one_too_many_inserted() -> None:
    assert scored("Hello, how are you?") == {
        **{"S": 0, "D": 4, "I": 0, "N": 8},
        **{"one_talker": 1.0, "two_talkers": 0.0, "more_talkers": 0.0, "talkers_right": 0.0},
    }
    more = scored("Hello how are you. We leave at nine. Good bye.")
    assert (more["I"], more["more_talkers"], more["talkers_right"]) == (2, 1.0, 0.0)


@pytest.mark.parametrize("name", ["cpwer", "best-permutation"])
def test_silence_is_all_deletions(name) -> None:
    scorer = overlapped_speech().available[name]
    answer = scorer.parse(MIXTURE, {"answer": Response()})
    assert answer == Answer("empty")
    found = scorer.score(MIXTURE, answer)
    assert (found["D"], found["N"], found["one_talker"]) == (8, 8, 0.0)


def test_a_cut_answer_counts_as_far_as_it_goes() -> None:
    scorer = overlapped_speech().available["cpwer"]
    answer = scorer.parse(MIXTURE, {"answer": Response.of("Hello how are you. We", "length")})
    assert answer.status == "truncated"
    assert scorer.score(MIXTURE, answer)["D"] == 3


@pytest.mark.parametrize(
    ("text", "is_scored"),
    [
        ("Hello how are you. We leave at nine.", True),
        ("Hello how are you. We leave at nine", True),
        (" .Hello how are you. We leave at nine...", True),
        ("Hello how are you. We leave at nine.</s>", True),
        ("Hello how are you.. We leave at nine", False),
        ("Hello how are you we leave at nine.", False),
        ("Hello. How are you. We leave at nine.", False),
        ("Hello how are you? We leave at nine!", False),
        ("", False),
    ],
)
def test_the_reproduction_scores_answers_of_exactly_two_sentences(text, is_scored) -> None:
    assert (scored(text, "exactly-two-sentences") is not None) == is_scored
    assert scored(text, "best-permutation") is not None


def test_the_reproduction_leaves_out_what_did_not_come_to_its_end() -> None:
    two = overlapped_speech().available["exactly-two-sentences"]
    cut = {"answer": Response.of("Hello how are you. We leave at", "length")}
    assert two.score(MIXTURE, two.parse(MIXTURE, cut)) is None
    written = {"answer": Response.of("Hello how are you. We leave at nine.</s>", "length")}
    assert two.score(MIXTURE, two.parse(MIXTURE, written))["D"] == 0


def test_what_the_reproduction_leaves_out_is_shown_beside_it() -> None:
    names = [scorer.name for scorer in overlapped_speech("exactly-two-sentences").scorers]
    assert names == ["exactly-two-sentences", "best-permutation"]


def published(text: str, truths: tuple[str, ...]) -> float | None:
    """The reproduction's rule written out once more, with jiwer: errors, or None where it leaves the answer out."""

    def normalised(sentence: str) -> str:
        return " ".join("".join(c for c in sentence.upper() if c in "ABCDEFGHIJKLMNOPQRSTUVWXYZ' ").split())

    sentences = text.strip().strip(".").split(".")
    if len(sentences) != 2:
        return None
    totals = []
    for order in itertools.permutations(sentences):
        total = 0
        for truth, said in zip(truths, order, strict=True):
            reference, hypothesis = normalised(truth), normalised(said)
            if reference and hypothesis:
                words = jiwer.process_words(reference, hypothesis)
                total += words.substitutions + words.deletions + words.insertions
            else:
                total += len(reference.split()) + len(hypothesis.split())
        totals.append(total)
    return min(totals)


WORDS = st.lists(st.sampled_from(["hello", "You", "nine", "it's", ".", ". ", "we", "9", "?", "é"]), max_size=12)


@settings(deadline=None)
@given(WORDS.map(" ".join), st.tuples(WORDS.map(" ".join), WORDS.map(" ".join)))
def test_the_reproduction_is_repeated_by_a_second_implementation(text, truths) -> None:
    sample = Sample("mix", (), "", references=truths, reference=truths[0])
    found = scored(text, "exactly-two-sentences", sample)
    assert (None if found is None else found["S"] + found["D"] + found["I"]) == published(text, truths)


def test_chinese_is_compared_by_characters() -> None:
    sample = Sample("mix", (), "", references=("你好吗", "再见"), reference="你好吗")
    found = scored("再见。你好。", sample=sample)
    assert (found["D"], found["N"]) == (1, 5)


def test_the_prompt_is_salmonns_unless_the_sample_asks_itself() -> None:
    (stage,) = overlapped_speech().stages
    assert stage.render(MIXTURE, {}) == (
        Message("user", (AudioSlot(0), "Please write down what you hear each person says.")),
    )
    own = Sample("own", (), "Who says what?", reference="a")
    assert stage.render(own, {})[0].parts == ("Who says what?",)
    assert overlapped_speech(system="Be exact.").stages[0].render(own, {})[0] == Message("system", ("Be exact.",))


def test_an_unknown_scorer_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match=r"no scorer 'wer'; did you mean 'cpwer'\?"):
        overlapped_speech("wer")


def test_what_all_talkers_say_is_no_runaway_answer():
    talkers = tuple(f"this is talker number {number} of this meeting" for number in range(6))
    sample = Sample("a", (), "", reference=talkers[0], references=talkers)
    expects = overlapped_speech().expects
    assert failures(sample, Response.of(". ".join(talkers)), expects) == ()
    assert "runaway" in failures(sample, Response.of("on and so forth we go " * 60), expects)


def test_a_crowd_of_talkers_is_scored():
    talkers = tuple(f"this is talker number {letter} of this meeting" for letter in "abcdefghijklm")
    crowd = Sample("crowd", (), "", reference=talkers[0], references=talkers)
    counts = scored(". ".join(talkers[::-1]), sample=crowd)
    assert (counts["S"], counts["D"], counts["I"], counts["talkers_right"]) == (0, 0, 0, 1.0)
