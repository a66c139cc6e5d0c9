"""BEANS-Next as it is declared: every task and suite of its registry, and three layouts with the same samples."""

import json
from collections import defaultdict

import pyarrow
import pyarrow.parquet
import pytest

from pytest_audiobench.datasets.declaration import read_declarations
from pytest_audiobench.datasets.declared import declared_dataset
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.datasets.sample import PLACEHOLDER
from pytest_audiobench.protocols.catalogue import family
from tests.benchmarks.miniatures import EVALS

FILES = ("beans_next", "beans_next_multiaudio")


@pytest.fixture(scope="module")
def tasks():
    """The declared tasks by the name of their file and their own, as the registry calls them."""
    return {
        f"{file}_{task}": declared
        for file in FILES
        for task, declared in read_declarations(EVALS / f"{file}.audiobench.toml").items()
    }


@pytest.fixture(scope="module")
def registry(shared):
    return json.loads((shared / "beans_next" / "registry.json").read_text())


def test_every_task_of_the_registry_is_declared_with_its_subset(tasks, registry):
    wanted = {name: task[name]["subset"] for name, task in registry["eval_task"].items() if "beans_next" in name}
    assert {name: declared.data.where["task"] for name, declared in tasks.items()} == wanted


def test_every_suite_of_the_registry_has_its_tasks(tasks, registry):
    wanted = {
        name: set(suite[name]["eval_tasks"])
        for name, suite in registry["suite"].items()
        if name.startswith("beans_next")
    }
    suites = defaultdict(set)
    for name, declared in tasks.items():
        for suite in declared.suites_of({}):
            suites[suite].add(name)
    assert suites == wanted


def test_the_published_prompts_have_the_registry_s_names_and_limits(tasks, registry):
    for declared in tasks.values():
        for name, prompt in declared.prompts.items():
            published = registry["prompt"][name]
            assert prompt["max_new_tokens"] == published["generation_config"]["max_tokens"]
            alone = published["audio_slots"][0].get("metadata_key") == "audio_path"
            assert (prompt.get("clips") == "last") == (alone and "query_only" in name)


def test_recorded_truths_are_among_the_choices_of_their_tasks(tasks, shared):
    of_subset = {declared.data.where["task"]: declared for declared in tasks.values()}
    truths = defaultdict(set)
    for line in (shared / "beans_next" / "pairs.jsonl").read_text().splitlines():
        row = json.loads(line)
        if row["subset"] in of_subset:
            truths[row["subset"]].add(row["ground_truth"])
    assert {"bird-presence", "alarm-call-presence", "zebra-description", "call-type-fixed-vocab"} <= truths.keys()
    for subset, said in truths.items():
        if choices := of_subset[subset].sample.choices:
            assert {part for truth in said for part in truth.split(", ")} <= set(choices)


QUESTION = f"{PLACEHOLDER} Which is it? Answer with the letter."
SINGLE = [("s1", "A", "audio/s1.wav"), ("s2", "B", "audio/s2.wav")]
SEVERAL = [("m1", "C", ["audio/a.wav", "audio/q1.wav"]), ("m2", "D", ["audio/b.wav", "audio/q2.wav"])]
PAIR = f"A: {PLACEHOLDER}\nWhich is {PLACEHOLDER}?"


def of_hub(task, rows):
    return [
        {"id": id_, "tier": 1, "task": task, "messages": messages(question, answer), "audio_paths": paths}
        for id_, question, answer, paths in rows
    ]


def messages(question, answer):
    return [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]


def read(declared, folder):
    dataset = declared_dataset(declared, {})
    samples = dataset.read(Places(here=folder, shelves=[folder]))
    return [
        (sample.id, sample.question, sample.choices, sample.reference, [clip.source.path for clip in sample.clips])
        for sample in samples
    ]


def write(file, rows):
    file.parent.mkdir(parents=True, exist_ok=True)
    if file.suffix == ".parquet":
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), file)
    else:
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_one_clip_is_read_alike_from_both_bundles_and_from_lines(tmp_path, tasks):
    declared, task = tasks["beans_next_t1_snr_mcq"], "t1-snr-mcq"
    rows = [(id_, QUESTION, answer, [path]) for id_, answer, path in SINGLE]
    write(tmp_path / "hub" / "beans_next" / "test" / "metadata.parquet", of_hub(task, rows))
    earlier = [
        {"id": id_, "task": task, "file_name": path, "instruction": QUESTION, "output": answer}
        for id_, answer, path in SINGLE
    ]
    write(tmp_path / "earlier" / "beans_next" / "metadata.parquet", earlier)
    lines = [
        {"id": id_, "instruction": QUESTION, "output": answer, "audio_path_original_sample_rate": path}
        for id_, answer, path in SINGLE
    ]
    write(tmp_path / "lines" / "beans_next" / "t1_snr_mcq" / "test.jsonl", lines)
    choices = ("A", "B", "C", "D")
    expected = [(id_, QUESTION, choices, answer, [path]) for id_, answer, path in SINGLE]
    assert read(declared, tmp_path / "earlier") == expected
    in_test = [(*others, [f"test/{path}" for path in paths]) for *others, paths in expected]
    assert read(declared, tmp_path / "hub") == in_test
    # Its audio is not there: the last place that is looked at is beside the lines.
    assert [sample[:4] for sample in read(declared, tmp_path / "lines")] == [sample[:4] for sample in expected]


def test_several_clips_are_read_alike_from_both_bundles_and_from_lines(tmp_path, tasks):
    declared, task = tasks["beans_next_multiaudio_unseen_species_4way_hard"], "unseen-species-4way-hard"
    rows = [(id_, PAIR, answer, paths) for id_, answer, paths in SEVERAL]
    write(tmp_path / "hub" / "beans_next" / "test" / "metadata.parquet", of_hub(task, rows))
    earlier = [
        {"id": id_, "task": task, "messages": messages(PAIR, answer), "source_audio_paths": paths}
        for id_, answer, paths in SEVERAL
    ]
    write(tmp_path / "earlier" / "beans_next" / "metadata.parquet", earlier)
    expected = [(id_, PAIR, ("A", "B", "C", "D"), answer, paths) for id_, answer, paths in SEVERAL]
    assert read(declared, tmp_path / "earlier") == expected
    assert read(declared, tmp_path / "hub") == [
        (*others, [f"test/{path}" for path in paths]) for *others, paths in expected
    ]
    whole = [
        {"id": f"l{n}", "messages": messages(PAIR, "ABCD"[n % 4]), "audio_paths": ["audio/a.wav", f"audio/{n}.wav"]}
        for n in range(1227)
    ]
    write(tmp_path / "lines" / "beans_next" / "unseen_species_4way_hard" / "test.jsonl", whole)
    of_lines = read(declared, tmp_path / "lines")
    assert len(of_lines) == 1227
    assert of_lines[3] == ("l3", PAIR, ("A", "B", "C", "D"), "D", ["audio/a.wav", "audio/3.wav"])


def test_the_gold_of_a_conversation_is_nowhere_in_what_is_asked(tmp_path, tasks):
    declared = tasks["beans_next_crow_4way"]
    rows = [("m1", PAIR, "C", ["audio/a.wav", "audio/q1.wav"])]
    write(tmp_path / "beans_next" / "test" / "metadata.parquet", of_hub("crow-4way", rows))
    (sample,) = declared_dataset(declared, {}).read(Places(here=tmp_path, shelves=[tmp_path]))
    (message,) = family("bioacoustic", prompt="{question}").answering.messages(sample, {})
    assert [part for part in message.parts if isinstance(part, str)] == ["A: ", "\nWhich is ", "?"]
    assert len(message.parts) == 5
