"""SALMONN's fifteen tasks and who prints figures of it: complete, in agreement with the tables, and readable."""

import math
import re

import pytest

from pytest_audiobench.cli import main
from pytest_audiobench.cli._benchmark_page import task_tables
from pytest_audiobench.cli._salmonn_page import page
from pytest_audiobench.cli.describe import protocol_of
from pytest_audiobench.datasets.catalogue import LOADERS
from pytest_audiobench.datasets.declaration import read_declarations
from pytest_audiobench.models.registry import KINDS
from pytest_audiobench.models.spec import parse_spec
from pytest_audiobench.protocols.catalogue import scorer_names
from pytest_audiobench.published_figures import values
from pytest_audiobench.published_figures.claims import PAPER, REPRODUCTION, claims, claims_named, figures, rows, tasks
from pytest_audiobench.published_figures.compare import OTHER_NAMES
from pytest_audiobench.published_figures.recipes import all_figures

SAMPLES = {
    "librispeech_clean": 2620,
    "librispeech_other": 2939,
    "gigaspeech": 25_619,
    "librispeech_and_gigaspeech": 31_178,
    "covost2_en_zh": 15_531,
    "covost2_en_de": 15_531,
    "covost2_en_ja": 15_531,
    "librimix": 3000,
    "musiccaps": 2828,
    "librispeech_clean_phones": 2620,
    "audiocaps": 4411,
    "audiocaps_story": 4411,
    "inspec": 1490,
}
"""How many samples the reproduction asked, in phrases for Inspec."""


def test_every_figure_of_the_paper_s_table_is_of_a_task():
    of_tasks = {(task.dataset, metric) for task in tasks() for metric in task.metrics}
    assert {(each.dataset, each.metric) for each in values(benchmark=PAPER)} == of_tasks
    assert len({name for task in tasks() for name in task.evals}) == 20


@pytest.mark.parametrize("task", tasks(), ids=lambda task: task.evals[0])
def test_a_task_has_the_paper_s_figure_and_the_reproduction_s_and_says_how_it_is_measured_here(task):
    for metric in task.metrics:
        assert len(figures(task, PAPER, metric)) == 1
        assert figures(task, REPRODUCTION, metric) or task.dataset == "sac"
    assert task.scorer in scorer_names()
    printed = list(rows(task))
    assert printed[0].who == "paper"
    assert task.command in printed[-1].says
    # Each other figure that is named is one of the tables.
    assert sum(row.who == "others" for row in printed) >= len(task.others)


def test_the_scorer_of_a_task_is_the_headline_of_its_eval():
    pytest.importorskip("MeCab", reason="BLEU of Japanese words needs the extra ja")
    headline = {
        name: protocol_of(table).scorers[0].name for name, (table, _) in task_tables(LOADERS["salmonn"]).items()
    }
    assert headline == {name: task.scorer for task in tasks() for name in task.evals}


def test_a_benchmark_s_own_rows_on_these_tasks_are_figures_of_the_tables():
    tables = [
        (each.value / (100 if each.unit == "percent" else 1), name)
        for each in (*values(benchmark=PAPER), *values(benchmark=REPRODUCTION))
        for name in (each.metric, *OTHER_NAMES.get(each.metric, ()))
    ]
    for data in read_declarations(LOADERS["salmonn"]).values():
        for row in data.published:
            # Some stand there with more digits, some here.
            near = [name for value, name in tables if math.isclose(value, row.value, abs_tol=6e-5)]
            assert row.metric in near, (data.name, row)


@pytest.mark.parametrize("figure", [each for each in values(benchmark=REPRODUCTION) if each.skipped is not None])
def test_what_is_scored_and_what_is_left_out_are_together_what_was_asked(figure):
    if figure.dataset in SAMPLES:
        assert (figure.n or 0) + figure.skipped == SAMPLES[figure.dataset]


@pytest.mark.parametrize(
    ("dataset", "metric", "right"),
    [
        ("iemocap_session5", "accuracy", 849),
        ("voxceleb1", "accuracy", 4864),
        ("wikiqa_sqqa", "accuracy", 232),
        ("audiocaps_story", "following_rate", 4408),
    ],
)
def test_a_printed_share_is_the_printed_count(dataset, metric, right):
    (figure,) = values(benchmark=REPRODUCTION, dataset=dataset, metric=metric)
    assert figure.text == f"{right / figure.n:.{figure.decimals}f}"


def test_skip_and_keep_stand_together_wherever_answers_are_left_out():
    for task in tasks():
        for metric in task.metrics:
            again = figures(task, REPRODUCTION, metric)
            if any(each.skipped for each in again) and task.dataset != "librimix":
                assert any(each.skipped == 0 for each in again), (task.evals, metric)


def test_every_claim_says_all_that_is_asked_of_it():
    benchmarks = {each.benchmark for each in all_figures()}
    for claim in claims():
        assert all(getattr(claim, name) for name in claim.__struct_fields__ if name != "benchmarks"), claim.name
        assert benchmarks.issuperset(claim.benchmarks)
    assert len({claim.name for claim in claims()}) == len(claims()) >= 23


def test_a_claim_without_figures_is_found_by_its_name(capsys):
    assert main(["published", "are", "you", "really"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("\nAre you really listening?: ")
    assert "seen       the repository; not the paper" in out
    assert claims_named("nobody") == []


def test_the_tasks_are_shown_at_80_columns_with_paper_reproduction_others_and_ours(capsys):
    assert main(["published", "salmonn"]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    for task in tasks():
        assert f"{', '.join(task.evals)}: " in out
    for claim in claims():
        assert f"  {claim.name}: " in out


def test_one_task_is_shown_by_its_eval(capsys):
    assert main(["published", "salmonn", "asr_gigaspeech"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "asr_gigaspeech: speech recognition, GigaSpeech test"
    assert lines[1] == "  paper          10.0 %  the rule is not said"
    assert lines[2].startswith("  reproduction  11.56 %  salmonn-skip; drops 1,165 answers")
    assert any(line.startswith("                56.39 %  salmonn-keep; nothing dropped") for line in lines)
    assert any(line.startswith("  others        10.77 %  AudioBench, SALMONN_7B") for line in lines)
    assert not any(line.startswith("  VoxtLM") for line in lines)


@pytest.mark.parametrize("words", [["mmau"], ["salmonn", "asr_clean"], []])
def test_the_page_is_of_all_tasks_or_is_not_written(words, tmp_path, capsys):
    assert main(["published", *words, "--markdown", str(tmp_path / "page.md")]) == 4
    assert "published salmonn --markdown" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("printed", "command"),
    [
        ("57.8", "pytest evals -k air_bench; by which rules: audiobench describe air_bench"),
        ("wer/2.1", "pytest evals/salmonn.audiobench.toml -k test_asr_clean; by which rules:"),
        ("audiocaps/40.3", "pytest evals/salmonn.audiobench.toml -k test_aac; by which rules:"),
    ],
)
def test_a_number_of_a_model_card_leads_to_the_command_that_measures_it(printed, command, capsys):
    assert main(["published", printed]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert f"of a model of yours: {command}" in " ".join(" ".join(lines).split())


def test_a_task_that_salmonn_does_not_have_is_refused_with_those_that_it_has(capsys):
    assert main(["published", "salmonn", "en2jp"]) == 4
    error = capsys.readouterr().err
    assert "called en2jp; the tasks are asr_clean, " in error
    assert "en2ja" in error


def test_the_models_that_the_page_of_salmonn_s_tasks_names_can_be_asked():
    named = re.findall(r"--ab-model=(\S+)", page())
    assert named
    assert {parse_spec(text).kind for text in named} <= set(KINDS)
