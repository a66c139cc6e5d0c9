"""BirdSet as it is declared, beside what BEANS-Next's registry says of it."""

import json
import re
from pathlib import Path

import pytest

from pytest_audiobench.datasets.declaration import read_declarations
from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.models.messages import Response
from pytest_audiobench.plugin.declarative import read_declaration
from pytest_audiobench.protocols.catalogue import protocol
from tests.benchmarks.miniatures import EVALS

FILE = EVALS / "birdset.audiobench.toml"
REGISTRY = Path(__file__).parents[2].parent / "shared" / "data" / "beans_next" / "registry.json"
PLACES = ("HSN", "NBP", "NES", "PER", "POW", "SNE", "SSW", "UHH")
NAMED = ("NES", "PER", "POW", "SNE", "SSW", "UHH")
"""Those of which the registry has common names too."""


@pytest.fixture(scope="module")
def declared():
    return read_declarations(FILE)[""]


@pytest.fixture(scope="module")
def registry():
    if not REGISTRY.is_file():
        pytest.skip("BEANS-Next's registry is not in ../shared/data")
    return json.loads(REGISTRY.read_text(encoding="utf-8"))


def task_of(registry, place):
    name = f"birdset_{place.lower()}_test_5s"
    return registry["eval_task"][name][name]


def test_a_place_has_the_rows_and_the_labels_of_the_registry_in_its_order(declared, registry):
    cases = declared.ids()
    ids = [re.sub(r"[^a-z0-9]+", "_", f"birdset_{case['subset'].lower()}") for case in cases]
    assert ids == [f"birdset_{place.lower()}_test_5s" for place in PLACES]
    assert sorted(ids) == sorted(registry["suite"]["birdset_core"]["birdset_core"]["eval_tasks"])
    for name, place, case in zip(ids, PLACES, cases, strict=True):
        assert declared.number(declared.data.count, case) == registry["birdset_core_test_row_counts"][name]
        assert list(declared.vocabulary["labels"][case["subset"]]) == task_of(registry, place)["scientific_labels"]
        assert declared.suites_of(case) == ("birdset_core",)


def test_every_label_is_the_name_of_one_code_and_has_another_name(declared):
    labels = {label for listed in declared.vocabulary["labels"].values() for label in listed}
    assert sorted(declared.vocabulary["species"].values()) == sorted(labels)
    named = [synonym.split(" = ")[0] for synonym in read_declaration(FILE)[""].table["synonyms"]]
    assert sorted(named) == sorted(labels)


@pytest.mark.parametrize("place", NAMED)
def test_the_common_names_of_the_registry_are_read_as_the_scientific_ones(registry, place):
    task = task_of(registry, place)
    asked = protocol("bioacoustic_open_ended", synonyms=read_declaration(FILE)[""].table["synonyms"])
    sample = Sample("one", (), "", tuple(task["scientific_labels"]), "")
    read = [asked.scorers[0].parse(sample, {"answer": Response.of(name)}).value for name in task["labels"]]
    assert sorted(read) == sorted(task["scientific_labels"]), dict(zip(task["labels"], read, strict=True))


@pytest.mark.parametrize("name", ["birdset_species_v1", "birdset_common_name_v1"])
def test_a_published_prompt_is_the_registry_s_but_for_the_place_of_the_audio(declared, registry, name):
    (message,) = registry["prompt"][name]["messages"]
    own = declared.prompts[name]
    assert own["prompt"] == message["content"].removeprefix("<Audio><AudioHere></Audio>").rstrip()
    assert own["max_new_tokens"] == registry["prompt"][name]["generation_config"]["max_tokens"]
