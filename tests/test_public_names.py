"""The two modules that users import from: their names, and that documentation, evals and examples need no other."""

import ast
import importlib
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import pytest_audiobench
from pytest_audiobench import dataset, ext, multiple_choice, perturb, perturbations, protocol
from pytest_audiobench.errors import UsageError

ROOT = Path(__file__).parents[1]
PUBLIC = {"pytest_audiobench": pytest_audiobench, "pytest_audiobench.ext": ext}
MOST_NAMES = 20
HISTORY = "CHANGELOG.md"
"""The page that names what is gone."""

READ_BY_USERS = sorted(
    path.relative_to(ROOT).as_posix()
    for pattern in ("*.md", "docs/**/*.md", "evals/**/*.py", "examples/**/*", "fixtures/*/*.md")
    for path in ROOT.glob(pattern)
    if path.is_file()
    and path.suffix in (".md", ".py", ".yml", ".toml")
    and path.name != HISTORY
    and "_repository" not in path.parts  # copies for the site
)
STATEMENT = re.compile(r"^\s*(?:>>> )?((?:from|import) pytest_audiobench[\w.]*.*?(?:\([^)]*\)|$))", re.M)
PLACE = re.compile(r"\bpytest_audiobench\.(?!ext\b)[a-z_]+\.\w+")
"""A path into the package in prose: ``pytest_audiobench.identity.seed``."""


def imports_of(text):
    """Each import from the package as (module, name), in a file or in the code blocks of a page."""
    for statement in STATEMENT.findall(text):
        for node in ast.walk(ast.parse(textwrap.dedent(statement))):
            if isinstance(node, ast.ImportFrom):
                yield from ((node.module, alias.name) for alias in node.names)
            elif isinstance(node, ast.Import):
                yield from ((alias.name, None) for alias in node.names)


def test_test_files_have_at_most_twenty_names_to_import():
    assert len(pytest_audiobench.__all__) <= MOST_NAMES


@pytest.mark.parametrize("module", PUBLIC)
def test_every_public_name_is_there_and_no_other(module):
    names = PUBLIC[module].__all__
    assert [name for name in names if getattr(PUBLIC[module], name, None) is None] == []
    assert dir(PUBLIC[module]) == names
    assert not hasattr(PUBLIC[module], "TYPE_CHECKER")


@pytest.mark.parametrize("module", PUBLIC)
def test_type_checkers_and_editors_find_each_name_where_it_is_loaded_from(module):
    stub = ast.parse(Path(PUBLIC[module].__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    followed = {alias.asname: importlib.import_module(node.module) for node in stub.body for alias in node.names}
    assert sorted(followed) == PUBLIC[module].__all__
    assert [name for name, home in followed.items() if getattr(PUBLIC[module], name) is not getattr(home, name)] == []


def test_what_a_test_holds_shows_what_a_test_writer_needs_and_no_machinery():
    members = {name for name in dir(pytest_audiobench.Evaluate) if not name.startswith("_")}
    assert members == {"model", "results", "style", "record", "require", "require_audio"}


def test_a_type_checker_refuses_a_name_that_is_not_there(tmp_path):
    page = tmp_path / "misspelled.py"
    page.write_text("from pytest_audiobench import datset, dataset\nfrom pytest_audiobench.ext import Clip, Clipp\n")
    modules = [str(Path(module.__file__).with_suffix(".pyi")) for module in PUBLIC.values()]
    options = ["--follow-imports=skip", "--no-site-packages", "--config-file=", f"--cache-dir={tmp_path}"]
    # A process of its own: mypy raises the limit of recursion, by which other tests go, and keeps it raised.
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", *options, *modules, page], capture_output=True, text=True, timeout=600
    )
    assert re.findall(r"has no attribute \"(\w+)\"", checked.stdout) == ["datset", "Clipp"]


def test_type_checkers_are_told_of_the_types():
    assert (ROOT / "pytest_audiobench" / "py.typed").exists()


@pytest.mark.parametrize("page", READ_BY_USERS)
def test_what_users_read_imports_from_the_public_modules_alone(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    imported = set(imports_of(text))
    assert [place for place in imported if place[0] not in PUBLIC] == []
    assert [(place, name) for place, name in imported if name not in (None, "ext", *PUBLIC[place].__all__)] == []
    assert PLACE.findall(text) == []


def test_an_import_of_anything_else_is_seen():
    page = "```python\nfrom pytest_audiobench.audio import (\n    edits,\n    clip,\n)\n"
    page += ">>> import pytest_audiobench.gate\n"
    assert set(imports_of(page)) == {
        ("pytest_audiobench.audio", "edits"),
        ("pytest_audiobench.audio", "clip"),
        ("pytest_audiobench.gate", None),
    }


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: dataset("sakra", "animal"), "no data set is called 'sakra'; did you mean 'sakura'?"),
        (
            lambda: dataset("sakura", trck="animal"),
            "sakura takes (track=None, hop=None): got an unexpected keyword argument 'trck'",
        ),
        (
            lambda: dataset("sakura", hop="double"),
            "sakura has no hop 'double'; it has single, multi",
        ),
        (
            lambda: dataset("mmau", spilt="test"),
            "mmau takes (split='test-mini'): got an unexpected keyword argument 'spilt'",
        ),
        (lambda: multiple_choice("leters"), "multiple_choice has no scorer 'leters'; did you mean 'letters'?"),
        (
            lambda: perturbations("named", "reverbb"),
            "no perturbation is named 'reverbb'; did you mean 'reverb'? audiobench list perturbations lists them all",
        ),
        (
            lambda: perturbations("ladder", "whit"),
            "no perturbations are named 'whit'; did you mean 'white'?",
        ),
        (
            lambda: perturb("bundled", perturbations("noises", 10)[0]),
            "perturb takes a data set first, not 'bundled': write dataset(…) or manifest(…)",
        ),
        (lambda: protocol("captions"), "no protocol is called 'captions'; did you mean 'captioning'?"),
        (
            lambda: protocol("captioning", promt="?"),
            "captioning takes (*scorers, prompt=…, system=None, max_new_tokens=256): "
            "got an unexpected keyword argument 'promt'",
        ),
        (lambda: perturbations("mask"), "no kind of perturbations is called 'mask'; did you mean 'masks'?"),
        (
            lambda: perturbations("masks", mod="start"),
            "masks takes (*percents, mode='random', fill='silence'): got an unexpected keyword argument 'mod'",
        ),
    ],
)
def test_an_unknown_name_or_argument_is_refused_in_one_sentence(call, sentence):
    with pytest.raises(UsageError) as refused:
        call()
    assert str(refused.value) == sentence


def test_named_things_are_those_of_their_own_functions():
    assert dataset("sakura", "animal", hop="single").name == "sakura/animal/single"
    assert [step.name for step in perturbations("ladder", "white", 20, 10)] == ["white-20dB", "white-10dB"]
    assert protocol("multiple_choice", "mmau-string").scorers[0].name == "mmau-string"
