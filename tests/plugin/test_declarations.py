"""Evals without code, as they are read: all that is wrong with a file is said at once."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_audiobench.errors import UsageError
from pytest_audiobench.plugin.declarative import read_declaration


@pytest.fixture
def mistakes(pytestconfig):
    def read(path):
        with pytest.raises(UsageError) as raised:
            read_declaration(path, pytestconfig)
        return str(raised.value).splitlines()

    return read


@pytest.fixture
def declared(tmp_path):
    def write(text):
        path = tmp_path / "mine.audiobench.toml"
        path.write_text(text)
        return path

    return write


def test_all_mistakes_of_a_file_are_named_at_once(declared, mistakes):
    path = declared(
        'manifest = "a.jsonl"\ndataset = "b"\ngroups = "hop"\ncolour = "red"\nclustre = "speaker"\n'
        'protocol = "translation"\ntarget = 3\nrequire = ["acuracy >= 1", "chrf >= 0.1", "bleu"]\n'
    )
    assert [sentence.removeprefix(str(path)) for sentence in mistakes(path)] == [
        ": groups must be a list of strings, not 'hop'",
        " has the unknown key 'colour'; allowed: manifest, dataset, protocol, scorers, cluster, groups, question, id, "
        "audio, answer, references, choices, require, and for translation target, prompt, system, max_new_tokens",
        " has the unknown key 'clustre'; did you mean 'cluster'?",
        ": translation takes a string or none as its target, not 3",
        ": name either a manifest or a dataset",
        ": the threshold 'acuracy >= 1' names what is not measured: no metric is called 'acuracy'; "
        "did you mean 'accuracy'?",
        ": the threshold 'bleu' should have one of >=, >, <=, < at its end; write it as accuracy >= 0.55, wer <= 12%, "
        "accuracy[hop=multi] >= 0.3, accuracy.lower >= 0.5 or accuracy.drop <= 1pp",
    ]


def test_a_key_that_is_misspelled_is_not_missing_too(declared, mistakes):
    (sentence,) = mistakes(declared('manifst = "a.jsonl"\n'))
    assert sentence.endswith("has the unknown key 'manifst'; did you mean 'manifest'?")


def test_options_of_a_protocol_that_there_is_not_are_no_mistakes_of_their_own(declared, mistakes):
    (sentence,) = mistakes(declared('manifest = "a.jsonl"\nprotocol = "translatio"\ntarget = 3\n'))
    assert sentence.endswith("unknown protocol 'translatio'; did you mean 'translation'?")


def test_a_key_is_seen_to_be_misspelled_where_the_protocol_is_too(declared, mistakes):
    _, sentence = mistakes(declared('datset = "a"\nprotocol = "translatio"\ntarget = 3\n'))
    assert sentence.endswith("has the unknown key 'datset'; did you mean 'dataset'?")


def test_keys_of_a_manifest_are_refused_beside_a_dataset(declared, mistakes):
    first, second = mistakes(declared('dataset = "bundled"\nchoices = 3\naudio = "filename"\nanswer = "label"\n'))
    assert first.endswith("choices must be a string or a list of strings, not 3")
    assert second.endswith("audio, answer, choices say how a manifest is read; a dataset has its own")


def test_arrays_without_end_are_no_toml(declared, mistakes):
    (sentence,) = mistakes(declared("a = " + "[" * 5000))
    assert "mine.audiobench.toml is not valid TOML" in sentence


KEYS = [
    "manifest",
    "dataset",
    "protocol",
    "scorers",
    "cluster",
    "groups",
    "choices",
    "answer",
    "require",
    "prompt",
    "max_new_tokens",
    "mani",
]
VALUES = st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=5) | st.sampled_from(["wer <= 0.1", "judged"])


@given(
    st.dictionaries(
        st.sampled_from(KEYS) | st.from_regex(r"[a-z]{1,9}", fullmatch=True),
        VALUES | st.integers(-9, 9) | st.booleans() | st.lists(VALUES | st.integers(0, 9), max_size=3),
        max_size=14,
    )
)
def test_any_table_is_read_or_refused_in_at_most_ten_lines_that_name_the_file(tmp_path_factory, pytestconfig, table):
    path = tmp_path_factory.mktemp("any") / "mine.audiobench.toml"
    # JSON's texts, numbers, booleans and lists are TOML's.
    path.write_text("".join(f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in table.items()))
    try:
        read, _ = read_declaration(path, pytestconfig)
    except UsageError as error:
        sentences = str(error).splitlines()
        assert 1 <= len(sentences) <= 10
        assert all(sentence.startswith(str(path)) for sentence in sentences)
    else:
        assert read == table
