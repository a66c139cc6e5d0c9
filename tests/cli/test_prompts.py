"""``audiobench prompts``: sets, the prompts of declared benchmarks, and what a run sent; also as files."""

import json
import tomllib

import pytest

from pytest_audiobench.cli import main
from pytest_audiobench.protocols.prompt_sets import PROMPT_SETS, prompt_set

EVALS = """
from pytest_audiobench import dataset, multiple_choice, protocol, with_prompt_variants


def test_pair(evaluate):
    evaluate(dataset("sound_id", "demo", "pair", mixtures=2), with_prompt_variants(protocol("presence"), "yesno", 2))


def test_digits(evaluate):
    evaluate(dataset("bundled", "digits"), multiple_choice(), samples=2)
"""


@pytest.fixture
def prompts(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        capsys.readouterr()
        code = main(["prompts", *arguments])
        return (code, *capsys.readouterr())

    return call


def test_the_sets_are_listed_with_their_families_and_digests(prompts):
    code, out, _ = prompts("show")
    assert code == 0
    rows = {line.split()[0]: line.split()[1:] for line in out.splitlines()[1 : len(PROMPT_SETS) + 1]}
    assert rows["yesno"] == ["5", "presence", "3ffb67d4260b"]
    assert set(rows) == set(PROMPT_SETS)


def test_a_set_is_shown_word_for_word_with_its_digest(prompts):
    code, out, _ = prompts("show", "choice-5")
    assert code == 0
    assert f"SHA-256 {PROMPT_SETS['choice-5'].digest}" in out
    assert "  1     {question}\n        {options}\n        Answer with the letter of the correct option.\n" in out


@pytest.mark.parametrize("name", PROMPT_SETS)
@pytest.mark.parametrize("ending", [".json", ".toml"])
def test_every_set_that_is_exported_is_the_same_set_when_it_is_read(prompts, tmp_path, name, ending):
    code, out, _ = prompts("export", name, f"mine{ending}")
    assert code == 0
    assert f"--ab-prompts=mine{ending}" in out
    assert prompt_set(tmp_path / f"mine{ending}") == PROMPT_SETS[name]


def test_a_file_that_is_there_is_replaced_only_where_it_is_said(prompts, tmp_path):
    (tmp_path / "mine.json").write_text("kept")
    code, _, err = prompts("export", "yesno", "mine.json")
    assert (code, (tmp_path / "mine.json").read_text()) == (4, "kept")
    assert "--force replaces it" in err
    assert prompts("export", "yesno", "mine.json", "--force")[0] == 0
    assert prompt_set(tmp_path / "mine.json") == PROMPT_SETS["yesno"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["export", "yesno"], "export takes a name and a file"),
        (["export", "yesno", "mine.txt"], "neither JSON nor TOML"),
        (["show", "yesno", "mine.json"], "show writes no file"),
        (["show", "yesnoo"], "(did you mean 'yesno'"),
        (["show", "mmau/nothing"], "mmau has no task 'nothing'"),
        (["show", "--run", "base"], "name one"),
    ],
)
def test_what_cannot_be_shown_is_refused_in_a_sentence(prompts, arguments, says):
    code, out, err = prompts(*arguments)
    assert (code, out) == (4, "")
    assert says in err


def test_a_benchmarks_prompts_are_shown_by_default_and_as_published(prompts):
    code, out, _ = prompts("show", "air_bench")
    assert code == 0
    assert "{question}" in out
    assert "A. {option 1}" in out
    assert ", --ab-prompt=" in out


def test_a_benchmarks_prompts_are_exported_as_tables(prompts, tmp_path):
    assert prompts("export", "salmonn", "salmonn.toml")[0] == 0
    assert prompts("export", "salmonn", "salmonn.json")[0] == 0
    tables = tomllib.loads((tmp_path / "salmonn.toml").read_text())["prompt"]
    assert tables == json.loads((tmp_path / "salmonn.json").read_text())["prompt"]
    assert len({table["eval"] for table in tables}) >= 15
    assert any("Recognize the speech and give me the transcription." in table["text"] for table in tables)


def test_what_a_run_sent_is_shown_in_every_wording(prompts, tmp_path, forks):
    (tmp_path / "test_calls.py").write_text(EVALS)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    quiet = ["-q", "-p", "no:cacheprovider", "-p", "no:hypothesispytest", "-p", "no:anyio"]
    done = forks.pytest([*quiet, "--ab-model=baseline:listener", "--ab-run=base"], tmp_path)
    assert done.returncode == 0, done.stdout
    code, out, _ = prompts("show", "pair", "--run", "base")
    assert code == 0
    assert [line for line in out.splitlines() if line.startswith("calls/")] == [
        "calls/pair, stage answer",
        "calls/pair, stage answer@2",
    ]
    assert "Do you hear a" in out
    sent = json.loads((tmp_path / "reports" / "base" / "predictions.jsonl").read_text().splitlines()[0])
    assert prompts("export", "*", "sent.json", "--run", "base")[0] == 0
    rows = json.loads((tmp_path / "sent.json").read_text())["prompt"]
    assert {row["eval"] for row in rows} == {"calls/pair", "calls/digits"}
    first = next(row for row in rows if row["sample"] == sent["sample_id"] and row["stage"] == sent["stage"])
    assert first["text"] == f"<audio 1>\n{sent['prompt'][0][1][1]}"
    code, _, err = prompts("show", "nothing", "--run", "base")
    assert code == 4
    assert err == "audiobench: no eval of reports/base matches 'nothing'; there are pair, digits\n"
