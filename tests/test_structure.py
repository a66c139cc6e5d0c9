"""The package's structure: parts in an order, no circles, names that say something, few modules in a plain run."""

import ast
import subprocess
import sys
import tomllib
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
PACKAGE = "pytest_audiobench"
ORDER = (
    "errors",
    "identity",
    "io",
    "records",
    "extensions",
    "audio",
    "datasets",
    "models",
    "serving",
    "stats",
    "metrics",
    "protocols",
    "evaluation",
    "studies",
    "gate",
    "report",
    "conformance",
    "published_figures",
    "rescoring",
    "verifier",
    "comparison",
    "sharing",
    "fetching",
    "training",
    "viewer",
    "cli",
    "plugin",
    "ext",
)
"""The parts, each of which imports those before it only (docs/architecture.md)."""

ANYWHERE = "compat"
"""The formats of other tools: each is beside the part that reads it, and imports what it needs to."""

VAGUE = {
    "held",
    "told",
    "found",
    "alike",
    "beneath",
    "kept",
    "again",
    "heard",
    "abouts",
    "unmet",
    "known",
    "asked",
    "shown",
    "said",
    "put",
    "made",
}
"""Words that say of nothing what it is."""

SMALLEST = 80
SMALL = {
    "datasets.packs.bundled_packs": "what is bundled, apart from where packs of a user lie",
    "models.judge_scores.wire": "its own contract, which is read and tested without a server",
    "plugin.root_folder": "a run whose command line names no option of ours does not import it",
    "plugin.shortfalls": "what exit code 0 promises, which is read apart from how a run ends",
    "plugin.study_selection": "a run that collects no study does not import it",
}
"""Modules of fewer lines that one neighbour imports, and why each is a module all the same."""

MOST_MODULES = 194
MOST_LINES = 110_000

FILES = {
    path.relative_to(ROOT / PACKAGE).with_suffix("").as_posix().replace("/", ".").removesuffix(".__init__"): path
    for path in sorted((ROOT / PACKAGE).rglob("*.py"))
}
"""The modules of the package by name, without its own."""


def imports(path):
    """The modules that ``path`` imports when it is imported, and for its types; and those that its functions import.

    Those of the stub beside it, from which public names are loaded, are among the first.
    """
    early, later = set(), set()

    def visit(node, modules):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                continue
            if isinstance(child, ast.ImportFrom) and child.module and child.module.split(".")[0] == PACKAGE:
                base = child.module.removeprefix(PACKAGE).removeprefix(".")
                names = (f"{base}.{alias.name}".removeprefix(".") for alias in child.names)
                modules.update(name if name in FILES else base for name in names)
            elif isinstance(child, ast.Import):
                modules.update(a.name.removeprefix(f"{PACKAGE}.") for a in child.names if a.name.startswith(PACKAGE))
            visit(child, later if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) else modules)

    stub = path.with_suffix(".pyi")
    for file in (path, stub) if stub.exists() else (path,):
        visit(ast.parse(file.read_text(encoding="utf-8")), early)
    return early - {""}, later - {""}


@cache
def arrows():
    """What each module imports: when it is imported, and in its functions."""
    both = {name: imports(path) for name, path in FILES.items()}
    return {"when imported": {k: v[0] for k, v in both.items()}, "in functions": {k: v[1] for k, v in both.items()}}


def part(module):
    return module.split(".")[0]


def circles(graph):
    """The sets of modules that reach each other (Tarjan's strongly connected components), sorted."""
    number, lowest, stack, components = {}, {}, [], []

    def visit(node):
        number[node] = lowest[node] = len(number)
        stack.append(node)
        for target in sorted(graph.get(node, ())):
            if target not in number:
                visit(target)
                lowest[node] = min(lowest[node], lowest[target])
            elif target in stack:
                lowest[node] = min(lowest[node], number[target])
        if lowest[node] == number[node]:
            place = stack.index(node)
            components.append(sorted(stack[place:]))
            del stack[place:]

    for node in sorted(graph):
        if node not in number:
            visit(node)
    return sorted(component for component in components if len(component) > 1)


def test_modules_do_not_import_each_other_in_a_circle_not_even_for_their_types():
    # The package's own __init__ names what users import, so that everything it names would be in a circle with it.
    assert circles({name: targets for name, targets in arrows()["when imported"].items() if name != "__init__"}) == []


def test_a_circle_is_seen():
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c"]]


@pytest.mark.parametrize("when", ["when imported", "in functions"])
def test_parts_import_only_parts_before_them(when):
    assert {part(name) for name in FILES} - {"__init__"} == {*ORDER, ANYWHERE}
    pairs = [(name, target) for name, targets in arrows()[when].items() for target in targets if name != "__init__"]
    pairs = [(name, target) for name, target in pairs if ANYWHERE not in (part(name), part(target))]
    assert [pair for pair in pairs if ORDER.index(part(pair[1])) > ORDER.index(part(pair[0]))] == []


def test_modules_are_called_by_nouns():
    assert [name for name in FILES if VAGUE & set(name.rpartition(".")[2].split("_"))] == []


def test_small_modules_have_more_than_one_reader_or_a_reason():
    importers = defaultdict(set)
    for modules in arrows().values():
        for name, targets in modules.items():
            for target in targets:
                importers[target].add(name)
    small = {
        name
        for name, path in FILES.items()
        if path.name != "__init__.py"
        and len(path.read_text(encoding="utf-8").splitlines()) < SMALLEST
        and len(importers[name]) == 1
        and FILES[next(iter(importers[name]))].parent == path.parent
        and name not in SMALL
    }
    assert sorted(small) == []
    assert set(SMALL) <= set(FILES)


def test_a_plain_run_imports_few_modules(tmp_path):
    (tmp_path / "listing.py").write_text(
        "import sys\n"
        "from pathlib import Path\n"
        "def pytest_unconfigure():\n"
        f"    ours = sorted(name for name in sys.modules if name.partition('.')[0] == {PACKAGE!r})\n"
        "    Path('modules.txt').write_text('\\n'.join(ours))\n"
    )
    command = [sys.executable, "-m", "pytest", "-p", "listing", "-p", "no:cacheprovider", "-k", "digits"]
    command += [str(ROOT / "evals" / "test_bundled.py"), "--ab-reports=reports", "--ab-store=store.sqlite"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout
    modules = (tmp_path / "modules.txt").read_text().splitlines()
    assert len(modules) <= MOST_MODULES, modules


def test_the_package_is_small():
    assert sum(len(path.read_text(encoding="utf-8").splitlines()) for path in FILES.values()) <= MOST_LINES


def test_the_extra_all_brings_the_libraries_that_the_package_is_built_on_and_pins_no_torch():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras, brought, waiting = project["optional-dependencies"], {}, ["pytest-audiobench[all]"]
    for requirement in map(Requirement, waiting):
        brought[requirement.name] = str(requirement.specifier)
        if requirement.name == project["name"]:
            waiting += project["dependencies"]
            waiting += [line for extra in requirement.extras for line in extras[extra]]
    ten = {"pytest", "pytest-xdist", "hypothesis", "numpy", "soundfile", "torch", "transformers"}
    assert ten | {"jiwer", "pandas", "scipy"} <= set(brought)
    assert "==" not in "".join(brought.values())
