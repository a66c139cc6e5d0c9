"""Every scorer that somebody meets without naming one is held to cases of its own."""

from pathlib import Path

from pytest_audiobench.datasets.catalogue import LOADERS
from pytest_audiobench.datasets.declaration import read_declarations
from pytest_audiobench.plugin.declarative import read_declaration
from pytest_audiobench.protocols.catalogue import OWN_FAMILIES, family

ROOT = Path(__file__).parents[2]
CASES = ROOT / "tests" / "benchmarks" / "cases"
OPTIONS = {
    "transcription": [{"language": "zh"}],
    "translation": [{"target": target} for target in ("zh", "ja", "th")],
}
"""The options by which a family has another default; Korean's BLEU needs what is on few machines."""


def defaults():
    """The default scorers of all families, and the first of every benchmark of the catalogue."""
    for name in OWN_FAMILIES:
        for options in ({}, *OPTIONS.get(name, ())):
            yield from (f"{name}/{scorer.name}" for scorer in family(name, **options).scorers)
    files = sorted(path for path in LOADERS.values() if isinstance(path, Path) and path.parent == ROOT / "evals")
    for file in files:
        tables = read_declaration(file)
        for task in read_declarations(file):
            table = tables[task].table
            named = table.get("scorers", table.get("scorer", []))
            protocol = table.get("protocol", "multiple_choice")
            for scorer in [named] if isinstance(named, str) else named[:1]:
                yield f"{protocol if scorer in family(protocol).available else 'judged'}/{scorer}"


def test_every_default_scorer_has_reference_cases():
    lacking = {scorer for scorer in defaults() if not (CASES / f"{scorer}.json").is_file()}
    assert lacking == set(), "write tests/benchmarks/cases/SCORER.json"
