"""Tasks that take their samples from another declared data set: the same clips and folder, asked in their own way."""

import pytest

from pytest_audiobench import dataset
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.errors import UsageError
from pytest_audiobench.fetching.wanted_data import wanted_data
from pytest_audiobench.plugin.declarative import read_declaration
from tests.benchmarks.miniatures import Miniature, miniatures

OTHER = 'protocol = "transcription"\ndataset = "librispeech[test-other]"\n'
ROW = 'model = "M"\nmetric = "wer"\nvalue = 0.1\nconditions = "none"\nsource = "here"\n'
TASKS = """
protocol = "transcription"
[[task]]
name = "read"
dataset = "librispeech[test-other]"
[[task]]
name = "read_clean"
dataset = "librispeech[test-clean]"
[[task]]
name = "web"
dataset = "gigaspeech[test]"
"""


@pytest.fixture
def declared(tmp_path):
    """Writes a file of declarations: its path."""

    def write(text):
        path = tmp_path / "mine.audiobench.toml"
        path.write_text(text)
        return path

    return write


def read(data, shelf):
    return [
        (sample.id, tuple(map(str, sample.clips)), sample.truths, sample.metadata)
        for sample in data.read(Places(here=shelf, shelves=[shelf]))
    ]


def test_a_task_has_the_very_samples_of_the_eval_that_it_names(declared, tmp_path):
    Miniature(miniatures()["librispeech"]).put(tmp_path / "librispeech")
    named, own = dataset(declared(OTHER)), dataset("librispeech", "test-other")
    assert (named.name, named.cluster, named.groups) == (own.name, own.cluster, own.groups)
    assert read(named, tmp_path) == read(own, tmp_path)
    assert len(read(named, tmp_path)) == 3


def test_its_published_values_and_prompts_are_its_own(declared):
    assert dataset("librispeech", "test-other").published
    path = declared(f'{OTHER}[prompts.plain]\nprompt = "Write it down."\nsource = "here"\n[[published]]\n{ROW}')
    (task,) = read_declaration(path).values()
    assert [(row.model, row.value) for row in task.data.published] == [("M", 0.1)]
    assert [row.model for row in dataset(path).published] == ["M"]
    assert list(task.data.prompts) == ["plain"]


def test_a_value_that_can_be_asked_for_and_is_no_eval_of_its_file_can_be_named(declared):
    assert dataset(declared(OTHER.replace("test-other", "dev-clean"))).name == "librispeech/dev-clean"


def test_a_benchmark_of_several_evals_is_one_with_the_samples_of_all(declared):
    (task,) = read_declaration(declared('protocol = "transcription"\ndataset = "librispeech"\n')).values()
    assert task.data is None
    assert task.outline.cases == ({},)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            OTHER + '[data]\nrows = "a.jsonl"\n[sample]\nid = "{id}"\naudio = "{a}"\nanswer = "{t}"\n',
            " has the samples of librispeech[test-other], and data, sample of its own; leave one out",
        ),
        ('cluster = "chapter"\n' + OTHER, " has the samples of librispeech[test-other], and cluster of its own;"),
        (OTHER + '[parameters]\nsplit = ["dev"]\n', ", and parameters of its own; leave one out"),
        (
            'dataset = "librispeech[test-othr]"\nprotocol = "transcription"\n',
            "'librispeech[test-othr]' is not a single eval with answers; did you mean 'librispeech[test-other]'",
        ),
        (
            'dataset = "covost2/to_zn"\nprotocol = "transcription"\n',
            ": dataset 'covost2/to_zn' is not an eval; did you mean 'covost2/to_zh'",
        ),
        ('dataset = "covost2/to_en"\nprotocol = "transcription"\n', ": dataset 'covost2/to_en' is not a single eval"),
        ('dataset = "mmau[test]"\n', ": dataset 'mmau[test]' is not a single eval with answers"),
        ('dataset = "librispech[test-other]"\n', ": no data set is called 'librispech[test-other]'; did you mean"),
        (OTHER + '[source]\ntask = "to read"\n', ", [source]: 'to read' is not a name for a test;"),
        ("source = 3\n" + OTHER, ", [source] must be a table, not 3"),
        (OTHER + '[source]\ntitel = "Mine"\n', ", [source] has the unknown key 'titel'"),
        (
            OTHER + f'[[published]]\n{ROW}prompt = "plain"\n',
            ", [[published]] number 1: prompt 'plain' is not one of [prompts]",
        ),
    ],
)
def test_samples_that_a_task_cannot_take_are_refused_in_one_sentence(declared, text, said):
    path = declared(text)
    with pytest.raises(UsageError) as raised:
        read_declaration(path)
    (sentence,) = str(raised.value).splitlines()
    assert said in sentence


def test_what_is_fetched_for_a_task_is_what_its_data_set_fetches(declared):
    (wanted,), (own,) = wanted_data([str(declared(OTHER))], {}), wanted_data(["librispeech[test-other]"], {})
    assert (wanted.root, wanted.names, wanted.parts) == (own.root, own.names, own.parts)


def test_every_data_set_of_the_tasks_is_fetched_with_them(declared):
    roots = [data.root for data in wanted_data([str(declared(TASKS))], {})]
    assert roots == ["librispeech", "gigaspeech"]


def test_a_data_set_that_is_absent_is_one_skipped_item_with_its_own_sentence(suite):
    (suite.path / "mine.audiobench.toml").write_text(TASKS)
    result = suite.run("-rs")
    result.assert_outcomes(skipped=2, deselected=1)
    result.stdout.fnmatch_lines_random(
        ["SKIPPED * librispeech is not on this machine*", "SKIPPED * gigaspeech is not on this machine*"]
    )


def test_a_task_whose_data_set_is_there_is_asked_beside_those_that_are_skipped(suite):
    Miniature(miniatures()["librispeech"]).put(suite.path / "ls")
    (suite.path / "mine.audiobench.toml").write_text(TASKS)
    suite.run("--ab-data=librispeech=ls", model="baseline:listener").assert_outcomes(passed=1, skipped=2)
    item = suite.last()[0]["items"][0]
    assert (item["eval"], item["suite"], item["dataset"]) == ("mine/read", "mine", "librispeech/test-other")


def test_a_folder_that_holds_other_evals_of_a_data_set_is_no_mistake(suite):
    Miniature(miniatures()["librispeech"]).put(suite.path / "ls")
    (suite.path / "mine.audiobench.toml").write_text(OTHER.replace("other", "clean"))
    result = suite.run("--ab-data=librispeech=ls", "-rs")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["SKIPPED * librispeech is not on this machine * which has no test-clean *"])


def test_a_task_of_the_package_is_a_data_set_by_its_file_and_name():
    assert dataset("salmonn", "en2zh").name == "covost2/to_zh/zh-CN/en"


def test_a_description_says_whose_samples_a_task_has(suite):
    said = suite.audiobench("describe", "salmonn/en2zh").stdout
    assert "the samples of covost2/to_zh" in said
    assert "CC0 1.0" in said
