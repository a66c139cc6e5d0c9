"""A set of wordings is what it says, wherever it lies, and a mistake in its file is told in a sentence."""

import json
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError
from pytest_audiobench.protocols.catalogue import family
from pytest_audiobench.protocols.prompt_sets import (
    GROUPS,
    MOST,
    PROMPT_SETS,
    YESNO,
    PromptSet,
    chosen_sets,
    prompt_set,
)
from pytest_audiobench.protocols.prompt_variants import with_chosen_prompts, with_prompt_variants

GOOD = 'version: mine-1\nparaphrases:\n  - Do you hear a {label}?\n  - "Is a {label} there?"\n'


@pytest.fixture
def written(tmp_path):
    def write(text, name="prompts.yaml"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_the_bundled_set_has_its_published_digest():
    assert YESNO.digest == "3ffb67d4260b208de8bb5f74a78258c61b6b8526aaddb7b683bc23d475a3edac"
    assert prompt_set("yesno") is YESNO
    assert (YESNO.version, YESNO.parser_version, len(YESNO.paraphrases)) == ("yesno-v1", "v1", 5)


def test_every_bundled_set_can_be_asked_by_the_families_that_it_is_for():
    for name, prompts in PROMPT_SETS.items():
        assert prompts.version == f"{name}-v1"
        assert len(set(prompts.paraphrases)) == len(prompts.paraphrases)
        for each in prompts.families:
            options = {"target": "de"} if each == "translation" else {}
            asked = with_prompt_variants(family(each, **options), name)
            assert asked.options["wordings"] == list(prompts.paraphrases)


def test_the_published_lists_are_there_to_the_last_sign():
    assert PROMPT_SETS["asr-3"].paraphrases == (
        "Turn the speech input into a text transcription",
        "Recognize the speech and give me the transcription",
        "Decode the audio and give me the written transcriptions.",
    )
    # The slip is SALMONN's.
    assert PROMPT_SETS["salmonn-captions"].paraphrases[1] == "Please write down what your hear in the audio."
    counts = {name: len(PROMPT_SETS[name].paraphrases) for name in GROUPS["audiobench"]}
    assert counts.pop("audiobench-translation") == 20
    assert counts.pop("audiobench-asr") == 9
    assert counts.pop("audiobench-captions") == 5
    assert set(counts.values()) == {10}


def test_a_groups_translation_names_the_language_that_is_asked_for():
    stage = with_chosen_prompts(family("translation", target="zh"), chosen_sets("audiobench:1", Path())).stages[0]
    (message,) = stage.messages(Sample("s", (), ""), {})
    assert message.parts == ("Listen to the speech clip and translate it into Chinese.",)


def test_a_file_is_read_in_yaml_and_in_json(written):
    wanted = PromptSet("mine-1", ("Do you hear a {label}?", "Is a {label} there?"))
    content = {"version": "mine-1", "parser_version": "v1", "paraphrases": list(wanted.paraphrases)}
    assert prompt_set(written(GOOD)) == wanted
    assert prompt_set(str(written(json.dumps(content), "prompts.json"))) == wanted


def test_a_copy_elsewhere_is_the_same_set(written, tmp_path):
    first = written(GOOD)
    second = tmp_path / "copied.yml"
    shutil.copy(first, second)
    assert prompt_set(first) == prompt_set(second)
    assert prompt_set(first).digest == prompt_set(second).digest
    assert prompt_set(first).source != prompt_set(second).source


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("- a\n", "is not a prompt set: write version: and paraphrases: at its top"),
        ("paraphrases: [a]\n", "version must be a text of 1 to 4,000 characters"),
        ("version: 2\nparaphrases: [a]\n", "version must be a text"),
        ("version: ' '\nparaphrases: [a]\n", "version must be a text"),
        ("version: v\n", f"paraphrases must be a list of 1 to {MOST} wordings"),
        ("version: v\nparaphrases: []\n", "paraphrases must be a list"),
        ("version: v\nparaphrases: a {label}\n", "paraphrases must be a list"),
        ("version: v\nparaphrases: [a, 3]\n", r"paraphrases\[1\] must be a text"),
        ("version: v\nparaphrases: [a, b, a]\n", r"paraphrases\[2\] repeats paraphrases\[0\]"),
        ("version: v\nparser_version: 1\nparaphrases: [a]\n", "parser_version must be a text"),
        ("version: v\nparaphrase: [a]\n", "has the unknown key 'paraphrase'; did you mean 'paraphrases'"),
        (f"version: v\nparaphrases: [{'x' * 4_001}]\n", r"paraphrases\[0\] must be a text of 1 to 4,000 characters"),
        (f"version: v\nparaphrases: [{','.join(map(str, range(200)))}]\n", "a list of 1 to 100 wordings"),
        ("version: [\n", "prompts.yaml"),
    ],
)
def test_a_mistake_in_a_file_names_the_file_and_the_place(written, text, said):
    path = written(text)
    with pytest.raises(UsageError, match=said) as raised:
        prompt_set(path)
    assert str(path) in str(raised.value)
    assert "\n" not in str(raised.value)


def test_all_mistakes_of_a_file_are_named_at_once(written):
    path = written("verson: v\nparser_version: 1\nparaphrases: [a, 3, a, '']\nextra: 1\n")
    with pytest.raises(UsageError) as raised:
        prompt_set(path)
    assert [sentence.removeprefix(str(path)) for sentence in str(raised.value).splitlines()] == [
        " has the unknown key 'verson'; did you mean 'version'?",
        " has the unknown key 'extra'; allowed: version, parser_version, paraphrases",
        ": parser_version must be a text of 1 to 4,000 characters",
        ": paraphrases[1] must be a text of 1 to 4,000 characters",
        ": paraphrases[3] must be a text of 1 to 4,000 characters",
        ": paraphrases[2] repeats paraphrases[0]; keep one of them",
    ]


VALUES = st.none() | st.integers() | st.text(max_size=3) | st.lists(st.text(max_size=1) | st.integers(), max_size=20)
KEYS = st.sampled_from(["version", "parser_version", "paraphrases", "verson"]) | st.text(max_size=3)


@given(st.dictionaries(KEYS, VALUES) | VALUES)
def test_any_document_is_a_set_or_refused_in_at_most_ten_lines_that_name_the_file(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("any") / "prompts.json"
    path.write_text(json.dumps(content))
    try:
        read = prompt_set(path)
    except UsageError as error:
        sentences = str(error).splitlines()
        assert 1 <= len(sentences) <= 10
        assert all(sentence.startswith(str(path)) for sentence in sentences)
    else:
        assert list(read.paraphrases) == content["paraphrases"]


def test_a_name_that_there_is_not_and_a_file_that_there_is_not(tmp_path):
    with pytest.raises(
        UsageError,
        match=r"no prompt set is called 'nobody'; there are yesno, .*, audiobench-draw, or name a file",
    ):
        prompt_set("nobody")
    with pytest.raises(UsageError, match=r"no prompt set is called 'yesn'; did you mean 'yesno'\?"):
        prompt_set("yesn")
    with pytest.raises(UsageError, match=r"nowhere\.yaml"):
        prompt_set(tmp_path / "nowhere.yaml")


@pytest.mark.parametrize("count", [0, -1, 6])
def test_more_wordings_than_there_are_cannot_be_had(count):
    with pytest.raises(UsageError, match=f"has 5 wordings, and {count} are wanted: ask for 1 to 5"):
        YESNO.first(count)


def test_the_first_wordings_are_a_set_of_their_own():
    assert YESNO.first(2).paraphrases == YESNO.paraphrases[:2]
    assert YESNO.first(2).version == "yesno-v1"
    assert YESNO.first(5) == YESNO
