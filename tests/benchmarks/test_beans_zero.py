"""BEANS-Zero as it is declared, beside what BEANS-Next's registry says of it, and its suites."""

import json
import re
from pathlib import Path

import pytest

from pytest_audiobench.datasets.declaration import read_declarations
from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.plugin.declarative import read_declaration
from pytest_audiobench.protocols.catalogue import protocol
from tests.benchmarks.miniatures import EVALS

FILE = EVALS / "beans_zero.audiobench.toml"
REGISTRY = Path(__file__).parents[2].parent / "shared" / "data" / "beans_next" / "registry.json"
needs_registry = pytest.mark.skipif(not REGISTRY.is_file(), reason="BEANS-Next's registry is not in ../shared/data")
FAMILIES = {
    "classification": "bioacoustic",
    "detection": "bioacoustic_detection",
    "captioning": "bioacoustic_captioning",
}
TYPO = {"zf-indiv": "zf-indv"}
"""What the registry's clip limits call a task otherwise."""


@pytest.fixture(scope="module")
def registry():
    return json.loads(REGISTRY.read_text(encoding="utf-8"))


def core():
    """The 22 tasks by what their rows call them, each with its declaration."""
    declared = read_declarations(FILE).items()
    return {data.data.where["dataset_name"]: (task, data) for task, data in declared if task != "zf_indiv_uncut"}


@needs_registry
def test_tasks_have_the_rows_the_labels_and_the_lengths_of_clips_that_are_published(registry):
    counts, limits = registry["beans_zero_core_test_row_counts"], registry["beans_zero_max_duration_seconds"]
    labels = registry["beans_zero_labels"]
    assert len(core()) == 22
    assert sum(data.data.count for _, data in core().values()) == 91_965
    for subset, (task, data) in core().items():
        assert data.data.count == counts[f"beans_zero_{task}"]
        assert data.sample.first_seconds == limits.get(TYPO.get(subset, subset))
        listed = data.vocabulary["labels"].get(subset)
        assert listed == (tuple(labels[subset]) if subset in labels else None)
        assert data.sample.choices == (listed and "{dataset_name|labels}")


@needs_registry
def test_tasks_are_asked_in_the_families_of_their_kinds(registry):
    for subset, (task, _) in core().items():
        kind = registry["eval_task"][f"beans_zero_{task}"][f"beans_zero_{task}"]
        assert kind["subset"] == subset
        assert read_declaration(FILE)[task].table["protocol"] == FAMILIES[kind["task_type"]]


@needs_registry
def test_suites_have_the_tasks_that_are_published(registry):
    declared = read_declarations(FILE)
    suites = declared["esc50"].suites
    assert {*suites} == {name for name in registry["suite"] if name.startswith("beans_zero_")}
    for name, listed in suites.items():
        tasks = {task.removeprefix("beans_zero_") for task in registry["suite"][name][name]["eval_tasks"]}
        assert {*listed} == {"esc50" if task.startswith("esc50_official") else task for task in tasks}


def test_a_task_whose_limit_is_misspelled_elsewhere_is_asked_as_published_and_as_a_whole_beside():
    declared = read_declarations(FILE)
    assert (declared["zf_indiv"].sample.first_seconds, declared["zf_indiv_uncut"].sample.first_seconds) == (10, None)
    assert "zf-indv" in declared["zf_indiv"].note
    assert not any("zf_indiv_uncut" in listed for listed in declared["zf_indiv"].suites.values())


def rendered(prompt, choices):
    """The texts of a published prompt's messages about one sample."""
    table = read_declaration(FILE)["esc50"].table
    options = {key: value for key, value in table["prompts"][prompt].items() if key != "source"}
    asked = protocol("bioacoustic", **options)
    sample = Sample("one", (), "What is heard?", choices, choices[0])
    return [part for message in asked.stages[0].messages(sample, {}) for part in message.parts]


@needs_registry
@pytest.mark.parametrize("prompt", read_declarations(FILE)["esc50"].prompts)
def test_a_published_prompt_says_what_is_published_with_the_task_s_labels_for_the_truth(registry, prompt):
    labels = ("dog", "sea_waves", "cat")
    texts = [message["content"] for message in registry["prompt"][prompt]["messages"]]
    filled = [
        re.sub(
            r"\{% for .*%\}(.*)\{% endfor %\}",
            lambda loop: "".join(item(loop[1], each) for each in labels),
            text,
            flags=re.S,
        )
        .replace("{{ audio_placeholder }}", "")
        .replace("{{ metadata.instruction }}", "What is heard?")
        .strip()
        for text in texts
    ]
    assert rendered(prompt, labels) == filled
    settings = read_declaration(FILE)["esc50"].table["prompts"][prompt]
    assert settings["max_new_tokens"] == registry["prompt"][prompt]["generation_config"]["max_tokens"]


def item(line, label):
    return line.replace("{{ label }}", label)
