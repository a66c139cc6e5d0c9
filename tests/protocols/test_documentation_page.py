"""docs/scorers says of every scorer what the registry says, with examples that were computed."""

import shutil
from pathlib import Path

import pytest

from pytest_audiobench.metrics.registry import is_known, metric_kind, names
from pytest_audiobench.protocols.catalogue import FAMILIES, family
from pytest_audiobench.protocols.scorer_documentation import scorer_documentation
from pytest_audiobench.protocols.scorer_documentation_pages import computed_examples, write_pages

PAGES = Path(__file__).parents[2] / "docs" / "scorers"
SCORERS = [(name, scorer) for name in FAMILIES for scorer in family(name).available.values()]


@pytest.mark.parametrize("name", FAMILIES)
def test_every_scorer_has_its_section_and_no_section_is_without_a_scorer(name):
    assert list(scorer_documentation(name)) == list(family(name).available)


@pytest.mark.parametrize(("name", "scorer"), SCORERS, ids=[f"{name}-{scorer.name}" for name, scorer in SCORERS])
def test_every_scorer_says_its_rule_its_source_and_an_example(name, scorer):
    documentation = scorer_documentation(name)[scorer.name]
    assert len(documentation.rule) > 40
    assert documentation.source
    assert documentation.examples
    assert "|v:" in scorer.signature
    assert scorer.metrics
    assert all(is_known(metric) for metric in scorer.metrics)


@pytest.mark.parametrize(("name", "scorer"), SCORERS, ids=[f"{name}-{scorer.name}" for name, scorer in SCORERS])
def test_a_scorer_that_leaves_answers_out_is_shown_beside_one_that_keeps_them(name, scorer):
    if scorer.missing_parts():
        pytest.skip(scorer.missing_parts())
    examples = scorer_documentation(name)[scorer.name].examples
    leaves_out = any(
        scores is None for _, _, scores in computed_examples(scorer, examples, family(name).stages[-1].name)
    )
    assert not leaves_out or scorer.companions
    assert not leaves_out or all(not family(name).available[other].companions for other in scorer.companions)


def test_every_metric_says_what_it_is():
    assert [name for name in names() if len(metric_kind(name).about) < 20] == []


def test_the_pages_hold_what_the_registry_says(tmp_path):
    """Examples of a scorer whose parts are not on this machine are not compared: the printed page keeps them."""
    pages = shutil.copytree(PAGES, tmp_path / "scorers")
    printed = {path.name: path.read_text(encoding="utf-8") for path in write_pages(pages)}
    present = {path.name: path.read_text(encoding="utf-8") for path in PAGES.glob("*.md")}
    assert present == printed, "print them again: audiobench list scorers --markdown docs/scorers"


def test_a_scorer_without_its_parts_keeps_the_examples_that_its_page_has(tmp_path):
    unavailable = next(
        (scorer.name for scorer in family("captioning").available.values() if scorer.missing_parts()), None
    )
    if unavailable is None:
        pytest.skip("every scorer of captions has its parts here")
    row = "| a cat | a dog | a cat | meteor 0.25 |"
    page = tmp_path / "captioning.md"
    page.write_text(f"# captioning\n\n## {unavailable}\n\n| answer |\n|---|\n{row}\n", encoding="utf-8")
    write_pages(tmp_path)
    assert f"\n{row}\n" in page.read_text(encoding="utf-8")
