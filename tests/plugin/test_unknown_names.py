"""Names that nothing has, and parts that are not installed: one sentence and exit code 4, before anything is asked."""

import json
import shutil
from fnmatch import fnmatch

import pytest

from .conftest import BOTH_WAYS, IN_THE_LONG_RUN

MANY = """
import pytest
from pytest_audiobench import manifest, multiple_choice

@pytest.mark.parametrize("number", range(5))
def test_tones(evaluate, number):
    evaluate(manifest("data/tones.jsonl"), multiple_choice())
"""
BY_NAME = """
from pytest_audiobench import manifest, multiple_choice

def test_tones(evaluate):
    evaluate(manifest("tones.jsonl", data={name}), multiple_choice())
"""
BESIDE_ABSENT = """
from pytest_audiobench import dataset, manifest, multiple_choice

def test_tones(evaluate):
    evaluate(manifest("data/tones.jsonl"), multiple_choice())

def test_mmar(evaluate):
    evaluate(dataset("mmar"), multiple_choice())
"""
TONES = """
cluster = "tone"
[source]
title = "Tones"
[data]
rows = "{rows}"
[sample]
id = "{{id}}"
audio = "{{audio}}"
question = "{{question}}"
choices = "{{choices}}"
answer = "{{answer}}"
metadata = {{ tone = "{{id}}" }}
"""


@pytest.fixture
def asked(suite):
    """The suite with forty tones, and what the model was asked."""
    suite.tones()
    suite.asked = lambda: (suite.path / "log").exists()
    return suite


def error(result):
    (line,) = [line for line in [*result.outlines, *result.errlines] if line.startswith("ERROR")]
    return line


def refused(suite, *args, **options):
    """The only sentence of a run that ends in 4 and asked nothing."""
    result = suite.run(*args, log=suite.path / "log", **options)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    line = error(result)
    assert not (suite.path / "log").exists()
    return line


@IN_THE_LONG_RUN
@pytest.mark.parametrize(
    ("arg", "sentence"),
    [
        ("--ab-scorer=leters", "--ab-scorer=leters: no scorer is called 'leters'; did you mean 'letters'?"),
        ("--ab-scorer=zzzzzzzz", "=zzzzzzzz: no scorer is called 'zzzzzzzz'; audiobench list scorers has all "),
        ("--ab-data=sakurra=data", "/data: no data set is called 'sakurra'; did you mean 'sakura'?"),
        ("--ab-data=sakura=nowhere", "/nowhere is not a folder on this machine"),
        ("--ab-prompts=yesn", "no prompt set is called 'yesn'; did you mean 'yesno'?"),
        ("--ab-require=tonnes", "no data set, benchmark or suite is called so; did you mean 'tones'?"),
        ("--ab-judge=hff:judge", "'hff:judge' names an unknown kind of model; did you mean 'hf'?"),
    ],
)
def test_an_unknown_name_on_the_command_line_is_refused_once_for_all_evals(asked, arg, sentence, workers):
    asked.write(test_tones=MANY)
    assert sentence in refused(asked, arg, workers)


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("hff:foo", "'hff:foo' names an unknown kind of model; did you mean 'hf'?"),
        ("baseline:listner", "there is no baseline 'listner'; did you mean 'listener'?"),
        ("baseline:listener,stile=qwen", "'baseline' has no option 'stile'; did you mean 'style'?"),
    ],
)
def test_an_unknown_model_is_refused_with_the_nearest_one(asked, spec, sentence):
    asked.write(test_tones=MANY)
    result = asked.run(model=spec)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*{sentence.replace('[', '[[]')}"])


@BOTH_WAYS
def test_a_scorer_that_fits_none_of_the_evals_is_not_green_and_one_that_fits_some_is_a_note(asked, workers):
    asked.write(
        test_tones=MANY,
        test_words="from pytest_audiobench import manifest, protocol\n\n"
        "def test_words(evaluate):\n    evaluate(manifest('data/tones.jsonl'), protocol('spoken_questions'))\n",
    )
    result = asked.run(workers, "--ab-scorer=mmau-string")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["note: --ab-scorer names none of the scorers of 1 eval, left to its own: words"])
    result = asked.run(workers, "-k", "test_tones", "--ab-scorer=wer-basic")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["not measured (*). --ab-scorer=wer-basic scored nothing: no eval that was measured *"])


def test_a_scorer_of_the_ini_file_that_fits_none_of_the_evals_is_a_note(asked):
    asked.write(test_tones=MANY)
    (asked.path / "pytest.ini").write_text("[pytest]\nab_scorer = wer-basic\n")
    result = asked.run("-k", "tones[0]")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["note: --ab-scorer=wer-basic scored nothing*"])


def test_a_scorer_that_only_a_test_makes_is_known_by_its_code(asked):
    asked.write(
        test_tones="from dataclasses import replace\n"
        "from pytest_audiobench import manifest, multiple_choice\n\n"
        "def test_tones(evaluate):\n"
        "    asked = multiple_choice()\n"
        "    mine = replace(asked.scorers[0], name='mine')\n"
        "    evaluate(manifest('data/tones.jsonl'), replace(asked, available={**asked.available, 'mine': mine}))\n"
    )
    result = asked.run("--ab-scorer=mine")
    assert result.ret == 0
    assert [scorer["name"] for scorer in asked.last()[0]["items"][0]["scorers"]] == ["mine"]


@BOTH_WAYS
def test_a_folder_that_no_eval_looks_up_is_not_green_where_the_command_line_names_it(asked, monkeypatch, workers):
    asked.write(test_tones=MANY)
    result = asked.run("--ab-data=chirps=data", workers)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["not measured (*). --ab-data=chirps=FOLDER was used by nothing: no eval *'chirps'."])
    monkeypatch.setenv("AUDIOBENCH_DATA", "chirps=data")
    result = asked.run(workers)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["note: --ab-data=chirps=FOLDER was used by nothing*"])


@IN_THE_LONG_RUN
@pytest.mark.parametrize("name", ["'tones'", "'sakurra'", "'to' + 'nes'"])
def test_a_folder_that_a_test_names_is_no_mistake(asked, name, workers):
    asked.write(test_tones=BY_NAME.format(name=name))
    assert asked.run(f"--ab-data={eval(name)}=data", workers).ret == 0


def test_a_known_folder_that_nothing_selected_needs_is_no_mistake(asked):
    asked.write(test_tones=MANY)
    assert asked.run("--ab-data=sakura=data").ret == 0


@BOTH_WAYS
def test_a_folder_of_the_command_line_that_holds_nothing_of_its_data_set_is_refused(asked, workers):
    (asked.path / "pitch.audiobench.toml").write_text(TONES.format(rows="rows.jsonl"))
    assert "data: the folder holds nothing of pitch; looked for rows.jsonl in it; correct the path, or see" in refused(
        asked, "--ab-data=pitch=data", workers
    )


@BOTH_WAYS
def test_data_sets_that_are_not_here_are_told_and_recorded(asked, workers):
    asked.write(test_tones=BESIDE_ABSENT)
    result = asked.run(workers)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["note: *mmar*is not on this machine*", "measured. Not gated: *"])
    assert asked.last()[0]["unavailable"] == ["mmar"]


@IN_THE_LONG_RUN
@pytest.mark.parametrize("required", ["all", "mmar", "tones", "sakura", "bundled"])
def test_a_required_data_set_or_suite_that_was_not_measured_is_not_green(asked, required, workers):
    asked.write(test_tones=BESIDE_ABSENT)
    result = asked.run(workers, f"--ab-require={required}")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines([f"not measured (*required and not measured*--ab-require={required}*"])


def test_what_is_required_and_measured_is_green(asked, monkeypatch):
    asked.write(test_tones=MANY, test_two=BESIDE_ABSENT)
    assert asked.run("--ab-require=tones").ret == 0
    assert asked.run("-k", "test_two and tones", "--ab-require=all").ret == 0
    monkeypatch.setenv("AUDIOBENCH_REQUIRE", "all")
    assert asked.run().ret == pytest.ExitCode.TESTS_FAILED
    monkeypatch.delenv("AUDIOBENCH_REQUIRE")
    (asked.path / "pytest.ini").write_text("[pytest]\nab_require = all\n")
    assert asked.run().ret == pytest.ExitCode.TESTS_FAILED


def test_a_benchmark_that_a_file_without_code_misspells_is_an_error_of_collection(asked):
    (asked.path / "mine.audiobench.toml").write_text('dataset = "sakurra"\n')
    result = asked.run()
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["*mine.audiobench.toml: no data set is called 'sakurra'; did you mean 'sakura'?"])


@BOTH_WAYS
def test_a_manifest_of_a_file_without_code_that_is_not_there_is_refused(asked, workers):
    (asked.path / "mine.audiobench.toml").write_text('manifest = "data/none.jsonl"\n')
    assert "mine.audiobench.toml: there is no file or folder " in refused(asked, workers)


def lacking(suite, *modules):
    """Lets every process of the suite's runs be without these libraries."""
    conftest = suite.path / "conftest.py"
    conftest.write_text(f"import sys\n\nsys.modules.update(dict.fromkeys({modules!r}))\n{conftest.read_text()}")


@IN_THE_LONG_RUN
def test_a_scorer_whose_library_is_lacking_is_refused_once(asked, workers):
    lacking(asked, "nltk", "rouge_score", "pycocoevalcap")
    for name in ("one", "two"):
        (asked.path / f"{name}.audiobench.toml").write_text(
            'manifest = "data/tones.jsonl"\nprotocol = "captioning"\nscorers = "rouge-google"\n'
        )
    line = refused(asked, workers)
    assert "the scorer rouge-google cannot be used here: " in line
    assert "pip install 'pytest-audiobench[captions]'" in line


def test_a_scorer_whose_library_is_lacking_fails_no_eval_without_data(asked):
    lacking(asked, "nltk", "rouge_score", "pycocoevalcap")
    declared = TONES.format(rows="rows.jsonl")
    (asked.path / "pitch.audiobench.toml").write_text(f'protocol = "captioning"\n{declared}')
    result = asked.run("-k", "pitch", "-rs")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*pitch is not on this machine*"])


@IN_THE_LONG_RUN
def test_rows_in_parquet_without_its_library_are_refused_once(asked, workers):
    lacking(asked, "pyarrow", "pyarrow.parquet")
    (asked.path / "pitch.audiobench.toml").write_text(TONES.format(rows="rows.parquet"))
    (asked.path / "data" / "rows.parquet").write_bytes(b"PAR1")
    line = refused(asked, "--ab-data=pitch=data", workers)
    assert line == "ERROR: Parquet files need pyarrow: pip install 'pytest-audiobench[parquet]'"


@IN_THE_LONG_RUN
@pytest.mark.parametrize(
    ("module", "spec", "extra"),
    [
        ("torch", "hf:{good}", "hf"),
        ("httpx", "openai:gpt,base_url=http://127.0.0.1:9/v1", "openai"),
        ("httpx", "http:http://127.0.0.1:9", "http"),
    ],
)
def test_a_model_whose_library_is_lacking_is_refused_once(asked, module, spec, extra, workers, pytestconfig):
    asked.write(test_tones=MANY)
    lacking(asked, module)
    good = pytestconfig.rootpath / "fixtures" / "checkpoints" / "good"
    result = asked.run(workers, model=spec.format(good=good))
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    line = error(result)
    assert f"pip install 'pytest-audiobench[{extra}]'" in line


@IN_THE_LONG_RUN
@pytest.mark.parametrize(
    ("spec", "variable"),
    [
        ("openai:gpt,base_url=http://127.0.0.1:9/v1,key_env=MY_KEY", "MY_KEY"),
        ("openai:gpt", "OPENAI_API_KEY"),
        ("http:http://127.0.0.1:9,token_env=MY_TOKEN", "MY_TOKEN"),
    ],
)
def test_a_model_whose_key_is_not_there_is_refused_once(asked, spec, variable, workers, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(asked.path / "empty"))
    asked.write(test_tones=MANY)
    result = asked.run(workers, model=spec)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    line = error(result)
    assert line.startswith(f"ERROR: the model {spec} cannot be asked here: ")
    assert variable in line.partition("cannot be asked here: ")[2]
    assert not asked.runs()


@pytest.mark.parametrize(
    "spec",
    ["openai:gpt,base_url=http://127.0.0.1:9/v1,key_env=MY_KEY", "judge-scores:http://127.0.0.1:9,token_env=MY_KEY"],
)
def test_a_judge_whose_key_is_not_there_is_refused_before_the_model_is_asked(asked, spec):
    asked.write(test_tones=MANY)
    line = refused(asked, f"--ab-judge=j={spec}")
    assert "cannot be asked here: " in line
    assert "MY_KEY" in line


@IN_THE_LONG_RUN
@pytest.mark.parametrize(
    ("template", "sentence"),
    [
        ("{% for m in messages %}\n{{ m.content", "* cannot be rendered: *, line 2; correct it, *"),
        ("{{ raise_exception('no audio here') }}", "* cannot be rendered: no audio here; correct it, *"),
        ("{{ '<|im_start|>' + messages[0].content }}", "* cannot be rendered: can only concatenate str *"),
        ("{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}", "* it takes more than *"),
        (None, "* has no chat template; save that of the model which this one was trained from"),
    ],
    ids=["a syntax error", "no audio", "no list of parts", "no end", "none"],
)
def test_a_checkpoint_whose_chat_template_takes_no_sound_is_refused_once(
    asked, template, sentence, workers, pytestconfig
):
    pytest.importorskip("transformers", reason="needs transformers (pip install 'pytest-audiobench[hf]')")
    copy = shutil.copytree(pytestconfig.rootpath / "fixtures" / "checkpoints" / "good", asked.path / "copy")
    file = copy / "chat_template.jinja"
    if template is None:
        file.unlink()
        config = json.loads((copy / "config.json").read_text())
        (copy / "config.json").write_text(json.dumps(config | {"model_type": "audioflamingo3"}))
    else:
        file.write_text(template)
    asked.write(test_tones=MANY)
    result = asked.run(workers, model=f"hf:{copy},device=cpu")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    line = error(result)
    assert str(copy if template is None else file) in line
    assert fnmatch(line, f"ERROR: the model hf:{copy},device=cpu cannot be asked here: {sentence}")
    assert not asked.runs()


def test_collecting_needs_no_library_of_the_model(asked, pytestconfig):
    asked.write(test_tones=MANY)
    lacking(asked, "torch")
    good = pytestconfig.rootpath / "fixtures" / "checkpoints" / "good"
    assert asked.run("--collect-only", "-q", model=f"hf:{good}").ret == 0


@pytest.mark.parametrize("option", ["baseline", "config", "data", "limit", "reports", "scorer", "max-drop"])
def test_an_option_without_its_value_is_a_mistake(asked, option):
    """A shell writes this where the variable that names the value is not set."""
    result = asked.run(f"--ab-{option}=")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: --ab-{option}= has no value*"])


def test_a_misspelled_key_or_variable_is_a_mistake_and_that_of_another_program_is_none(tones, monkeypatch):
    monkeypatch.setenv("AUDIOBENCH_THEME", "dark")
    monkeypatch.setenv("AUDIOBENCH_CACHE", str(tones.path))
    monkeypatch.setenv("AUDIOBENCH_SERVE_TOKEN", "secret")
    assert tones.run().ret == 0
    for args in (["-o", "ab_basline=main"], []):
        if not args:
            monkeypatch.setenv("AUDIOBENCH_BASLINE", "main")
        result = tones.run(*args)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines(["ERROR: there is no * did you mean *"])
