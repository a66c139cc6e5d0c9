"""Mixtures that a user asks for, by a file or in a line."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_audiobench.datasets.packs.recipes import absolute_mixes, inline_recipe, mix_recipes, read_recipes
from pytest_audiobench.errors import UsageError

RECIPES = """
mixtures:
  - name: street
    labels: [Siren, dog bark, rain]
    snr_db: -3
    label_levels: {rain: -6}
    pin: {siren: siren-01.wav}
    pack: city
  - label_levels: {rain: -2, tap: 4}
"""


def test_a_file_says_labels_levels_pins_and_pack(tmp_path):
    (tmp_path / "a.yaml").write_text(RECIPES)
    street, second = read_recipes(tmp_path / "a.yaml")
    assert (street.name, street.pack) == ("street", "city")
    assert street.labels == ("siren", "dog_bark", "rain")
    assert street.levels_db == (0, -3, -6)
    assert street.pins == {"siren": "siren-01.wav"}
    assert (second.name, second.labels, second.pack) == ("recipe-2", ("rain", "tap"), None)
    assert second.levels_db == (0, 6), "levels are against the first label's"


def test_a_line_says_labels_and_levels_and_is_named_by_them():
    found = inline_recipe("city: Siren + dog-bark@-6.50")
    assert (found.pack, found.labels, found.levels_db) == ("city", ("siren", "dog_bark"), (0, -6.5))
    assert found.name == "city:siren+dog_bark@-6.5"
    assert inline_recipe("siren@3+rain@3").levels_db == (0, 0)


LABELS = st.lists(st.from_regex(r"[a-z]{1,5}(_[a-z0-9]{1,5})?", fullmatch=True), min_size=1, max_size=5, unique=True)


@given(LABELS, st.lists(st.integers(-3000, 3000), min_size=5, max_size=5), st.sampled_from(["", "city:"]))
def test_a_line_means_what_its_name_says(labels, hundredths, pack):
    parts = [f"{label}@{level / 100}" for label, level in zip(labels, hundredths, strict=False)]
    first = inline_recipe(pack + "+".join(parts))
    again = inline_recipe(first.name)
    assert (again.name, again.labels, again.pack) == (first.name, first.labels, first.pack)
    assert again.levels_db == first.levels_db
    assert first.levels_db[0] == 0


def test_lines_and_files_are_asked_for_together(tmp_path):
    (tmp_path / "a.yaml").write_text(RECIPES)
    mixes = absolute_mixes(tmp_path, ("siren+rain", "a.yaml"))
    assert [one.name for one in mix_recipes(mixes)] == ["siren+rain", "street", "recipe-2"]
    with pytest.raises(UsageError, match=r"is named 'siren.rain' as another mixture is; leave one away"):
        mix_recipes(("siren+rain", "Siren + rain"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "has no label, or an empty one"),
        ("siren+", "has no label, or an empty one"),
        ("siren+Siren", "has the label 'siren' twice; a mixture holds each sound once"),
        ("siren+rain@loud", "'rain@loud' is not a label with a level in dB; write siren.rain@-6"),
        ("siren@-61", "has a level of -61 dB; keep within 60 dB of its first sound's"),
        ("siren@-60+rain@60", "has a level of 120 dB; keep within 60 dB of its first sound's"),
        ("+".join(f"l{i}" for i in range(17)), "has 17 labels; a mixture has at most 16"),
    ],
)
def test_a_line_that_is_no_mixture_is_told_in_one_sentence(text, said):
    with pytest.raises(UsageError, match=said):
        inline_recipe(text)


@pytest.mark.parametrize(
    ("mixture", "said"),
    [
        ({}, "has no label, or an empty one"),
        ("siren", "mixture 1 is not an object; write its name and labels"),
        ({"labels": "siren"}, "its 'labels' are not a list of texts"),
        ({"labels": [True]}, "its 'labels' are not a list of texts"),
        ({"labels": ["siren"], "level": 3}, "the unknown key 'level'; allowed: name, labels, "),
        ({"labels": ["siren"], "snr_db": "loud"}, "its 'snr_db' is 'loud'; write a number of dB"),
        ({"labels": ["siren"], "snr_db": True}, "its 'snr_db' is 'True'; write a number of dB"),
        ({"labels": ["siren"], "label_levels": {"rain": 1}}, "its 'label_levels' names 'rain', which is not in it"),
        ({"labels": ["siren"], "label_levels": {"siren": None}}, "of siren is 'None'; write a number of dB"),
        ({"labels": ["siren"], "pin": ["x"]}, "its 'pin' is not an object"),
        ({"labels": ["siren"], "pin": {"siren": [1]}}, "its 'pin' of siren is not text; name one of its clips"),
        ({"labels": ["siren"], "name": "a/b"}, "its 'name' 'a/b' holds a slash"),
        ({"labels": ["siren"], "name": 3}, "its 'name' is not a text of at most 200 characters"),
    ],
)
def test_a_mistake_in_a_recipe_is_one_sentence(tmp_path, mixture, said):
    (tmp_path / "a.json").write_text(json.dumps({"mixtures": [mixture]}))
    with pytest.raises(UsageError, match=said) as refused:
        read_recipes(tmp_path / "a.json")
    assert str(refused.value).startswith(str(tmp_path / "a.json"))


def test_all_mistakes_of_a_file_are_named_at_once(tmp_path):
    mixtures = [
        {"name": "a", "labels": ["dog", "rain"], "snr_db": "loud", "pin": {"cat": 1, "dog": []}, "pck": "city"},
        "siren",
        {"name": "a", "lables": ["dog"]},
        {"name": "b", "labels": ["dog", "Dog"], "label_levels": []},
        {"name": "c", "labels": ["dog"], "label_levels": {"dog": 99}, "pack": 3},
    ]
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"mixtures": mixtures, "pack": "x"}))
    with pytest.raises(UsageError) as refused:
        read_recipes(path)
    assert [sentence.removeprefix(str(path)) for sentence in str(refused.value).splitlines()] == [
        " has 'pack' beside its 'mixtures'; put it into one of them, or remove it",
        ", mixture 'a' has the unknown key 'pck'; did you mean 'pack'?",
        ", mixture 'a': its 'snr_db' is 'loud'; write a number of dB",
        ", mixture 'a': its 'pin' names 'cat', which is not in it; there are dog, rain",
        ", mixture 'a': its 'pin' of dog is not text; name one of its clips",
        ", mixture 2 is not an object; write its name and labels",
        ", mixture 'a' has the unknown key 'lables'; did you mean 'labels' or 'label_levels'?",
        ", mixture 'b': its 'label_levels' is not an object; write {label: value}",
        ", mixture 'b' has the label 'dog' twice; a mixture holds each sound once",
        ", mixture 'c' has a level of 99 dB; keep within 60 dB of its first sound's (and 1 more)",
    ]


VALUES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.just(10**400)
LABELS = st.sampled_from(["dog", "Dog", "rain", ""])
FIELDS = st.sampled_from(["name", "labels", "snr_db", "label_levels", "pin", "pack", "lables"]) | st.text(max_size=3)


@given(
    st.lists(
        st.dictionaries(FIELDS, VALUES | st.lists(LABELS, max_size=3) | st.dictionaries(LABELS, VALUES)) | VALUES,
        min_size=1,
        max_size=5,
    )
)
def test_any_mixtures_are_recipes_or_refused_in_at_most_ten_lines_that_name_the_file(tmp_path_factory, mixtures):
    path = tmp_path_factory.mktemp("any") / "a.json"
    path.write_text(json.dumps({"mixtures": mixtures}))
    try:
        recipes = read_recipes(path)
    except UsageError as error:
        sentences = str(error).splitlines()
        assert 1 <= len(sentences) <= 10
        assert all(sentence.startswith(str(path)) for sentence in sentences)
    else:
        assert len(recipes) == len(mixtures)
        assert all(len(recipe.levels_db) == len(recipe.labels) >= 1 for recipe in recipes)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ([], "has no list of 'mixtures'"),
        ({"mixtures": []}, "has no list of 'mixtures'"),
        ({"mixtures": [{"labels": ["a"]}], "pack": "x"}, "has 'pack' beside its 'mixtures'"),
        ({"mixtures": [{"name": "a", "labels": ["a"]}] * 2}, "has two mixtures named 'a'; rename one"),
    ],
)
def test_a_file_that_is_no_list_of_recipes_is_told_in_one_sentence(tmp_path, content, said):
    (tmp_path / "a.json").write_text(json.dumps(content))
    with pytest.raises(UsageError, match=said):
        read_recipes(tmp_path / "a.json")
