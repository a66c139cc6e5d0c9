"""Documents that users write: read plainly, and refused in one sentence where they are anything else."""

import pytest

from pytest_audiobench.errors import UsageError
from pytest_audiobench.io.user_documents import read_document


def written(tmp_path, name, text):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_yaml_and_json_say_the_same(tmp_path):
    yaml = written(tmp_path, "a.yaml", "mixtures:\n  - labels: [dog, siren]\n    snr_db: -6.5\n    pack: null\n")
    json = written(tmp_path, "a.json", '{"mixtures": [{"labels": ["dog", "siren"], "snr_db": -6.5, "pack": null}]}')
    assert read_document(yaml) == read_document(json)


def test_a_date_is_a_text(tmp_path):
    assert read_document(written(tmp_path, "a.yml", "version: 2026-01-02")) == {"version": "2026-01-02"}


BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.yaml", BOMB, "line 2 refers to an anchor"),
        ("a.yaml", "a: !!python/object/apply:os.system ['true']", "could not determine a constructor"),
        ("a.yaml", "a: 1\na: 2", "the key 'a' is given twice"),
        ("a.json", '{"a": 1, "a": 2}', "the key 'a' is given twice"),
        ("a.yaml", "no: 1", "line 1 has the key False, which is not text; put it in quotes"),
        ("a.yaml", "[" * 100, "nested too deeply"),
        ("a.json", "[" * 100_000, "nested too deeply"),
        ("a.yaml", "a: [1,", "cannot be read as YAML: line 1"),
        ("a.json", '{"a": NaN}', "NaN is not a number"),
        ("a.json", '{"a": "\\ud800"}', "half of a surrogate pair"),
        ("a.json", b"\xff", "is not UTF-8"),
        ("a.json", " " * 1_000_001, "holds more than 1 MB"),
        ("a.toml", "a = 1", "neither YAML nor JSON by its name"),
    ],
)
def test_what_is_no_plain_document_is_refused_in_one_sentence(tmp_path, name, text, said):
    path = written(tmp_path, name, text)
    with pytest.raises(UsageError) as refused:
        read_document(path)
    assert said in str(refused.value)
    assert str(refused.value).startswith(str(path))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        (
            "a.json",
            '{"a": 1, "a": 2, "a": 3, "b": {"c": NaN, "d": 1, "d": 2}}',
            ["NaN is not a number", "the key 'd' is given twice", "the key 'a' is given 3 times"],
        ),
        (
            "a.yaml",
            "a: 1\na: 2\nno: 1\nb: &b 2\nc: *b",
            ["line 5 refers to an anchor"],
        ),
        (
            "a.yaml",
            "a: 1\na: 2\nno: 1\n3: 1",
            ["line 3 has the key False", "line 4 has the key 3", "the key 'a' is given twice"],
        ),
    ],
)
def test_all_keys_that_cannot_be_are_named_at_once(tmp_path, name, text, said):
    with pytest.raises(UsageError) as refused:
        read_document(written(tmp_path, name, text))
    sentences = str(refused.value).splitlines()
    assert [part in sentence for part, sentence in zip(said, sentences, strict=True)] == [True] * len(said)


def test_a_document_that_is_not_there_is_said_to_be_missing(tmp_path):
    with pytest.raises(UsageError, match="there is no file"):
        read_document(tmp_path / "a.yaml")
