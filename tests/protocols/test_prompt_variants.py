"""One question in several wordings: what is asked, what the vote is, and what is left as it was."""

import inspect
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_audiobench import multiple_choice, transcription, with_prompt_variants
from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError
from pytest_audiobench.models.messages import Response
from pytest_audiobench.protocols.captioning.task import captioning
from pytest_audiobench.protocols.catalogue import FAMILIES, family, function_of, options_of
from pytest_audiobench.protocols.classification.task import classification
from pytest_audiobench.protocols.presence.task import presence
from pytest_audiobench.protocols.prompt_sets import PROMPT_SETS, YESNO, PromptSet, chosen_sets
from pytest_audiobench.protocols.prompt_variants import Voted, recorded_protocol, vote, with_chosen_prompts
from pytest_audiobench.protocols.protocol import Answer
from pytest_audiobench.protocols.speaker_verification import verification
from pytest_audiobench.rescoring.rescore import protocol_of

THREE = PromptSet("three", ("{question}\n{options}", "{question} {options_in_line}", "Listen. {question}\n{options}"))
SAMPLE = Sample("a", (), "Which animal?", ("dog", "cat", "cow"), "dog", {"label": "dog"})


def said(protocol, *texts):
    return {stage.name: Response.of(text) for stage, text in zip(protocol.stages, texts, strict=True)}


def read(protocol, name, *texts, sample=SAMPLE):
    return protocol.available[name].parse(sample, said(protocol, *texts))


def test_every_wording_is_asked_in_a_stage_of_its_own():
    asked = with_prompt_variants(multiple_choice(), THREE)
    assert [stage.name for stage in asked.stages] == ["answer", "answer@2", "answer@3"]
    texts = ["".join(stage.messages(SAMPLE, {})[0].parts) for stage in asked.stages]
    assert texts[1] == "Which animal? (A) dog (B) cat (C) cow"
    assert len(set(texts)) == 3


def test_more_wordings_begin_with_the_same_stages():
    three, five = (with_prompt_variants(presence(), "yesno", count) for count in (3, 5))
    for short, long in zip(three.stages, five.stages, strict=False):
        assert short.messages(SAMPLE, {}) == long.messages(SAMPLE, {})
        assert (short.name, short.task, short.settings, short.choices(SAMPLE)) == (
            long.name, long.task, long.settings, long.choices(SAMPLE)
        )  # fmt: skip


def test_one_wording_is_no_ensemble():
    asked = with_prompt_variants(presence(), "yesno", 1)
    assert [stage.name for stage in asked.stages] == ["answer"]
    assert list(asked.available) == list(presence().available)
    assert asked.options == {"wordings": [YESNO.paraphrases[0]], "wording_set": "yesno-v1"}


def test_closed_answers_have_a_vote_beside_each_wording():
    asked = with_prompt_variants(multiple_choice(), THREE)
    assert [scorer.name for scorer in asked.scorers] == ["letters", "letters@1", "letters@2", "letters@3"]
    assert asked.scorers[0].signature.endswith("|vote:3|tie:unanswered")
    assert asked.scorers[2].signature.endswith("|wording:2/3")
    assert read(asked, "letters", "A", "B", "B") == ("parsed", "B")
    assert read(asked, "letters@1", "A", "B", "B") == ("parsed", "A")


def test_free_answers_are_the_first_wordings():
    asked = with_prompt_variants(transcription(), PromptSet("two", ("Transcribe.", "Write what is said.")))
    names = [scorer.name for scorer in asked.scorers]
    assert names == ["wer-basic", "wer-basic@2"]
    sample = Sample("a", (), "", reference="hello there")
    assert read(asked, "wer-basic", "hello there", "goodbye", sample=sample).value == "hello there"
    assert read(asked, "wer-basic@2", "hello there", "goodbye", sample=sample).value == "goodbye"
    assert "wording_agreement" not in asked.scorers[0].metrics


def test_a_published_rule_keeps_its_tie():
    asked = with_prompt_variants(presence("heard", "ab-yesno"), "yesno", 2)
    assert read(asked, "heard", "Yes", "No") == ("unparsed", None)
    assert read(asked, "ab-yesno", "Yes", "No") == ("parsed", "no")
    assert asked.available["ab-yesno"].signature.endswith("|tie:no")


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        (["A", "A", "B"], ("parsed", "A")),
        (["A", "B", "C"], ("unparsed", None)),
        (["A", "hm", "hm"], ("unparsed", None)),
        (["A", "A", "hm"], ("parsed", "A")),
        (["A", "I'm sorry, I cannot tell.", "I'm sorry, I cannot tell."], ("refused", None)),
        (["", "", "A"], ("empty", None)),
    ],
)
def test_no_answer_is_a_camp_of_its_own(answers, expected):
    assert read(with_prompt_variants(multiple_choice(), THREE), "letters", *answers) == expected


def test_agreement_is_the_largest_camps_share():
    asked = with_prompt_variants(multiple_choice(), THREE)
    scorer = asked.scorers[0]
    for answers, share in ((["A", "A", "A"], 1.0), (["A", "A", "B"], 2 / 3), (["A", "B", "C"], 1 / 3)):
        answer = scorer.parse(SAMPLE, said(asked, *answers))
        assert scorer.score(SAMPLE, answer)["wordings_agreeing"] == pytest.approx(share)
    assert "wording_agreement" in scorer.metrics
    assert "wording_agreement" not in asked.scorers[1].metrics


ANSWERS = st.lists(
    st.sampled_from(
        [Answer("parsed", "yes"), Answer("parsed", "no"), Answer("unparsed"), Answer("refused"), Answer("empty")]
    ),
    min_size=1,
    max_size=9,
)


@given(ANSWERS, st.randoms(use_true_random=False))
def test_a_vote_depends_on_no_order(answers, random):
    other = list(answers)
    random.shuffle(other)
    assert (vote(answers).value, vote(answers).agreeing) == (vote(other).value, vote(other).agreeing)


@given(ANSWERS)
def test_a_vote_is_the_same_with_yes_and_no_exchanged(answers):
    turned = {"yes": "no", "no": "yes", None: None}
    other = [Answer(one.status, turned[one.value]) for one in answers]
    assert vote(other).value == turned[vote(answers).value]


@given(ANSWERS)
def test_a_vote_by_another_hand(answers):
    counts = Counter(one.value or "nothing" for one in answers).most_common()
    level = len(counts) > 1 and counts[0][1] == counts[1][1]
    expected = None if level or counts[0][0] == "nothing" else counts[0][0]
    assert vote(answers).value == expected
    assert vote(answers, "no").value == ("no" if level else expected)
    assert vote(answers).agreeing == counts[0][1] / len(answers)
    assert isinstance(vote(answers), Voted)


@pytest.mark.parametrize("name", [name for name in FAMILIES if "prompt" in options_of(name)])
def test_every_family_with_a_prompt_can_be_worded(name):
    default = inspect.signature(function_of(name)).parameters["prompt"].default
    default = default or ("What is it?" if name == "judged" else "{question} {labels}")
    asked = with_prompt_variants(family(name), PromptSet("two", (default, f"{default} Listen well.")))
    assert len(asked.stages) == 2 * len(family(name).stages)
    assert asked.scorers[0].name == family(name).scorers[0].name
    again = recorded_protocol(name, asked.options)
    assert {one.name: one.signature for one in again.available.values()} == {
        one.name: one.signature for one in asked.available.values()
    }


def test_what_it_was_called_with_is_kept_and_made_again():
    asked = with_prompt_variants(multiple_choice("mmau-string", system="Be brief.", max_new_tokens=7), THREE, 2)
    assert asked.options == {
        "system": "Be brief.", "max_new_tokens": 7, "wordings": list(THREE.paraphrases[:2]), "wording_set": "three"
    }  # fmt: skip
    again = protocol_of("multiple_choice", asked.options)
    assert [stage.name for stage in again.stages] == [stage.name for stage in asked.stages]
    assert [stage.messages(SAMPLE, {}) for stage in again.stages] == [
        stage.messages(SAMPLE, {}) for stage in asked.stages
    ]
    assert again.with_scorers("mmau-string").scorers[0].signature == asked.scorers[0].signature


def test_a_wording_that_a_family_cannot_ask_is_named(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("version: v\nparaphrases: ['Do you hear a {label}?', 'Is there a dog?']\n")
    with pytest.raises(UsageError, match=r"mine\.yaml, paraphrases\[1\]: .*'Is there a dog\?' has no \{label\}; put"):
        with_prompt_variants(presence(), str(path))
    with pytest.raises(UsageError, match=r"paraphrases\[0\]: the prompt .* has the unknown placeholder \{label\};"):
        with_prompt_variants(multiple_choice(), PromptSet("v", YESNO.paraphrases))


@pytest.mark.parametrize("asked", [family("judged"), family("captioning")], ids=lambda asked: asked.name)
def test_a_slot_that_a_family_does_not_fill_in_is_no_wording_of_it(asked):
    wordings = PromptSet("v", ("Listen. {question}", "Answer as {json}."))
    with pytest.raises(UsageError) as raised:
        with_prompt_variants(asked, wordings)
    says = f"'Listen. {{question}}' has {{question}}, and {asked.name} puts nothing in its place; write it without"
    assert str(raised.value) == f"the prompt set 'v', paraphrases[0]: {says}"


def test_all_wordings_that_a_family_cannot_ask_are_named_at_once():
    chosen = PromptSet("v", ("Do you hear a dog?", "Do you hear a {label}?", "Is there a {thing}?"))
    with pytest.raises(UsageError) as raised:
        with_prompt_variants(presence(), chosen)
    first, second = str(raised.value).splitlines()
    assert first.startswith("the prompt set 'v', paraphrases[0]: ")
    assert second.startswith("the prompt set 'v', paraphrases[2]: ")


def test_a_run_puts_its_set_in_the_place_of_a_set_and_of_the_familys_own_words():
    plain, mine = presence("ab-yesno", max_new_tokens=9), PromptSet("mine", ("A {label}?", "Any {label}?"))
    for asked in (
        with_chosen_prompts(with_prompt_variants(plain, "yesno", 3), [mine]),
        with_chosen_prompts(plain, [mine]),
    ):
        assert [scorer.name for scorer in asked.scorers] == ["ab-yesno", "ab-yesno@1", "ab-yesno@2"]
        assert asked.stages[1].messages(SAMPLE, {})[0].parts == ("Any dog?",)
        assert asked.options["max_new_tokens"] == 9


def test_of_several_sets_the_first_that_fits_is_asked():
    sets = [PROMPT_SETS["asr-3"], YESNO, PROMPT_SETS["salmonn-captions"]]
    assert with_chosen_prompts(presence(), sets).options["wording_set"] == "yesno-v1"
    assert with_chosen_prompts(captioning(), sets).options["wording_set"] == "salmonn-captions-v1"


def test_a_set_for_another_family_is_refused_in_one_sentence():
    with pytest.raises(UsageError) as raised:
        with_chosen_prompts(presence(), [PROMPT_SETS["asr-3"]], "sounds")
    assert str(raised.value) == (
        "no set of --ab-prompts is for presence of sounds, but for transcription, hallucination: name one that is "
        "beside it, or leave this eval out"
    )
    with pytest.raises(UsageError, match="the prompt set 'asr-3-v1' is for transcription and hallucination, and not"):
        with_prompt_variants(presence(), "asr-3")


def test_of_a_group_a_set_for_one_data_set_is_asked_of_that_alone():
    group = chosen_sets("audiobench", Path())
    of_voice = with_chosen_prompts(family("judged"), [prompts.drawn() for prompts in group], "voice/meld_emotion_test")
    assert of_voice.options["wording_set"] == "audiobench-emotion-meld-v1"
    assert with_chosen_prompts(family("transcription"), group, "x/aishell_asr_zh_test").options["wording_set"] == (
        "audiobench-asr-zh-v1"
    )
    assert with_chosen_prompts(family("transcription"), group, "x/other").options["wording_set"] == "audiobench-asr-v1"
    with pytest.raises(UsageError, match="no set of --ab-prompts is for judged of x/other"):
        with_chosen_prompts(family("judged"), group, "x/other")
    # Who names the set asks it of any data.
    assert chosen_sets("audiobench-gender", Path())[0].is_for("judged", "mine")


def test_what_judges_alone_read_is_asked_in_one_wording():
    with pytest.raises(UsageError, match="judges only, which score the answer to one wording: ask it in the first"):
        with_chosen_prompts(family("judged"), chosen_sets("audiobench-gender", Path()))
    for written in ("audiobench-gender:1", "audiobench-gender:draw"):
        assert len(with_chosen_prompts(family("judged"), chosen_sets(written, Path())).stages) == 1


def test_a_drawn_wording_hangs_on_the_sample_and_the_seed_alone():
    asked = with_prompt_variants(family("transcription"), PROMPT_SETS["audiobench-asr"].drawn())
    again = recorded_protocol("transcription", asked.options)
    other = with_prompt_variants(family("transcription"), PROMPT_SETS["audiobench-asr"].drawn(7))
    samples = [Sample(f"s{number}", (), "") for number in range(90)]

    def texts(protocol):
        assert len(protocol.stages) == 1
        return [protocol.stages[0].messages(sample, {})[0].parts[-1] for sample in samples]

    assert texts(asked) == texts(again)
    assert texts(asked) != texts(other)
    assert set(texts(asked)) == set(PROMPT_SETS["audiobench-asr"].paraphrases)
    # Golden: the draw of a published run must not change.
    assert [PROMPT_SETS["audiobench-asr"].drawn().place_of(sample.id) for sample in samples[:8]] == [
        2,
        1,
        7,
        6,
        1,
        6,
        3,
        7,
    ]


def test_a_drawn_wording_is_scored_as_one_answer():
    asked = with_prompt_variants(family("transcription"), PROMPT_SETS["asr-3"].drawn())
    assert [scorer.name for scorer in asked.scorers] == ["wer-basic"]
    assert asked.scorers[0].signature == family("transcription").scorers[0].signature


@pytest.mark.parametrize("written", ["asr-3", "asr-3:draw"])
def test_a_runs_wordings_take_the_place_of_a_question_that_only_says_what_to_do(written):
    asked = with_chosen_prompts(family("transcription"), chosen_sets(written, Path()))
    sample = Sample("s", (), "Write down the words.")
    texts = {stage.messages(sample, {})[0].parts[-1] for stage in asked.stages}
    assert texts <= set(PROMPT_SETS["asr-3"].paraphrases)
    assert len(texts) == len(asked.stages)


def test_free_answers_are_the_same_where_their_counted_words_are():
    scorer = with_prompt_variants(family("transcription"), "asr-3").scorers[0]
    sample = Sample("s", (), "", reference="Seven, please.")

    def same(*texts):
        stages = ("answer", "answer@2", "answer@3")
        responses = {stage: Response.of(text) for stage, text in zip(stages, texts, strict=True)}
        return scorer.score(sample, scorer.parse(sample, responses))["wordings_same"]

    assert same("Seven, please.", "seven please", "SEVEN PLEASE!") == 1.0
    assert same("Seven, please.", "seven please", "eleven please") == 0.0
    assert same("Seven, please.", "seven please", "") == 0.0


def test_sets_are_chosen_by_their_names_or_files_and_how_of_them(tmp_path):
    (tmp_path / "mine.yaml").write_text("version: v\nparaphrases: ['A {label}?', 'Any {label}?']\n")
    assert chosen_sets("yesno:2", tmp_path) == (YESNO.first(2),)
    assert chosen_sets("yesno", tmp_path) == (YESNO,)
    assert chosen_sets("mine.yaml:1", tmp_path)[0].paraphrases == ("A {label}?",)
    assert [prompts.version for prompts in chosen_sets("mine.yaml, asr-3", tmp_path)] == ["v", "asr-3-v1"]
    assert chosen_sets("asr-3:draw", tmp_path)[0].seed == 0
    assert chosen_sets("asr-3:draw=12", tmp_path)[0].seed == 12
    assert chosen_sets("audiobench-draw", tmp_path) == chosen_sets("audiobench:draw=0", tmp_path)
    for wrong in ("yesno:0", "yesno:6", "yesno:x", "yesno:draw=x", "nobody:2", "other.yaml", "yesno,", ""):
        with pytest.raises(UsageError):
            chosen_sets(wrong, tmp_path)


def test_a_question_of_the_samples_own_cannot_be_worded():
    asked = with_prompt_variants(verification(), PromptSet("two", ("One speaker?", "The same speaker?")))
    sample = Sample("trial-1", (), "Do you hear one person?", reference="yes")
    asked.stages[0].messages(sample, {})
    with pytest.raises(UsageError, match=r"'trial-1' is asked in the same words by wording 1 and by wording 2"):
        asked.stages[1].messages(sample, {})


def test_what_has_no_prompt_or_has_wordings_already_is_refused():
    with pytest.raises(UsageError, match=r"soundscape has no prompt=…, so it cannot be asked in other words"):
        with_prompt_variants(family("soundscape"), THREE)
    for count in (1, 2):
        with pytest.raises(UsageError, match="is asked in the wordings of a set already: name one set"):
            with_prompt_variants(with_prompt_variants(presence(), "yesno", count), "yesno", 3)


def test_scorers_chosen_later_are_of_the_vote_or_of_one_wording():
    asked = with_prompt_variants(classification(), PromptSet("two", ("{question} {labels}", "{labels} {question}")))
    assert [one.name for one in asked.with_scorers("label@2").scorers] == ["label@2"]
    assert [one.name for one in asked.with_scorers("label").scorers] == ["label", "label@1", "label@2"]
