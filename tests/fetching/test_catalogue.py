"""The names that are bundled: what each of them would fetch, without fetching it."""

import pytest

from pytest_audiobench.fetching.wanted_data import all_names, wanted_data


@pytest.mark.parametrize("name", all_names())
def test_every_benchmark_that_is_fetched_names_its_files_in_full(name):
    parts = [part for data in wanted_data([name], {}) for part in data.parts.values()]
    assert parts
    for part in parts:
        paths = [part.fetch.hub, part.fetch.git, part.fetch.url, part.fetch.into, *part.fetch.files]
        assert not [path for path in paths if path and ("{" in path or "}" in path)]


def test_one_value_of_a_parameter_needs_only_its_own_files():
    (english,) = wanted_data(["fleurs"], {"config": ["en_us"], "split": ["test"]})
    (german,) = wanted_data(["fleurs"], {"config": ["de_de"], "split": ["dev"]})
    assert [part.fetch.files for part in english.parts.values()] == [
        ("data/en_us/test.tsv", "data/en_us/audio/test.tar.gz")
    ]
    assert [part.fetch.files for part in german.parts.values()] == [
        ("data/de_de/dev.tsv", "data/de_de/audio/dev.tar.gz")
    ]
    assert [part.parameters for part in german.parts.values()] == [{"config": ["de_de"], "split": ["dev"]}]


def test_withheld_answers_are_fetched_by_the_value_that_has_them():
    (mini,) = wanted_data(["mmau"], {"split": ["test-mini"]})
    (withheld,) = wanted_data(["mmau[test]"], {})
    assert [part.fetch.hub for part in mini.parts.values()] == ["gamma-lab-umd/MMAU-test-mini"]
    assert sorted(part.fetch.hub or part.fetch.git for part in withheld.parts.values()) == [
        "gamma-lab-umd/MMAU-test",
        "https://github.com/Sakshi113/MMAU",
    ]
