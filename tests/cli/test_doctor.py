"""audiobench doctor: what this machine has, and what a command would lack on it."""

import json
import os
import re
import sys
from pathlib import Path

import pytest

from pytest_audiobench.cli import doctor, main

EVALS = Path(__file__).parents[2] / "evals"
SECRET = "sk-of-nobody-1234567890"


def facts_of(capsys, *arguments, code=0):
    """The facts by part and name."""
    assert main(["doctor", "--json", *map(str, arguments)]) == code
    printed = capsys.readouterr().out
    assert SECRET not in printed
    found = json.loads(printed)
    assert found["lacks"] == sum(fact["state"] == "lacks" for fact in found["facts"])
    return {(fact["part"], fact["name"]): (fact["state"], fact["text"]) for fact in found["facts"]}


def test_the_machine_is_told_and_no_secret(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_TOKEN", SECRET)
    monkeypatch.setenv("HTTPS_PROXY", f"http://me:{SECRET}@127.0.0.1:1")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "data/esc50/meta").mkdir(parents=True)
    (tmp_path / "data/esc50/meta/esc50.csv").write_text("filename,fold,target,category\n")
    facts = facts_of(capsys)
    assert facts["installed", "pytest"][1].startswith(pytest.__version__)
    assert "cores" in facts["devices", "CPU"][1]
    assert facts["data", "benchmarks"][0] == "ok"
    assert facts["data", "benchmarks"][1].endswith(": esc50")
    assert facts["store", "file"][1] == f"{tmp_path}/.audiobench/store.sqlite, made by the first run"
    assert facts["keys", "HF_TOKEN"] == ("ok", "set")
    assert facts["keys", "OPENAI_API_KEY"] == ("absent", "not set")
    assert facts["network", "proxies"] == ("ok", "HTTPS_PROXY")
    assert facts["network", "offline"] == ("ok", "HF_HUB_OFFLINE=1")
    assert not (tmp_path / ".audiobench").exists()
    page = (EVALS.parent / "docs/command-line.md").read_text(encoding="utf-8")
    shown = re.findall(
        r"^  [✓–] ((?:\S| (?=\S))+)", page.partition("$ audiobench doctor\n")[2].partition("```")[0], re.M
    )
    assert len(shown) > 15
    assert set(shown) - {"complete", "all", "to install"} <= {name for _, name in facts}


def test_requirements_that_are_not_met_are_named_also_those_of_an_extras_extra(tmp_path, monkeypatch):
    for name, lines in {
        "own_package": ['other_package[deep] >=2 ; extra == "far"', "pytest", 'absent_package ; extra == "near"'],
        "other_package": ['absent_package >=3 ; extra == "deep"'],
    }.items():
        folder = tmp_path / f"{name}-2.0.dist-info"
        folder.mkdir()
        required = "".join(f"Requires-Dist: {line}\n" for line in lines)
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 2.0\n{required}")
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    assert doctor._lacking("own_package", "", set()) == []
    assert doctor._lacking("own_package", "near", set()) == ["absent_package"]
    assert doctor._lacking("own_package", "far", set()) == ["absent_package>=3"]


def test_what_a_run_would_lack_is_listed_with_what_brings_it(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    monkeypatch.setenv("AUDIOBENCH_DATA_ROOT", str(tmp_path))
    for name in ("OPENAI_API_KEY", "OPENAI_API_KEY_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    models = ("--ab-model=hf:owner/listener,download=yes", "--ab-model=far=openai:gpt-4o")
    facts = facts_of(capsys, "pytest", EVALS, "-k", "esc50 or audiocaps2", *models, code=1)
    (part,) = {part for part, _ in facts}
    assert part.endswith(" evals, of hf:owner/listener,download=yes, far=openai:gpt-4o")
    assert facts[part, "data esc50"] == ("lacks", "audiobench fetch esc50 (1 eval)")
    assert facts[part, "data audiocaps2"][1].startswith("dataset2.0/test.csv of the repository")
    # Of the two models the later is kept by its name, and both are in the text that people read.
    assert facts[part, "model"][1].startswith("api.openai.com needs a key: set OPENAI_API_KEY")
    assert main(["doctor", "pytest", str(EVALS), "-k", "esc50", models[0]]) == 1
    shown = " ".join(capsys.readouterr().out.split())
    assert "owner/listener is not complete in the Hugging Face cache: audiobench fetch hf:owner/listener" in shown
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_lacks_nothing_ends_with_0(capsys):
    facts = facts_of(capsys, "pytest", EVALS / "test_bundled.py", "-k", "digits")
    assert [name for _, name in facts] == ["all", "note"]


def test_missing_audio_of_a_list_is_counted_and_the_first_is_named(tmp_path, monkeypatch, capsys):
    rows = [f"{number}.wav,{('cat', 'dog')[number % 2]}\n" for number in range(9_000)]
    eval_ = 'manifest = "{}.csv"\nprotocol = "classification"\nchoices = "from answers"\nquestion = "Which?"\n'
    for name, count in {"few": 3, "many": 9_000}.items():
        (tmp_path / f"{name}.csv").write_text("".join(["audio,answer\n", *rows[:count]]))
        (tmp_path / f"{name}.audiobench.toml").write_text(eval_.format(name))
    (tmp_path / "0.wav").write_bytes(b"RIFF")
    (tmp_path / "wrong.audiobench.toml").write_text(eval_.format("few") + 'answer = "label"\n')
    monkeypatch.chdir(tmp_path)
    assert main(["doctor", "pytest", "."]) == 1
    shown = " ".join(capsys.readouterr().out.split())
    listed = "✗ audio 2 of 3 files cannot be read (lines 3, 4), the first: few:1.wav (line 3 of few.csv): no such file"
    assert f"{listed}; looked for {tmp_path}" in shown
    assert "(1 eval: few)" in shown
    assert "2,999 of 3,000 files that were looked for, spread over 9,000 samples, cannot be read" in shown
    assert "has no column 'label', which answer= names" in shown
    assert shown.endswith("3 parts are lacking")
    for row in rows[:3]:
        (tmp_path / row.split(",")[0]).write_bytes(b"RIFF")
    assert facts_of(capsys, "pytest", "few.audiobench.toml").keys() == {("1 eval, of baseline:listener", "all")}
    (tmp_path / "few.csv").write_text("audio,answer\n0.wav,cat\n1.wav,dog\n2.wav,Dog\n")
    note = facts_of(capsys, "pytest", "few.audiobench.toml")["1 eval, of baseline:listener", "note"]
    assert "few: 'Dog' and 'dog' differ only in case or white space and are offered as two labels" in str(note)


def test_a_password_in_a_model_s_address_is_not_repeated(capsys):
    model = f"--ab-model=http:http://me:{SECRET}@127.0.0.1:9"
    facts = facts_of(capsys, "pytest", EVALS / "test_bundled.py", "-k", "digits", model, code=1)
    assert facts["1 eval, of http:…", "model"][1].startswith("an http: model holds a URL with a user or password")


def test_a_command_that_pytest_refuses_is_refused(capsys):
    assert main(["doctor", "pytest", "nosuch"]) == 4
    assert capsys.readouterr().err == "audiobench: pytest refuses the command: file or directory not found: nosuch\n"


def test_a_verb_is_looked_at_by_its_model_and_its_libraries(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("HF_HOME", os.fspath(tmp_path))
    facts = facts_of(capsys, "audiobench", "warmup", f"hf:{tmp_path}/none", code=1)
    assert facts["audiobench warmup", "model"] == (
        "lacks",
        f"the model folder {tmp_path}/none does not exist; give a folder, or a name on the hub (owner/name)",
    )
    assert facts_of(capsys, "list", "scorers") == {
        ("audiobench list", "all"): ("ok", "nothing lacks that can be known before it runs")
    }
    assert main(["doctor", "inspekt", "x"]) == 4
    assert capsys.readouterr().err.endswith("did you mean 'inspect'?\n")
