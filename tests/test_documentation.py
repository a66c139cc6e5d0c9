"""The documentation names what there is: linked pages and headings, imported names, source files, options."""

import argparse
import ast
import importlib
import json
import os
import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile

from pytest_audiobench.cli import main, parsers
from pytest_audiobench.plugin.options import _FLAGS, _LISTS, _VALUES

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for pattern in ("*.md", "docs/**/*.md", "benchmarks/*.md", "examples/**/*.md", "fixtures/*/*.md")
    for path in ROOT.glob(pattern)
    if "_repository" not in path.parts  # copies for the site
)
HISTORY = "CHANGELOG.md"
"""The page that names what is gone."""

FILES_OF_OTHERS = {
    "data/asr_hallucination/procedural.py",
    "data_processing/mask_audio_dataset.py",
    "src/audiobench/metrics.py",
    "utils/opus_to_wav.py",
}
"""Source files of the projects that the documentation compares ours with."""

OPTIONS = {f"--ab-{name}" for name in (*_LISTS, *_VALUES, *_FLAGS)}
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
IMPORT = re.compile(
    r"^(?:>>> )?(from pytest_audiobench[\w.]* import (?:\([^)]*\)|.+)|import pytest_audiobench.*)$", re.M
)


def anchors(path):
    """The anchors of a page's headings, as GitHub makes them."""
    counts, names = {}, set()
    for heading in re.findall(r"^#+ (.*)$", FENCED.sub("", path.read_text(encoding="utf-8")), re.MULTILINE):
        text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
        name = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
        counts[name] = counts.get(name, -1) + 1
        names.add(f"{name}-{counts[name]}" if counts[name] else name)
    return names


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_to_files_and_headings_that_are_there(page):
    text = re.sub(r"`[^`\n]*`", "", FENCED.sub("", (ROOT / page).read_text(encoding="utf-8")))
    for link in LINK.findall(text):
        if link.startswith(("http:", "https:", "mailto:")):
            continue
        file, _, anchor = link.partition("#")
        target = (ROOT / page).parent / file if file else ROOT / page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


@pytest.mark.parametrize("page", PAGES)
def test_what_examples_import_is_there(page):
    for statement in IMPORT.findall((ROOT / page).read_text(encoding="utf-8")):
        (node,) = ast.parse(statement).body
        if isinstance(node, ast.ImportFrom):
            module = importlib.import_module(node.module)
            missing = [name.name for name in node.names if not hasattr(module, name.name)]
            assert not missing, statement


@pytest.mark.parametrize("page", [page for page in PAGES if page != HISTORY])
def test_options_that_are_named_exist(page):
    assert set(re.findall(r"--ab-[a-z-]*[a-z]", (ROOT / page).read_text(encoding="utf-8"))) <= OPTIONS


def options_of(parser):
    """The options of a parser and of the verbs below it."""
    found = set(parser._option_string_actions)
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            found |= {option for below in action.choices.values() for option in options_of(below)}
    return found


def test_options_of_our_commands_that_are_named_exist():
    known = {verb: options_of(parser) for verb, parser in parsers()[1].items()}
    checked, missing = 0, []
    for page in PAGES:
        if page == HISTORY:
            continue
        text = (ROOT / page).read_text(encoding="utf-8").replace("\\\n", " ")
        for command in re.findall(r"(?:^(?:\$ )?|`)audiobench ([a-z][a-z-]*[^`\n#|]*)", text, re.MULTILINE):
            verb, *words = command.split()
            options = {
                match[0] for word in words if (match := re.match(r"--(?!ab-)[a-z][a-z0-9-]*", word.lstrip("[(")))
            }
            checked += len(options)
            missing += [(page, verb, option) for option in sorted(options - known.get(verb, set()))]
    assert missing == []
    assert checked > 200


@pytest.mark.parametrize("page", PAGES)
def test_names_of_the_package_that_are_called_exist(page):
    import pytest_audiobench

    called = re.findall(r"\bpytest_audiobench\.([a-z_]+)\(", (ROOT / page).read_text(encoding="utf-8"))
    assert [name for name in called if not hasattr(pytest_audiobench, name)] == []


@pytest.mark.parametrize("page", [page for page in PAGES if page != HISTORY])
def test_source_files_that_are_named_exist(page):
    text = FENCED.sub("", (ROOT / page).read_text(encoding="utf-8"))
    folders = (ROOT, ROOT / "pytest_audiobench", ROOT / "tests", (ROOT / page).parent)
    paths = re.findall(r"`([\w.-]+(?:/[\w.-]+)+\.py)(?:::[^`\n]*)?`", text)
    missing = {path for path in paths if not any((folder / path).exists() for folder in folders)}
    assert missing <= FILES_OF_OTHERS


def test_every_section_of_the_report_is_described_by_its_title():
    page = (ROOT / "pytest_audiobench/report/page/start.js").read_text(encoding="utf-8")
    titles = re.findall(r'(?:section\(|^    \[)"\w+", "([^"]+)"', page, re.MULTILINE)
    text = (ROOT / "docs/report.md").read_text(encoding="utf-8")
    assert titles
    assert [title for title in titles if title not in text] == []


MOST_LINES = 400


@pytest.mark.parametrize("page", [page for page in PAGES if page.startswith("docs/")])
def test_no_page_is_too_long_to_be_read(page):
    assert len((ROOT / page).read_text(encoding="utf-8").splitlines()) <= MOST_LINES


def files_of(text):
    """The files that a page's examples are, by name; a second conftest.py takes the place of the first."""
    return re.findall(r"^```(?:python|toml)\n# ([\w.]+)[^\n]*\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def pytest_in(folder, forks, *arguments, model="tone:good"):
    quiet = ("-p", "no:cacheprovider", "-p", "no:hypothesispytest", "-p", "no:anyio")
    arguments = ["-q", f"--ab-model={model}", *quiet, *arguments]
    return forks.pytest(arguments, folder, {**os.environ, "COLUMNS": "300"})


EXAMPLES = (
    "writing-evals",
    "manifests",
    "evals-without-code",
    "thresholds",
    "hypothesis",
    "extending",
    "results-in-code",
)
"""The pages whose examples are about the tones of the tutorial on a new model."""


def page_of(*names):
    return "\n".join((ROOT / f"docs/{name}.md").read_text(encoding="utf-8") for name in names)


def test_the_examples_run_as_they_are_written(tmp_path, forks):
    after = page_of(*EXAMPLES)
    for name, text in files_of(page_of("tutorials/new-model") + after):
        path = tmp_path / name
        if name == "conftest.py" and path.exists():  # the later one, which imports the model of the first
            path.rename(tmp_path / "tones_model.py")
        path.write_text(text, encoding="utf-8")
    (tmp_path / "german.audiobench.toml").unlink()  # about speech that the reader has
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    subprocess.run([sys.executable, "make_tones.py"], cwd=tmp_path, check=True)
    (table,) = re.findall(r"^```\n(id,audio,.*?)^```", after, re.MULTILINE | re.DOTALL)
    (tmp_path / "data/tones.csv").write_text(table, encoding="utf-8")
    run = pytest_in(tmp_path, forks)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "8 passed" in run.stdout


def test_the_card_runs_as_it_is_written(tmp_path, forks):
    card = page_of("one-card")
    for name, text in files_of(page_of("tutorials/new-model") + card):
        path = tmp_path / name
        if name == "conftest.py" and path.exists():  # the card's conftest.py, beside the tutorial's model
            path.rename(tmp_path / "tones_model.py")
        path.write_text(text, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    subprocess.run([sys.executable, "make_tones.py"], cwd=tmp_path, check=True)
    run = pytest_in(tmp_path, forks, "-p", "tones_model", "-s", "--ab-run=monday")
    failures = re.findall(r"^FAILED .*", card, re.MULTILINE)
    assert failures == re.findall(r"^FAILED .*", run.stdout, re.MULTILINE), run.stdout + run.stderr
    assert "test_pitches recorded off_hz 3.5 Hz" in run.stdout
    assert re.search(r"^off_hz +3\.5 Hz|pitches +accuracy +100\.0 % .* pass", run.stdout, re.MULTILINE)
    report = subprocess.run([sys.executable, "read_report.py"], cwd=tmp_path, capture_output=True, text=True)
    assert report.stdout.splitlines()[-1] == "6 wrong answers", report.stderr


def test_each_part_of_the_card_has_fewer_than_twenty_lines():
    parts = re.split(r"^## ", page_of("one-card"), flags=re.MULTILINE)[1:]
    names = ("GPU", "fixtures", "metric by a hook", "bound on a number", "report", "noise")
    assert [name for name, part in zip(names, parts, strict=True) if name not in part.splitlines()[0]] == []
    for part in parts:
        assert sum(len(text.splitlines()) + 1 for _, text in files_of(part)) < 20, part.splitlines()[0]


def test_the_benchmark_that_the_documentation_adds_is_asked_and_its_miniature_passes(tmp_path, forks):
    files = dict(files_of(page_of("tutorials/new-benchmark", "adding-benchmarks")))
    assert len(list(filter(None, files["birds.audiobench.toml"].splitlines()))) == 15
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    audio = tmp_path / "data" / "birds" / "audio"
    audio.mkdir(parents=True)
    for number in range(20):
        soundfile.write(audio / f"xc{number}.flac", np.sin(np.arange(8000) * (number + 1) / 40) / 2, 16_000)
    for split, numbers in (("spring", range(10)), ("autumn", range(10, 20))):
        rows = [
            {"file": f"xc{number}.flac", "species": ("wren", "robin")[number % 2], "region": "coast"}
            for number in numbers
        ]
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (tmp_path / "data" / "birds" / f"{split}.jsonl").write_text(lines, encoding="utf-8")
    numbers = tmp_path / "data" / "numbers"
    for voice in ("en-us", "en-gb-scotland"):
        (numbers / "speech" / voice).mkdir(parents=True)
        for line in range(2, 6):
            soundfile.write(numbers / "speech" / voice / f"{line}.wav", np.sin(np.arange(8000) * line / 40) / 2, 16_000)
    (numbers / "numbers.csv").write_text("words,digit\none,one\nIt is one.,one\ntwo,two\nIt is two.,two\n")
    run = pytest_in(tmp_path, forks, "--ab-run=birds", model="baseline:majority")
    assert "4 passed" in run.stdout, run.stdout + run.stderr
    items = json.loads((tmp_path / "reports" / "birds" / "run.json").read_text())["items"]
    assert [(item["eval"], item["n"], item["outcome"]) for item in items] == [
        ("birds[spring]", 10, "failed"),
        ("birds[autumn]", 10, "failed"),
        ("numbers[en-us]", 4, "passed"),
        ("numbers[en-gb-scotland]", 4, "passed"),
        ("reading/clean", 0, "skipped"),
        ("reading/translated", 0, "skipped"),
        ("voices:en-us", 4, "passed"),
        ("voices:en-gb-scotland", 4, "passed"),
    ]


def test_the_pages_of_benchmarks_say_what_their_files_say(tmp_path):
    main(["list", "benchmarks", "--markdown", str(tmp_path)])
    printed = {path.name: path.read_text(encoding="utf-8") for path in tmp_path.glob("*.md")}
    present = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "docs/benchmarks").glob("*.md")}
    assert present == printed, "print them again: audiobench list benchmarks --markdown docs/benchmarks"


def test_the_page_of_readers_says_what_the_readers_say(tmp_path):
    main(["list", "readers", "--markdown", str(tmp_path / "readers.md")])
    printed = (tmp_path / "readers.md").read_text(encoding="utf-8")
    present = (ROOT / "docs/readers.md").read_text(encoding="utf-8")
    assert present == printed, "print it again: audiobench list readers --markdown docs/readers.md"


def test_the_page_of_salmonn_s_tasks_holds_what_the_tables_say(tmp_path, capsys):
    main(["published", "salmonn", "--markdown", str(tmp_path / "salmonn.md")])
    printed = (tmp_path / "salmonn.md").read_text(encoding="utf-8")
    present = (ROOT / "docs/salmonn.md").read_text(encoding="utf-8")
    assert present == printed, "print it again: audiobench published salmonn --markdown docs/salmonn.md"


def test_the_commands_of_the_command_line_print_what_its_page_shows(tmp_path, forks, monkeypatch, capsys):
    page = (ROOT / "docs/command-line.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.setenv("AUDIOBENCH_DATA_ROOT", str(tmp_path / "data"))
    (tmp_path / "evals").symlink_to(ROOT / "evals")
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    shown = re.findall(r"^\$ (\S+) (.*)\n((?:(?!```|\$ ).*\n)+)", page, re.MULTILINE)
    assert " ".join(program for program, _, _ in shown) == "audiobench audiobench pytest pytest audiobench audiobench"
    # The machine's own facts are another's here; tests/cli/test_doctor.py holds their names.
    for program, arguments, printed in shown[1:]:
        words = shlex.split(arguments)
        if program == "pytest":
            done = forks.pytest(["-p", "no:cacheprovider", *words], tmp_path)
            assert done.returncode == 0, done.stdout
        else:
            capsys.readouterr()
            main(words)
            pattern = re.escape(printed).replace("…\\\n", "(?:.*\\n)*?")
            assert re.fullmatch(pattern, "".join(capsys.readouterr())), arguments


def test_the_tries_of_a_new_user_run_blocks_that_the_readme_has():
    tries = runpy.run_path(str(ROOT / ".ci/tries"))
    for blocks in tries["TRIES"].values():
        assert all(tries["commands"](block) for block in blocks)
