"""How a bioacoustic question is put, and the same answers read by every rule, side by side."""

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_audiobench.audio.clip import ArraySource, Clip
from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.models.messages import AudioSlot, Message, Response
from pytest_audiobench.protocols.bioacoustic.default_scorer import lettered_options
from pytest_audiobench.protocols.bioacoustic.task import (
    QUESTIONS,
    bioacoustic,
    bioacoustic_captioning,
    bioacoustic_detection,
    bioacoustic_open_ended,
)

CLIP = Clip(ArraySource.of([0.0, 0.1], 16_000))
LABELS = ("dog", "cat", "crow")
WHALES = ("Beluga, White Whale", "Minke whale", "None")


def sample(reference="", labels=LABELS, references=(), id_="one", question=""):
    return Sample(id_, (CLIP,), question, labels, reference or next(iter(references), ""), references=references)


def scored(scorer, pairs):
    """The statistics of (sample, text) pairs as a run draws them."""
    rows = [(one, scorer.parse(one, {"answer": Response.of(text)})) for one, text in pairs]
    own = [dict(scorer.score(*row)) for row in rows]
    further = scorer.together(rows) if scorer.together else [{}] * len(rows)
    return [{**one, **its} for one, its in zip(own, further, strict=True)]


def numbers(protocol, pairs):
    found = {}
    for scorer in protocol.available.values():
        if scorer.missing_parts():
            continue
        statistics = scored(scorer, pairs)
        found[scorer.name] = {name: metric_kind(name).estimate(statistics, None).value for name in scorer.metrics}
    return found


# --- the question


def test_the_prompt_lists_the_tasks_labels_and_never_the_truth():
    text = (
        "Which of the labels describes this recording?\nThe labels are:\n- dog\n- cat\n- crow\n"
        "Answer with one label and nothing else."
    )
    for truth in LABELS:
        (message,) = bioacoustic().stages[0].render(sample(truth), {})
        assert message == Message("user", (AudioSlot(0), text))


def test_a_detection_offers_classes_and_none_is_none():
    (message,) = bioacoustic_detection().stages[0].render(sample("Minke whale", WHALES), {})
    assert "- Beluga, White Whale\n- Minke whale\nAnswer with all" in message.parts[1]
    assert "- None" not in message.parts[1]


def test_a_samples_own_question_goes_first_and_a_caption_needs_no_labels():
    (message,) = bioacoustic_captioning().stages[0].render(sample("x", (), question="What is this?"), {})
    assert message.parts[1] == "What is this?"
    (message,) = bioacoustic(task="captioning").stages[0].render(sample("x", ()), {})
    assert message.parts[1] == QUESTIONS["captioning"]


def test_labels_may_stand_an_empty_line_apart():
    (message,) = bioacoustic(prompt="{spaced_labels}\nWhich?").stages[0].render(sample("dog"), {})
    assert message.parts[1] == "- dog\n\n- cat\n\n- crow\nWhich?"


def test_braces_in_labels_are_harmless():
    asked = bioacoustic(labels=["{question}", "{0}"], prompt="{labels} {question}", system="Listen.")
    system, user = asked.stages[0].render(sample("{0}", question="{labels}?"), {})
    assert system == Message("system", ("Listen.",))
    assert user.parts[1] == "- {question}\n- {0} {labels}?"


def test_labels_may_lie_in_a_file(tmp_path):
    file = tmp_path / "labels.txt"
    file.write_text("Beluga, White Whale\n\n  crow \n")
    (message,) = bioacoustic(labels=str(file), prompt="{labels}").stages[0].render(sample("crow", ()), {})
    assert message.parts[1] == "- Beluga, White Whale\n- crow"
    file.write_text("\n")
    with pytest.raises(UsageError, match="holds no labels"):
        bioacoustic(labels=str(file))


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ({"task": "diarization"}, "bioacoustic knows no task 'diarization'; it knows classification, detection"),
        ({"prompt": "{options}"}, "unknown placeholder {options}; known are {question}, {labels} and {spaced_labels}"),
        ({"labels": "/no/such/file"}, "there is no file /no/such/file"),
    ],
)
def test_a_mistake_is_told(wrong, complaint):
    with pytest.raises(UsageError, match=complaint.replace("{", r"\{").replace("}", r"\}")):
        bioacoustic(**wrong)


def test_a_task_without_labels_is_told_where_they_belong():
    for scorer in ("bioacoustic", "beans-run"):
        with pytest.raises(UsageError, match=r"sample 'one' has no choices, and bioacoustic was given no labels"):
            bioacoustic().available[scorer].parse(sample("dog", ()), {"answer": Response.of("dog")})


def test_a_truth_that_is_no_label_is_told():
    for task in ("classification", "detection"):
        with pytest.raises(UsageError, match=r"its truth 'cow' is not one of its labels \(dog, cat, crow\)"):
            scored(bioacoustic(task=task).scorers[0], [(sample("cow"), "dog")])


# --- one set of answers, every rule

ANSWERS = [
    (sample("dog", id_="1"), "I hear a dog"),
    (sample("cat", id_="2"), "It is not a dog, it is a cat"),
    (sample("crow", id_="3"), "a crowded place"),
    (sample("cat", id_="4"), ""),
    (sample("crow", id_="5"), "I'm sorry, I cannot tell."),
]


def test_the_same_answers_by_every_rule():
    found = numbers(bioacoustic(), ANSWERS)
    assert found["bioacoustic"]["accuracy"] == 2 / 5
    # "not a dog" is read as dog, "crowded" as crow, nothing as cat, and a refusal as cat.
    assert found["beans-run"]["accuracy"] == 3 / 5
    assert found["beans-score-from-file"] == found["beans-run"]
    # The nearest of three short labels: chance makes four of these five "right".
    assert found["beans-zero"]["accuracy"] == 4 / 5
    assert found["bioacoustic"]["macro_f1"] == pytest.approx((1 + 2 / 3 + 0) / 3)


def test_the_labels_of_ours_are_the_tasks_and_not_those_of_the_answers():
    few = [(sample("dog", ("dog", "cat"), id_="1"), "dog"), (sample("dog", ("dog", "cat"), id_="2"), "cow")]
    found = numbers(bioacoustic(), few)
    assert found["bioacoustic"]["macro_f1"] == pytest.approx(2 / 3)
    # The file's targets know one label only, so that everything is that label.
    assert found["beans-score-from-file"]["accuracy"] == 1.0


def test_any_of_several_truths_is_right_and_macro_f1_knows_it():
    pairs = [(sample(references=("cat", "dog"), id_="1"), "dog"), (sample("crow", id_="2"), "crow")]
    found = numbers(bioacoustic(), pairs)
    assert (found["bioacoustic"]["accuracy"], found["bioacoustic"]["macro_f1"]) == (1.0, 1.0)
    assert found["beans-run"]["accuracy"] == 1.0
    assert found["beans-run"]["beans_macro_f1"] == pytest.approx(1 / 3)


def test_a_label_with_a_comma_survives_with_ours_only():
    pairs = [(sample(labels=WHALES, references=("Beluga, White Whale",)), "Beluga, White Whale")]
    assert numbers(bioacoustic(), pairs)["bioacoustic"]["accuracy"] == 1.0
    assert numbers(bioacoustic(), pairs)["beans-run"]["accuracy"] == 0.0


# --- detection


def test_a_detection_is_scored_as_sets():
    pairs = [
        (sample("cat, dog", id_="1"), "dog, cat"),
        (sample("crow", id_="2"), "crow, dog"),
        (sample("dog, crow", id_="3"), "dog"),
    ]
    found = numbers(bioacoustic_detection(), pairs)
    assert found["bioacoustic"]["accuracy"] == 1 / 3
    assert found["bioacoustic"]["micro_precision"] == 4 / 5
    assert found["bioacoustic"]["micro_recall"] == 4 / 5
    assert found["bioacoustic"]["set_f1"] == pytest.approx((1 + 2 / 3 + 2 / 3) / 3)
    # One text as truth is compared as it is written, order and all.
    assert found["beans-run"]["beans_accuracy"] == 0.0


def test_silence_heard_as_silence_is_right_once_and_none_is_no_class():
    silent = sample("None", WHALES)
    (told,) = scored(bioacoustic_detection().scorers[0], [(silent, "None")])
    (empty,) = scored(bioacoustic_detection().scorers[0], [(silent, "")])
    assert told == empty
    assert (told["correct"], told["set_f1"], told["labels"]) == (1.0, 1.0, 2.0)
    assert not any(name.startswith(("said_", "true_")) for name in told)


def test_words_that_say_nothing_are_never_right():
    for text in ("zebra", "I'm sorry, I cannot hear the recording."):
        (one,) = scored(bioacoustic_detection().scorers[0], [(sample("", WHALES), text)])
        assert (one["correct"], one["set_f1"], one["said_other"]) == (0.0, 0.0, 1.0)
        (one,) = scored(bioacoustic_detection().scorers[0], [(sample("Minke whale", WHALES), text)])
        assert (one["correct"], one["set_f1"], "said_other" in one) == (0.0, 0.0, False)


def test_an_empty_answer_scores_by_beans_next_and_not_by_ours():
    pairs = [(sample(references=("dog",), id_=str(n)), "") for n in range(4)]
    found = numbers(bioacoustic_detection(), pairs)
    assert found["beans-run"]["beans_map"] == 1.0
    assert found["beans-run"]["beans_average_precision"] == 1.0
    assert (found["bioacoustic"]["macro_f1"], found["bioacoustic"]["set_f1"]) == (0.0, 0.0)


def test_an_emptied_answer_is_scored_by_its_raw_text_by_beans_next():
    scorer = bioacoustic_detection().available["beans-run"]
    one = sample(references=("crow",), labels=("crow",))
    answer = scorer.parse(one, {"answer": Response.of("nothing, really")})
    assert (answer.status, answer.value) == ("unparsed", "nothing, really")
    assert scorer.score(one, answer)["beans_average_precision"] == pytest.approx(1 / 3)


def test_beans_zero_splits_a_label_at_its_comma_and_puts_parts_to_whole_targets():
    pairs = [(sample("a, b", ("a", "b", "c"), id_="1"), "a, b"), (sample("c", ("a", "b", "c"), id_="2"), "c")]
    found = numbers(bioacoustic_detection(), pairs)
    # "a" and "b" are not targets: the nearest to each is "c".
    assert found["beans-zero"]["macro_f1"] == pytest.approx((0 + 0 + 2 / 3) / 3)
    assert found["bioacoustic"]["macro_f1"] == 1.0


def test_beans_zero_leaves_out_what_is_far_from_all_labels():
    pairs = [(sample("None", ("None", "crow"), id_="1"), "elephant herd"), (sample("crow", id_="2"), "crwo")]
    assert numbers(bioacoustic_detection(), pairs)["beans-zero"]["macro_f1"] == 1.0


# --- captions and open answers


def test_a_caption_is_never_put_to_a_reference_by_ours():
    pairs = [
        (sample("a dog barks loudly", (), id_="1"), "A dog, barking loudly"),
        (sample("rain falls on a tin roof", (), id_="2"), "totally wrong text"),
    ]
    found = numbers(bioacoustic_captioning(), pairs)
    assert found["beans-score-from-file"]["cider_beans_next"] == pytest.approx(0.20190284538640002)
    assert found["beans-run"]["cider_beans_next"] < found["beans-score-from-file"]["cider_beans_next"]
    assert 0 < found["bioacoustic"]["cider_d"] < 10


def test_one_caption_alone_has_a_cider_d_of_0():
    found = numbers(bioacoustic_captioning(), [(sample("rain falls", ()), "rain falls")])
    assert found["bioacoustic"]["cider_d"] == 0.0
    assert found["beans-run"]["cider_beans_next"] == 0.0


def test_an_open_answer_is_its_text_or_one_of_the_labels():
    free = bioacoustic(task="open_ended").scorers[0]
    assert scored(free, [(sample("Turdus merula", ()), "turdus merula.")])[0]["correct"] == 1.0
    assert scored(free, [(sample("Turdus merula", ()), "I cannot tell.")])[0]["correct"] == 0.0
    assert scored(free, [(sample("dog"), "I hear a dog")])[0]["correct"] == 1.0


BIRDS = ("Junco hyemalis", "Turdus migratorius", "Setophaga petechia")
COMMON = [
    "Junco hyemalis = Dark-eyed Junco",
    "Turdus migratorius = American Robin",
    "Setophaga petechia = Yellow Warbler = Northern Yellow Warbler",
    "Parus major = Great Tit",
]


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("Dark-eyed Junco", "Junco hyemalis"),
        ("It is a Dark-eyed Junco (Junco hyemalis).", "Junco hyemalis"),
        ("The species is the northern yellow warbler.", "Setophaga petechia"),
        ("dark eyed junko", "Junco hyemalis"),
        ("Not an American Robin, but a Dark-eyed Junco.", "Junco hyemalis"),
        ("An American Robin and a Dark-eyed Junco", None),
        ("Great Tit", None),
        ("None", "None"),
        ("No bird can be heard.", "None"),
        ("No, it is an American Robin and a Dark-eyed Junco.", None),
    ],
)
def test_a_bird_is_read_by_either_of_its_names(text, label):
    scorer = bioacoustic_open_ended(synonyms=COMMON).scorers[0]
    assert scorer.parse(sample("Junco hyemalis", BIRDS), {"answer": Response.of(text)}).value == label


def test_a_detection_knows_synonyms_too():
    asked = bioacoustic(task="detection", synonyms=COMMON)
    pairs = [(sample(labels=BIRDS, references=BIRDS[:2]), "American Robin, Dark-eyed Junco (Junco hyemalis)")]
    assert scored(asked.scorers[0], pairs)[0]["set_f1"] == 1.0


@pytest.mark.parametrize("synonym", ["Dark-eyed Junco", "Junco=Dark-eyed Junco"])
def test_a_synonym_without_a_label_is_refused(synonym):
    with pytest.raises(UsageError, match="names no label"):
        bioacoustic_open_ended(synonyms=[synonym])


def test_where_nothing_is_true_none_is_right_and_the_published_rules_leave_it_out():
    pairs = [
        (sample("", BIRDS, id_="1"), "None"),
        (sample("", BIRDS, id_="2"), "Turdus migratorius"),
        (sample("Turdus migratorius", BIRDS, id_="3"), "None"),
        (sample(labels=BIRDS, references=BIRDS[:2], id_="4"), "Turdus migratorius"),
    ]
    asked = bioacoustic_open_ended(synonyms=COMMON)
    assert [row["correct"] for row in scored(asked.scorers[0], pairs)] == [1.0, 0.0, 0.0, 1.0]
    for name in ("beans-run", "beans-score-from-file"):
        own = [
            asked.available[name].score(one, asked.available[name].parse(one, {"answer": Response.of(text)}))
            for one, text in pairs
        ]
        assert [row is None for row in own] == [True, True, False, False]


# --- what holds for all

TEXTS = st.text(max_size=60) | st.lists(st.sampled_from([*LABELS, ",", "not", "None", ""])).map(" ".join)


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from(LABELS), TEXTS), min_size=1, max_size=6))
def test_no_answer_leaves_the_bounds(pairs):
    for protocol in (bioacoustic(), bioacoustic_detection()):
        rows = [(sample(truth, id_=str(n)), text) for n, (truth, text) in enumerate(pairs)]
        for found in numbers(protocol, rows).values():
            for value in found.values():
                assert math.isnan(value) or 0.0 <= value <= 1.0


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from(LABELS), TEXTS), min_size=1, max_size=6), st.randoms())
def test_no_order_of_samples_moves_a_number(pairs, source):
    rows = [(sample(truth, id_=str(n)), text) for n, (truth, text) in enumerate(pairs)]
    shuffled = source.sample(rows, len(rows))
    for protocol in (bioacoustic("bioacoustic"), bioacoustic_detection()):
        assert repr(numbers(protocol, rows)) == repr(numbers(protocol, shuffled))


@pytest.mark.parametrize("scorer", ["beans-run", "beans-score-from-file", "beans-zero"])
def test_a_hostile_text_comes_to_an_end(scorer):
    texts = ["a, " * 60_000, "answer " * 40_000, "(" * 200_000, "\ud800\x00,1" * 20_000]
    pairs = [(sample("dog", id_=str(n)), text) for n, text in enumerate(texts)]
    for protocol in (bioacoustic(), bioacoustic_detection()):
        assert len(scored(protocol.available[scorer], pairs)) == len(texts)


@pytest.mark.parametrize("task", ["classification", "detection", "captioning", "open_ended"])
def test_every_scorer_signs_its_task(task):
    for scorer in bioacoustic(task=task).available.values():
        # SPIDEr is that of any captions.
        assert task in scorer.signature or scorer.name == "spider"


# --- options by letters

OPTIONS = [
    ("Which species?\nOptions: a) Galerida theklae, b) Parus major", ["Galerida theklae", "Parus major"]),
    ("How many? (A) 3 (B) 5 (C) 7 (D) 10. Answer with just the letter.", ["3", "5", "7", "10"]),
    (
        "Which? A: a slow trill, rising B: a low drone. C: a hum\nAnswer.",
        ["a slow trill, rising", "a low drone", "a hum"],
    ),
    ("What is it?", []),
    ("Is it (B) a wren or (C) a tit?", []),
    ("Which? (A) wren (B) wren", []),
    ("A: <Audio><AudioHere></Audio>\nB: <Audio><AudioHere></Audio>\nWhich?", []),
]


@pytest.mark.parametrize(("question", "texts"), OPTIONS)
def test_options_of_a_question_are_those_that_it_letters_from_a_on(question, texts):
    assert list(lettered_options(question).values()) == texts


@pytest.mark.parametrize(
    ("text", "status", "letter"),
    [
        ("B", "parsed", "B"),
        ("Parus major", "parsed", "B"),
        ("It is the song of Parus major.", "parsed", "B"),
        ("not Galerida theklae", "unparsed", None),
        ("Parus major or Galerida theklae", "unparsed", None),
        ("Corvus corax", "unparsed", None),
        ("", "empty", None),
    ],
)
def test_an_option_may_be_answered_in_its_own_words(text, status, letter):
    asked = sample("B", ("A", "B", "C", "D"), question=OPTIONS[0][0])
    assert bioacoustic().scorers[0].parse(asked, {"answer": Response.of(text)}) == (status, letter)


def test_a_truth_with_its_letter_is_the_letter():
    scorer, asked = bioacoustic().scorers[0], sample("(B) Common chaffinch", ("A", "B", "C", "D"))
    for text, right in (("B", 1.0), ("A", 0.0)):
        assert scorer.score(asked, scorer.parse(asked, {"answer": Response.of(text)}))["correct"] == right
    with pytest.raises(UsageError, match=r"its truth '\(E\) Wren' is not one of its labels"):
        scorer.score(sample("(E) Wren", ("A", "B")), scorer.parse(asked, {"answer": Response.of("A")}))


@pytest.mark.parametrize(
    ("text", "letters"),
    [
        ("A, C", "AC"),
        ("C and A", "AC"),
        ("The sounds A and C are present.", "AC"),
        ("A is present", "A"),
        ("A gibbon calls: sound B", "B"),
        ("not A but B", "B"),
        ("None", ""),
        ("none of them", ""),
    ],
)
def test_several_letters_are_read_and_an_article_is_none(text, letters):
    answer = bioacoustic_detection().scorers[0].parse(sample("A", ("A", "B", "C")), {"answer": Response.of(text)})
    assert answer == ("parsed", json.dumps(list(letters)))
