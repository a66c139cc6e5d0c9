"""What the strict scorer of a multiple-choice answer takes for an answer, and what it does not."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_audiobench.protocols.multiple_choice import letters
from pytest_audiobench.protocols.multiple_choice.letters import read_choice
from pytest_audiobench.protocols.protocol import Answer

ANIMALS = ("dog", "cat", "cow", "sheep")
SCENES = ("Man", "Woman", "Man and woman", "None of them")
KEYS = ("A Major", "F Major", "e Minor", "d Minor")
CHORDS = ("A:maj/5", "A#:maj/5", "C", "F#m")
WRITERS = ("Mark Twain", "F. Scott Fitzgerald", "Ernest Hemingway", "J.D. Salinger")
BIRDS = tuple(f"bird {number}" for number in range(9))

ASSERTED = [
    ("B", ANIMALS, "B"),
    ("b", ANIMALS, "B"),
    ("a", ANIMALS, "A"),
    ("(B)", ANIMALS, "B"),
    ("( b )", ANIMALS, "B"),
    ("B.", ANIMALS, "B"),
    ("b)", ANIMALS, "B"),
    ("[C]", ANIMALS, "C"),
    ("B!", ANIMALS, "B"),
    ("**B**", ANIMALS, "B"),
    ("`D`", ANIMALS, "D"),
    ("__B__", ANIMALS, "B"),
    ("> B", ANIMALS, "B"),
    ("Ｂ", ANIMALS, "B"),
    ("<B>", ANIMALS, "B"),
    ("<b>B</b>", ANIMALS, "B"),
    ("\\boxed{C}", ANIMALS, "C"),
    ("$\\boxed{\\text{C}}$", ANIMALS, "C"),
    ("(B) cat", ANIMALS, "B"),
    ("B) cat", ANIMALS, "B"),
    ("B: cat", ANIMALS, "B"),
    ("B cat", ANIMALS, "B"),
    ("B - cat", ANIMALS, "B"),
    ("**(B) Cat.**", ANIMALS, "B"),
    ("(b) A cat", ANIMALS, "B"),
    ("(C) It moos.", ANIMALS, "C"),
    ("B, because it meows", ANIMALS, "B"),
    ("cat", ANIMALS, "B"),
    ("  CAT. ", ANIMALS, "B"),
    ("A cat.", ANIMALS, "B"),
    ('"sheep"', ANIMALS, "D"),
    ("It is a cat.", ANIMALS, "B"),
    ("It's B.", ANIMALS, "B"),
    ("I think it's B.", ANIMALS, "B"),
    ("Option C", ANIMALS, "C"),
    ("Answer: B", ANIMALS, "B"),
    ("ANSWER: B", ANIMALS, "B"),
    ("answer is b", ANIMALS, "B"),
    ("Answer B", ANIMALS, "B"),
    ('{"answer": "B"}', ANIMALS, "B"),
    ("The answer is cat.", ANIMALS, "B"),
    ("The answer is a cat.", ANIMALS, "B"),
    ("The answer is A.", ANIMALS, "A"),
    ("The answer is A because of the bark", ANIMALS, "A"),
    ("The final answer is (B) cat.", ANIMALS, "B"),
    ("The final answer is:\n\n(B) cat", ANIMALS, "B"),
    ("The correct option is: **(D) sheep**", ANIMALS, "D"),
    ("I would choose (D).", ANIMALS, "D"),
    ("I'd go with option C.", ANIMALS, "C"),
    ("(B) is the correct answer.", ANIMALS, "B"),
    ("Option (B) cat is the most likely.", ANIMALS, "B"),
    ("A is correct.", ANIMALS, "A"),
    ("正确答案是B。", ANIMALS, "B"),
    ("<Conclusion>\nD\n</Conclusion>", ANIMALS, "D"),
    ("<Reasoning>\nIt could be (A).\n</Reasoning>\n<Conclusion>\n(D) sheep\n</Conclusion>", ANIMALS, "D"),
    ("<answer>cow</answer>", ANIMALS, "C"),
    ("<Conclusion>A</Conclusion> no <Conclusion>B</Conclusion>", ANIMALS, "B"),
    ("Dogs bark and cows moo. It meows, so the answer is B.", ANIMALS, "B"),
    ("I hear a meow.\nA dog would bark.\n\nB", ANIMALS, "B"),
    ("First I thought the answer is A. On second hearing the answer is B.", ANIMALS, "B"),
    ("It meows. Therefore, the sound is best described as: (B) cat", ANIMALS, "B"),
    ("Unlike (A), (C) and (D), a meow belongs to a cat. The answer is (B).", ANIMALS, "B"),
    ("C\nHuman: What is the sound of a frog?", ANIMALS, "C"),
    ("B\n\nA cat meows, while a dog barks.", ANIMALS, "B"),
    ("The wrong answer is A. The answer is B.", ANIMALS, "B"),
    ("Man and woman", SCENES, "C"),
    ("The answer is man.", SCENES, "A"),
    ("The answer is man and woman.", SCENES, "C"),
    ("A man", SCENES, "A"),
    ("F Major.", KEYS, "B"),
    ("(A) A Major", KEYS, "A"),
    ("The answer is F major", KEYS, "B"),
    ("A#:maj/5", CHORDS, "B"),
    ("The answer is (D) F#m.", CHORDS, "D"),
    ("J.D. Salinger", WRITERS, "D"),
    ("The answer is F. Scott Fitzgerald.", WRITERS, "B"),
    ("(B) F. Scott Fitzgerald", WRITERS, "B"),
    ("I", BIRDS, "I"),
    ("I. It sings.", BIRDS, "I"),
    ("I bird 8", BIRDS, "I"),
    ("H because it sings", BIRDS, "H"),
    ("(Z)", tuple(f"bird {number}" for number in range(26)), "Z"),
    ("K. bird 10", tuple(f"bird {number}" for number in range(12)), "K"),
]

NOT_ASSERTED = [
    ("", ANIMALS, "empty"),
    (" \n\t ", ANIMALS, "empty"),
    ("\u200b\x00", ANIMALS, "empty"),
    ("N", ANIMALS, "out_of_range"),
    ("(F)", ANIMALS, "out_of_range"),
    ("The answer is E.", ANIMALS, "out_of_range"),
    ("<Conclusion>\nN\n</Conclusion>", ANIMALS, "out_of_range"),
    ("C", ("Male", "Female"), "out_of_range"),
    ("I'm sorry, I can't listen to audio.", ANIMALS, "refused"),
    ("I'm sorry, but I can't analyze it. If you could provide more details, I'd be happy to help.", ANIMALS, "refused"),
    ("As an AI language model, I have no ears.", ANIMALS, "refused"),
    ("I cannot determine the animal.", ANIMALS, "refused"),
    ("I don't have access to the audio.", ANIMALS, "refused"),
    ("Sorry, no.", ANIMALS, "refused"),
    ("A man is speaking while a dog barks.", ANIMALS, "unparsed"),
    ("I hear a faint sound.", ANIMALS, "unparsed"),
    ("I", tuple("uvwxyz"), "out_of_range"),
    ("I, for one, hear music", tuple(f"bird {number}" for number in range(12)), "unparsed"),
    ("I because it meows", BIRDS, "unparsed"),
    ("I - being a model - hear music", BIRDS, "unparsed"),
    ("I and my friends hear music", BIRDS, "unparsed"),
    ("I given the audio hear music", BIRDS, "unparsed"),
    ("The answer is a mystery.", ANIMALS, "unparsed"),
    ("The answer is in the meow.", ANIMALS, "unparsed"),
    ("The answer is not (A).", ANIMALS, "unparsed"),
    ("The wrong answer is A.", ANIMALS, "unparsed"),
    ("It is not (B).", ANIMALS, "unparsed"),
    ("A or B", ANIMALS, "unparsed"),
    ("A and B", ANIMALS, "unparsed"),
    ("B, C", ANIMALS, "unparsed"),
    ("(A) or (C)", ANIMALS, "unparsed"),
    ("The answer is A or B.", ANIMALS, "unparsed"),
    ("The answer is cat or dog.", ANIMALS, "unparsed"),
    ("(A) dog (B) cat (C) cow (D) sheep", ANIMALS, "unparsed"),
    ("A. dog\nB. cat\nC. cow\nD. sheep", ANIMALS, "unparsed"),
    ("The options are:\nA. dog\nB. cat", ANIMALS, "unparsed"),
    ("B\n\nTherefore the answer is C.", ANIMALS, "unparsed"),
    ("(B) dog", ANIMALS, "unparsed"),
    ("The answer is (B) dog.", ANIMALS, "unparsed"),
    ("B: a dog, barking", ANIMALS, "unparsed"),
    ("It meows, which suggests the cat.", ANIMALS, "unparsed"),
    ("Grade A recording of option quality", ANIMALS, "unparsed"),
    ("C major chord is heard", CHORDS, "unparsed"),
    ("C", ("C", "D", "E", "F"), "unparsed"),
    ("2", ANIMALS, "unparsed"),
    ("dog cat", ANIMALS, "unparsed"),
    ("<C C>", ANIMALS, "unparsed"),
    ("CRASH: CUDA out of memory. GPU 0 has a total capacity of 79 GiB", ANIMALS, "unparsed"),
]


@pytest.mark.parametrize(("text", "choices", "letter"), ASSERTED, ids=[text[:40] for text, _, _ in ASSERTED])
def test_an_asserted_option_is_read(text: str, choices: tuple[str, ...], letter: str) -> None:
    assert read_choice(text, choices) == Answer("parsed", letter)


@pytest.mark.parametrize(("text", "choices", "status"), NOT_ASSERTED, ids=[text[:40] for text, _, _ in NOT_ASSERTED])
def test_anything_else_says_why_there_is_no_answer(text: str, choices: tuple[str, ...], status: str) -> None:
    assert read_choice(text, choices) == Answer(status, None)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("B", Answer("parsed", "B")),
        ("(B) ca", Answer("parsed", "B")),
        ("B\n\nThe animal is", Answer("parsed", "B")),
        ("The answer is (B). It me", Answer("parsed", "B")),
        ("cat", Answer("parsed", "B")),
        ("The answer is", Answer("truncated")),
        ("The answer is B", Answer("truncated")),
        ("The answer is cat", Answer("truncated")),
        ("I hear a long", Answer("truncated")),
    ],
)
def test_an_answer_cut_by_the_limit_of_tokens_must_be_complete(text: str, expected: Answer) -> None:
    assert read_choice(text, ANIMALS, "length") == expected


def test_a_cut_answer_that_a_longer_option_could_continue_is_truncated() -> None:
    assert read_choice("Man", SCENES, "length") == Answer("truncated")
    assert read_choice("Man", SCENES, "stop") == Answer("parsed", "A")


def test_a_server_that_says_it_refused_is_believed_when_nothing_was_asserted() -> None:
    assert read_choice("…", ANIMALS, "refusal") == Answer("refused")
    assert read_choice("(B)", ANIMALS, "refusal") == Answer("parsed", "B")


def test_equal_options_are_one() -> None:
    assert read_choice("thirteen", ("thirteen", "twenty", "thirteen")) == Answer("parsed", "A")
    assert read_choice("(C) thirteen", ("thirteen", "twenty", "thirteen")) == Answer("parsed", "C")


TEXTS = st.text(st.characters(), max_size=300)
ANSWER_LIKE = st.lists(
    st.sampled_from(
        [
            *(
                "A",
                "B",
                "I",
                "N",
                "(",
                ")",
                ".",
                ":",
                " ",
                "\n",
                "a",
                "or",
                "and",
                "not",
                "the",
                "is",
                "answer",
                "option",
            ),
            *("dog", "cat", "cow", "correct", "<Conclusion>", "</Conclusion>", "sorry", "I can't hear", "**", "\ud800"),
        ]
    ),
    max_size=25,
).map(" ".join)
CHOICES = st.lists(st.text(max_size=12), min_size=2, max_size=26).map(tuple) | st.just(ANIMALS)
FINISHES = st.sampled_from(["stop", "length", "refusal", "unknown"])


@given(TEXTS | ANSWER_LIKE, CHOICES, FINISHES)
def test_every_text_has_a_scorer_and_no_letter_is_beyond_the_options(text, choices, finish) -> None:
    answer = read_choice(text, choices, finish)
    assert (answer.value is not None) == (answer.status == "parsed")
    assert answer.value is None or answer.value in string.ascii_uppercase[: len(choices)]


@given(
    st.sampled_from(
        ["{0}", "({0})", "{0}.", "{0})", "({0}) {1}", "{0}: {1}", "{1}", "The answer is ({0}).", "Answer: {1}"]
    ),
    st.sampled_from(range(4)),
    st.sampled_from([str.lower, str.upper, str.title]),
    st.text(" \t\n", max_size=4),
    st.text(" \t\n", max_size=4),
)
def test_case_and_space_around_make_no_difference(form, index, recased, before, after) -> None:
    text = form.format("ABCD"[index], ANIMALS[index])
    assert read_choice(before + recased(text) + after, ANIMALS) == Answer("parsed", "ABCD"[index])


REFUSALS = st.sampled_from(
    [
        "I'm sorry, but I can't listen to audio.",
        "As an AI, I cannot hear.",
        "I don't have access to the audio, so I can't give an answer. I'd be happy to help.",
    ]
)


@given(REFUSALS, CHOICES.filter(lambda choices: all(len(choice) < 12 for choice in choices)))
def test_a_refusal_is_no_option(refusal, choices) -> None:
    assert read_choice(refusal, choices) == Answer("refused")


@given(REFUSALS, st.sampled_from(["B", "(B) cat", "The answer is (B).", "Hm.", "(A) or (C)"]), st.booleans())
def test_a_refusal_beside_an_answer_never_makes_another_answer(refusal, text, first) -> None:
    alone = read_choice(text, ANIMALS).value
    both = read_choice(f"{refusal}\n{text}" if first else f"{text}\n{refusal}", ANIMALS).value
    assert both in (alone, None)


HOSTILE = {
    "prose": "the dog said that a cat is here. " * 60_000,
    "spaces": "The answer is" + " " * 2_000_000 + "B",
    "letters": "A " * 1_000_000,
    "brackets": "(" * 1_000_000,
    "boxes": "(A)" * 500_000,
    "tags": "<Conclusion>" * 150_000,
    "open tags": "<" * 1_000_000,
    "answers": "answer is " * 150_000,
    "lines": "B\n" * 500_000,
    "quotes": '"' * 1_000_000,
    "stars": "*_" * 500_000,
    "surrogates": "\ud800" * 500_000,
    "sorry": "I am very " * 150_000,
    "combining": "a" + "\u0301" * 500_000,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_megabytes_of_hostile_text_are_read(text: str) -> None:
    assert read_choice(text, ANIMALS).status in {"unparsed", "refused", "out_of_range", "parsed", "empty"}


def test_an_answer_at_the_end_of_a_megabyte_is_found() -> None:
    assert read_choice("It might be a dog. " * 60_000 + "The answer is (B).", ANIMALS) == Answer("parsed", "B")


PIECES = (
    *("answer", "The answer is", "not the answer is", "Option", "choice:", "selection was", "select", "choose"),
    *("I pick", "opt for", "go with", "going with", "I'd say", "i would say", "prediction =", "(B)", "b", "A"),
    *("C.", "cat", "dog.", "is the best", "seems to be the most likely", "the correct", "is right", "closest"),
    *("A cat is", "most", "\n"),
)


@given(st.lists(st.sampled_from(PIECES), max_size=12).map(" ".join))
def test_the_quick_look_for_statements_misses_none(text):
    found = [match.span() for match in letters._openings(text)]
    assert found == [match.span() for match in letters._STATEMENT.finditer(text)]


@given(st.lists(st.sampled_from(PIECES), max_size=12).map(" ".join))
def test_the_quick_look_for_letters_called_right_misses_none(text):
    end = letters._last_called_right(text)
    called = [match for match in letters._LETTER_IS_RIGHT.finditer(text) if letters._IS_RIGHT.match(text, match.end())]
    assert all(match.end() <= end for match in called)


@given(st.text("aAbB .,(cat)'*\n", max_size=40), st.sampled_from((ANIMALS, SCENES, KEYS)))
def test_a_letter_of_the_fullwidth_forms_is_the_same_letter(text, choices):
    # What is not an ASCII takes the patterns alone, without the quick looks before them.
    wide = text.translate({code: code + 0xFEE0 for code in range(0x21, 0x7F) if chr(code).isalpha()})
    assert read_choice(f"The answer is {wide}", choices) == read_choice(f"The answer is {text}", choices)
