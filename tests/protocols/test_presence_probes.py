"""Probes for sounds: how they are asked, how answers are read, and what an answer that says neither counts as."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.models.messages import Response
from pytest_audiobench.protocols.presence import answers, task
from pytest_audiobench.protocols.presence.task import presence, question, template_of

SIREN = Sample("m1/siren", (), "", reference="yes", metadata={"label": "siren", "condition": "solo"})
ABSENT = Sample("m1/rain", (), "", reference="no", metadata={"label": "rain", "condition": "solo"})


def read(text, label="siren", finish="stop"):
    return answers.read(text, label, finish)


def asked_of(label):
    (stage,) = presence().stages
    return stage.messages(Sample("a", (), "", reference="yes", metadata={"label": label}), {})[0].parts[-1]


@pytest.mark.parametrize(
    ("label", "wanted"),
    [
        ("siren", "Do you hear a siren?"),
        ("alarm", "Do you hear an alarm?"),
        ("engine", "Do you hear an engine?"),
        ("dog_bark", "Do you hear a dog bark?"),
        ("university bell", "Do you hear a university bell?"),
        ("hourly chime", "Do you hear an hourly chime?"),
        ("urgent call", "Do you hear an urgent call?"),
        ("{label}", "Do you hear a {label}?"),
    ],
)
def test_a_probe_asks_for_its_label_with_the_right_article(label, wanted):
    assert asked_of(label) == wanted


def test_an_article_is_put_right_in_either_direction_and_nowhere_else():
    assert question(template_of("Is an {label} there?"), "siren") == "Is a siren there?"
    assert question(template_of("A {label}, or not?"), "owl") == "An owl, or not?"
    assert question(template_of("Is {label} there, a lot? {{x}}"), "alarm") == "Is alarm there, a lot? {x}"


@pytest.mark.parametrize("wrong", ["{foo}", "{label!r}", "{label:>9}"])
def test_a_placeholder_that_there_is_not_is_named_as_it_was_written(wrong):
    with pytest.raises(UsageError, match=re.escape(f"has the unknown placeholder {wrong}; known is {{label}}")):
        presence(prompt=f"Is a {{label}} there? {wrong}")


def test_listeners_that_are_no_language_models_are_offered_the_sound_and_something_else():
    (stage,) = presence().stages
    assert stage.choices(SIREN) == ("siren", "something else")
    assert stage.fields == ("label",)


@pytest.mark.parametrize("metadata", [{}, {"label": " "}, {"label": 3}])
def test_a_sample_without_a_sound_to_ask_for_is_a_mistake_in_the_data(metadata):
    (stage,) = presence().stages
    with pytest.raises(UsageError, match="sample 'a' names no sound to ask for"):
        stage.messages(Sample("a", (), "", reference="yes", metadata=metadata), {})


def test_a_reference_that_is_neither_is_a_mistake_in_the_data():
    scorer = presence().scorers[0]
    sample = Sample("a", (), "", reference="maybe", metadata={"label": "siren"})
    with pytest.raises(UsageError, match="the reference of a probe is yes or no, and not 'maybe'"):
        scorer.score(sample, scorer.parse(sample, {"answer": Response.of("yes")}))


YES = [
    "Yes", "yes.", "YES!", "Yes, I hear a siren.", "yes it is", "Yeah", "True", "Present.", '"Yes"', "**Yes**",
    "The answer is yes.", "Answer: yes", '{"answer": "yes"}', "There is a siren.", "There's a siren in the background",
    "I hear sirens.", "I can clearly hear a siren", "I can hear a siren in the distance", "A siren is present.",
    "The audio contains a dog and a siren.", "siren", "A siren.", "Is there a siren? Yes.",
    "In the clip a siren can be heard.",
    "<think>It may be an alarm.</think>Yes",
    "是", "是的。", "有", "听到了", "はい", "네", "sí", "Sì.", "Oui, bien sûr.",
    "Ja.", "Да", "Sim", "Yes</s>",
    "Ja, ich höre eine Sirene.", "Si, certo.", "<s>Yes</s>", "Yes<|im_end|>", "[/INST] Yes", "Assistant: Yes",
    "<think>no</think><answer>Yes</answer>", "<answer>There is a siren</answer>", "\\boxed{yes}", "(A) Yes", "✅ Yes",
    "Siren: yes", '{"siren": true}', '{"dog": "no", "siren": "yes"}', "| siren | yes |", "Siren detected: yes",
    "Q: Do you hear a siren?\nA: Yes", "yes yes yes", "Definitely yes.", "Oh yes.", "Uh, yes, I hear it.", "Yes (90%)",
    "Listen to the audio. Is a siren present? Answer yes or no.\nYes", "Conclusion: yes", "theres a siren",
    "Yes, I can hear a siren in the background, possibly from an ambulance.",
    "The answer to the question is yes.", "A dog barks. A wail rises. In short: yes.", "Yes, and I hear no dog.",
]  # fmt: skip
NO = [
    "No", "no.", "NO!", "No, I don't hear a siren.", "No, it is an alarm", "Nope", "False", "Absent.", "No siren.",
    "No sirens can be heard here.", "I don't hear a siren.", "I do not hear any siren", "I can't hear a siren.",
    "I cannot hear a siren in this clip", "There is no siren.", "There isn't a siren", "There are no sirens",
    "The siren is not present.", "Not present", "It is not present.", "The audio does not contain any siren",
    "I don't think there is a siren.", "not a siren but an alarm", "It is a bell, not a siren", "Siren: no",
    "The siren is absent", "不是。", "没有", "没有听到", "いいえ", "아니요", "Non.", "Nein!", "Нет", "Não",
    "The answer is no.", "Hear a siren? No", "No, there is rain but no siren", "something else", "Without any siren",
    "I fail to hear a siren.", "I am unable to detect a siren.", "The siren is missing.", "i dont hear a siren",
    "i cant hear a siren", "Siren not detected", "Siren present: No", '{"siren": false}', "dog: yes, siren: no",
    "<answer>No</answer>", "$\\boxed{\\text{No}}$", "B) No", "The clip starts with rain. Therefore, no.",
    "Thus the answer is: **No**", "Definitely not.", "Question: Is there a siren? Answer: No", "No (confidence: 80%)",
    "Listen to the audio. Is a siren present? Answer yes or no. No.", "Human: Is there a siren?\nAI: No",
]  # fmt: skip
NEITHER = [
    "Maybe.", "Perhaps", "I cannot tell.", "I'm not sure.", "It might be a siren.", "It could be a siren", "possibly",
    "Yes and no", "no, yes", "yes or no", "I hear nothing I know", "No idea", "I don't know", "Is it a siren?",
    "I cannot hear the audio.", "As an AI language model I cannot listen", "yesterday", "nothing", "I'm sorry.",
    "Is there a siren?", "Yes, but it is not a siren", "No, there is a siren", "I hear a dog.", "It is rain.",
    "I can't tell if there is a siren", "是不是", "不知道", "不确定", "Would a siren sound like this", "1", "0",
    "A", "B", "y",
    "Unclear", "There may be a siren.", "Hard to say", "A question of a siren", "Sirens usually rise and fall in pitch",
    "A siren would have a rising pitch.", "A siren is a loud device.", "A siren has a rising pitch", "Sirens are loud",
    "It's not that there is no siren.", "It is not true that there is no siren.", "I wouldn't say there's no siren.",
    "The siren is not the only sound.", "I hear nothing except a siren.", "No sound other than the siren is present.",
    "There's no mistaking the siren.", "I can't miss the siren", "There is no lack of sirens", "Siren: ❌",
    "Initially I thought there was a siren.", "Initially I thought there was a siren, but there isn't.",
    "We need to decide: siren is present or not.", "I hear a sound similar to a siren", "yes/no",
    "It sounds like a siren but it is actually a kettle.", "It's a kettle that sounds like a siren",
    'A man says "no, no, there is no siren" while rain falls.', 'I hear a man saying "yes, a siren"',
    "I cannot confirm that there is a siren", "<think>I hear a siren", "As a result no dog can be heard",
]  # fmt: skip


@pytest.mark.parametrize("text", YES)
def test_these_say_yes(text):
    assert read(text) == ("parsed", "yes")


@pytest.mark.parametrize("text", NO)
def test_these_say_no(text):
    assert read(text) == ("parsed", "no")


@pytest.mark.parametrize("text", NEITHER)
def test_these_say_neither_and_nothing_is_guessed(text):
    assert read(text).value is None
    assert read(text).status in ("unparsed", "refused")


@pytest.mark.parametrize("text", ["", "   ", "...", "\n\n", "!?"])
def test_an_answer_without_words_is_empty(text):
    assert read(text).status == "empty"


@pytest.mark.parametrize(
    ("text", "label", "value"),
    [
        ("There is no dog but yes, a cat.", "dog", "no"),
        ("There is no dog but yes, a cat.", "cat", "yes"),
        ("I hear rain and a bell, but no siren.", "bell", "yes"),
        ("I hear rain and a bell, but no siren.", "siren", "no"),
        ("I hear rain and a bell, but no siren.", "engine", None),
        ("I don't hear a dog, a cat or a siren.", "cat", "no"),
        ("The dog bark is clearly audible.", "dog bark", "yes"),
        ("There is a fire truck siren", "truck", "yes"),
        ("I hear glasses", "glass", "yes"),
        ("I hear a watch", "watches", None),
    ],
)
def test_a_statement_is_read_about_the_sound_that_was_asked_for(text, label, value):
    assert read(text, label).value == value


def test_what_the_limit_of_tokens_cut_counts_only_where_it_says_it_already():
    assert read("Yes, I hear", finish="length") == ("parsed", "yes")
    assert read("The recording begins with", finish="length").status == "truncated"
    assert read("<think>I hear a siren", finish="length").status == "truncated"


def test_what_was_cut_off_could_have_denied_the_last_words():
    assert read("The clip seems to hold a siren", finish="length").status == "truncated"
    assert read("There is rain. There is a siren", finish="length").status == "truncated"
    assert read("There is a siren in the background, with", finish="length") == ("parsed", "yes")
    assert read("There is a siren. It is followed by", finish="length") == ("parsed", "yes")
    assert read("Yes", finish="refusal").status == "refused"


@given(st.text(), st.sampled_from(["siren", "dog bark", "犬", "(", "no", "yes"]))
def test_any_text_is_yes_or_no_or_nothing(text, label):
    found = read(text, label)
    assert (found.value in ("yes", "no")) == (found.status == "parsed")
    assert found.status in ("parsed", "unparsed", "refused", "empty", "truncated")
    assert found == read(text, label)


FRAGMENTS = st.sampled_from(
    ["yes", "no", "siren", "a ", "there is ", "not ", ", ", ". ", "I hear ", "maybe ", "?", "\n"]
)


@given(st.lists(FRAGMENTS, max_size=12))
def test_what_it_read_reads_as_itself(pieces):
    value = read("".join(pieces)).value
    assert value is None or read(value).value == value


@given(st.lists(FRAGMENTS, max_size=10).map("".join))
def test_capitals_and_spaces_around_change_nothing(text):
    if len(text.strip()) > 1:
        assert read(f"  {text.upper()}  ").value == read(text).value


@pytest.mark.parametrize("size", [20_000, 200_000])
def test_a_long_answer_is_read_in_bounded_time_at_its_ends(size):
    assert read("Yes. " + "I hear a dog " * size).value == "yes"
    assert read("x " * size + "\n\nNo.").value == "no"
    assert read("not a " * size).value is None


@given(st.text(alphabet=st.sampled_from("yesno prt1\"'`.,\n ıſK")))
def test_the_published_parser_by_another_hand(text):
    words = {"yes": "yes y yeah yep true present positive 1", "no": "no n nope nah false absent negative 0"}
    rest = text.lstrip().lower()
    rest = (rest[1:] if rest[:1] in "\"'`" and rest[:1] else rest).lstrip()
    first = re.match(r"\w*", rest)[0]
    if not text.isascii():
        return
    if first in words["yes"].split():
        expected = True
    elif first in words["no"].split():
        expected = False
    else:
        expected = "yes" in text.lower() and "no " not in text.lower()[:6]
    assert task.says_yes(text) is expected


@pytest.mark.parametrize(
    ("text", "yes"),
    [("yesterday", True), ("There is no dog but yes a cat", True), ("no yes", False), ("maybe", False), ("", False)],
)
def test_the_published_parser_has_its_defects(text, yes):
    assert task.says_yes(text) is yes


def values(text, samples=(SIREN, ABSENT), scorer="heard"):
    one = presence(scorer).scorers[0]
    statistics = [one.score(sample, one.parse(sample, {"answer": Response.of(text)})) for sample in samples]
    return {name: metric_kind(name).estimate(statistics, None).value for name in one.metrics}


def test_a_silent_model_hears_nothing_and_raises_no_alarm():
    found = values("")
    assert (found["recall"], found["fpr"], found["balanced_accuracy"]) == (0.0, 0.0, 0.0)
    assert found["d_prime"] == 0.0


def test_a_yes_sayer_has_every_sound_and_no_sensitivity():
    found = values("Yes", (SIREN, ABSENT) * 50)
    assert (found["recall"], found["fpr"], found["balanced_accuracy"]) == (1.0, 1.0, 0.5)
    assert found["d_prime"] == 0.0
    assert found["criterion"] < -2.0


def test_a_refusal_is_no_right_answer_by_ours_and_one_by_the_published_rule():
    refusal = "I'm sorry, I cannot tell."
    assert values(refusal, (ABSENT,))["accuracy"] == 0.0
    assert values(refusal, (ABSENT,), "ab-yesno")["accuracy"] == 1.0
    assert values(refusal, (ABSENT,))["fpr"] == 0.0
