"""audiobench list and describe: what there is, in 80 columns."""

import importlib.util
import json
import re
import sys

import numpy as np
import pytest
import soundfile

from pytest_audiobench.cli import main
from pytest_audiobench.datasets.catalogue import LOADERS
from pytest_audiobench.datasets.perturbations.catalogue import GROUPS, PERTURBATION_CATALOGUE
from pytest_audiobench.errors import UsageError
from pytest_audiobench.metrics.registry import names
from pytest_audiobench.models.hf.families import FAMILIES as CHECKPOINTS
from pytest_audiobench.models.registry import KINDS
from pytest_audiobench.models.spec import presets
from pytest_audiobench.protocols.catalogue import FAMILIES, protocol

ESC50 = "filename,fold,target,category,esc10,src_file,take"


@pytest.fixture
def printed(capsys, tmp_path, monkeypatch):
    """What a verb prints to a terminal, in a folder without data. No line is longer, but for a long name at its end."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments, code=0):
        with monkeypatch.context() as patch:
            patch.setattr(sys.stdout, "isatty", lambda: True)
            assert main(list(arguments)) == code
        said = capsys.readouterr()
        assert [line for line in said.out.splitlines() if len(line) > 80 and len(line.split()[-1]) < 40] == []
        return said.err if code == 4 else said.out

    return run


@pytest.fixture
def esc50(tmp_path):
    """A folder of data sets with three clips of ESC-50 in its published layout."""
    folder = tmp_path / "shelf" / "esc50"
    (folder / "meta").mkdir(parents=True)
    (folder / "audio").mkdir()
    rows = [f"1-{n}-A-{n}.wav,1,{n},{label},False,{n},A" for n, label in enumerate(("dog", "rain", "dog"))]
    (folder / "meta/esc50.csv").write_text("\n".join([ESC50, *rows]) + "\n")
    for n in range(3):
        soundfile.write(folder / f"audio/1-{n}-A-{n}.wav", np.zeros(10_000 + n), 10_000)
    return folder.parent


def test_a_task_says_its_suites_how_many_rows_it_has_and_how_much_of_a_clip_is_asked_about(printed):
    text = printed("describe", "beans_zero")
    assert "  suites   beans_zero_core, beans_zero_smoke,\n" in text
    call_type = text.partition("\n  call_type\n")[2].partition("\n\n")[0]
    assert "    rows      1,000\n    clips     the first 10 s\n" in call_type
    dcase = text.partition("\n  dcase\n")[2].partition("\n\n")[0]
    assert "    rows      13,688\n" in dcase
    assert "clips" not in dcase


@pytest.mark.parametrize(
    ("kind", "known"),
    [
        ("benchmarks", [name for name in LOADERS if not isinstance(LOADERS[name], str)]),
        ("models", [*(f"{kind}:" for kind in KINDS), *presets(), *CHECKPOINTS]),
        ("protocols", FAMILIES),
        ("metrics", names()),
    ],
)
def test_everything_of_a_kind_is_listed(printed, kind, known):
    begins = {line.split()[0] for line in printed("list", kind).splitlines() if line}
    assert set(known) <= begins


def test_scorers_are_listed_below_their_protocols(printed):
    lines = printed("list", "scorers", "transcription whisper").splitlines()
    assert lines[0] == "transcription: The words of speech"
    assert [line.strip().partition(":")[0] for line in lines[1:] if line[2] != " "] == ["whisper-en", "whisper-basic"]


def test_perturbations_are_listed_by_family_with_what_they_do_and_their_unit(printed):
    text = printed("list", "perturbations")
    assert "white: white noise over the whole clip, in dB SNR\n  white-20dB, white-10dB" in text
    listed = {name for line in text.splitlines() if line.startswith("  ") for name in re.findall(r"[\w.-]+", line)}
    assert set(PERTURBATION_CATALOGUE) <= listed
    assert set(GROUPS) <= listed | set(re.findall(r"[\w-]+(?= \()", text))
    assert "codec-mp3" in printed("list", "perturbations", "lossy")


def test_a_word_selects_by_name_and_by_what_benchmarks_are_about(printed):
    assert re.findall(r"^(\w+)", printed("list", "benchmarks", "esc5"), re.M)[1:] == ["esc50"]
    assert "nsynth" in printed("list", "benchmarks", "music")
    assert "audiobench list metrics lists them all" in printed("list", "metrics", "zzz", code=1)


def test_benchmarks_that_are_on_this_machine_are_marked(printed, esc50):
    assert re.search(r"^esc50 +1 +no ", printed("list", "benchmarks", "esc50"), re.M)
    assert re.search(r"^esc50 +1 +yes ", printed("list", "benchmarks", "esc50", "--data", str(esc50)), re.M)


def test_pages_are_written_of_benchmarks_and_scorers_alone(printed, tmp_path):
    assert "written to" in printed("list", "benchmarks", "--markdown", str(tmp_path / "pages"))
    assert (tmp_path / "pages" / "esc50.md").read_text(encoding="utf-8").startswith("# esc50\n")
    said = printed("list", "metrics", "--markdown", str(tmp_path / "page.md"), code=4)
    assert "--markdown writes pages of all benchmarks or all scorers or all readers" in said


def test_a_benchmark_is_described_with_how_to_come_by_it(printed):
    said = " ".join(printed("describe", "esc50").split())
    assert said.startswith("esc50: ESC: Dataset for Environmental Sound Classification. Piczak")
    for line in (
        "licence CC BY-NC 3.0; the clips of ESC-10 CC BY",
        "fetch audiobench fetch esc50, from https://github.com/karolpiczak/ESC-50",
        "metric accuracy, higher is better, in share (0 to 1)",
        "here no: esc50 is not on this machine",
        "pytest evals -m esc50 --ab-model=MODEL",
    ):
        assert line in said
    assert "requests" not in said


def test_what_a_benchmark_costs_is_said_where_its_data_is(printed, esc50):
    said = " ".join(printed("describe", "esc50", "--data", str(esc50)).split())
    assert f" here yes, {esc50}/esc50 samples 3 cost 3 requests, 3.0 s of sound " in said


def test_published_values_are_shown_with_their_conditions_and_sources(printed):
    said = " ".join(printed("describe", "common_voice").split())
    assert "Whisper-large-v3: wer 0.093 of en, test" in said
    assert "release 15; the normaliser is not named" in said
    assert ". README.md of github QwenLM/Qwen2.5-Omni at " in said


def test_what_holds_of_many_published_values_is_said_once(printed):
    said = " ".join(printed("describe", "air_bench").split())
    assert "Qwen-Audio-Turbo: accuracy 0.578 of AIR-Bench" in said
    assert said.count("which leaves out what it cannot read") == 1
    assert "; sound of Audio_Grounding, vocal_sound_classification, Acoustic_Scene_Classification, Sound_AQA; " in said
    assert "; AIR-Bench of speech, sound, music" in said


def test_a_published_prompt_without_words_says_so(printed):
    said = " ".join(printed("describe", "air_bench_chat").split())
    assert "--ab-prompt=air-bench-published: the words that are asked by default (github OFA-Sys" in said
    assert "--ab-prompt=ultraeval: no words of its own (" in " ".join(printed("describe", "spoken_qa").split())


def test_a_task_of_a_file_is_described_by_itself(printed, tmp_path, monkeypatch):
    shared = '[data]\nrows = "{task_name}.json"\n[sample]\nid = "{key}"\naudio = "{a}"\n'
    tasks = '[[task]]\nname = "words"\nprotocol = "transcription"\nparameters.task_name = "w"\nsample.answer = "{t}"\n'
    tasks += '[[task]]\nname = "kind"\nprotocol = "classification"\nparameters.task_name = "k"\nsample.answer = "{k}"\n'
    file = tmp_path / "two.audiobench.toml"
    file.write_text(f'unproven = "nobody looked"\n[source]\ntitle = "Two"\n{shared}{tasks}')
    monkeypatch.setitem(LOADERS, "two", file)
    said = printed("describe", "two")
    assert re.search(r"^  evals +2\n  tasks +words, kind\n", said, re.M)
    assert re.search(r"^  words\n(    .*\n)*    protocol  transcription", said, re.M)
    assert re.search(r"^  kind\n(    .*\n)*    protocol  classification", said, re.M)
    assert said.count("no: nobody looked") == 1
    only = printed("describe", "two/kind")
    assert re.search(r"^  evals +1\n", only, re.M)
    assert "transcription" not in only


def test_a_suite_is_described_by_its_benchmark_and_a_task_by_its_name_in_run_files(printed):
    assert printed("describe", "beans_zero_core") == printed("describe", "beans_zero")
    assert printed("describe", "beans_zero_call_type") == printed("describe", "beans_zero/call_type")


@pytest.mark.parametrize(
    "name",
    ["salmonn[en2ja]", "evals/salmonn.audiobench.toml::test_en2ja", "salmonn.audiobench.toml::test_en2ja[listener]"],
)
def test_a_task_is_described_by_its_name_in_a_run_and_in_pytests_lists(printed, name):
    assert printed("describe", name) == printed("describe", "salmonn/en2ja")


def test_a_case_is_described_by_its_task_or_its_benchmark(printed):
    assert printed("describe", "covost2/to_en[ar]") == printed("describe", "covost2/to_en")
    assert printed("describe", "salmonn[asr-clean]") == printed("describe", "salmonn/asr_clean")
    assert printed("describe", "aishell1[test]") == printed("describe", "aishell1")


def test_a_task_that_a_judge_scores_is_described_with_its_scorer(printed):
    said = printed("describe", "beans_next/t1_caption")
    assert re.search(r"^ +metric +judge_score, higher", said, re.M)
    assert re.search(r"^ +scorer +rubric$", said, re.M)


def test_metrics_scorers_protocols_and_models_are_described(printed):
    assert "lower is better, in errors per word (0 and above)" in printed("describe", "wer")
    assert "whisper-en: a scorer of transcription" in printed("describe", "whisper-en")
    assert "options  prompt, system, max_new_tokens, language" in printed("describe", "transcription")
    assert "transcription" in printed("describe", "whisper")
    assert "--ab-model=openai:" in printed("describe", "openai")


def test_a_model_as_ab_model_takes_it_is_described_by_its_kind(printed):
    assert printed("describe", "baseline:listener") == printed("describe", "baseline")


def test_a_name_that_several_things_have_is_described_as_each(printed):
    said = printed("describe", "letters")
    for family in ("multiple_choice", "reasoned_choice", "conditioned_choice"):
        assert f"letters: a scorer of {family}\n" in said


def test_a_name_that_nothing_has_ends_with_what_may_be_meant(printed):
    said = printed("describe", "acuracy", code=4)
    assert said.startswith("audiobench: nothing is called 'acuracy'; did you mean 'accuracy'")
    assert said.count("\n") == 1


def test_samples_that_cannot_be_read_are_no_reason_to_say_nothing(printed, esc50):
    (esc50 / "esc50/meta/esc50.csv").write_text(json.dumps("no table"))
    said = printed("describe", "esc50", "--data", str(esc50))
    assert " here cannot be read: " in " ".join(said.split())
    assert "licence" in said


def test_a_pipe_gets_whole_lines(capsys):
    assert main(["list", "metrics"]) == 0
    piped = capsys.readouterr().out
    assert "…" not in piped
    assert max(map(len, piped.splitlines())) > 80


def test_runs_are_listed_with_what_their_records_say(printed, tmp_path):
    (tmp_path / "reports").mkdir()
    assert "none of the runs" in printed("list", "runs", code=1)
    (tmp_path / "reports" / "broken").mkdir()
    (tmp_path / "reports" / "broken" / "run.json").write_text("{")
    assert [line.split()[0] for line in printed("list", "runs").splitlines()] == ["name", "broken"]
    (tmp_path / "reports").rename(tmp_path / "elsewhere")
    assert "audiobench view FOLDER" in printed("list", "runs", code=4)


def test_all_is_listed_and_described_where_no_extra_is_installed(capsys, monkeypatch):
    found = importlib.util.find_spec
    absent = ("wordllama", "onnxruntime", "tokenizers", "meeteval", "sacrebleu", "nltk")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *of: None if name in absent else found(name, *of))
    for words in (["list", "scorers"], ["list", "metrics"], ["describe", "soundscape"], ["describe", "lenient"]):
        assert main(words) == 0, capsys.readouterr().err
    with pytest.raises(UsageError, match="the scorer lenient cannot be used here"):
        protocol("soundscape", "lenient")
