"""docs/protocols.md says of every protocol what the registry says, with examples that were computed."""

from pathlib import Path

import pytest

from pytest_audiobench.metrics.registry import is_known, metric_kind, names
from pytest_audiobench.protocols import documentation_page
from pytest_audiobench.protocols.catalogue import FAMILIES, family

PAGE = Path(__file__).parents[2] / "docs" / "protocols.md"
MARK = "<!-- printed by: audiobench scorers --markdown -->\n"
READINGS = [(name, scorer) for name in FAMILIES for scorer in family(name).available.values()]


@pytest.mark.parametrize(("name", "scorer"), READINGS, ids=[f"{name}-{scorer.name}" for name, scorer in READINGS])
def test_every_scorer_says_its_rule_its_source_and_an_example(name, scorer):
    assert len(scorer.about.rule) > 40
    assert scorer.about.source
    assert scorer.about.examples
    assert "|v:" in scorer.signature
    assert scorer.metrics
    assert all(is_known(metric) for metric in scorer.metrics)


@pytest.mark.parametrize(("name", "scorer"), READINGS, ids=[f"{name}-{scorer.name}" for name, scorer in READINGS])
def test_a_scorer_that_leaves_answers_out_is_shown_beside_one_that_keeps_them(name, scorer):
    if scorer.lacking():
        pytest.skip(scorer.lacking())
    leaves_out = any(scores is None for _, _, scores in documentation_page.worked(scorer, family(name).stages[-1].name))
    assert not leaves_out or scorer.beside
    assert all(not family(name).available[other].beside for other in scorer.beside)


def test_every_metric_says_what_it_is():
    assert [name for name in names() if len(metric_kind(name).about) < 20] == []


def test_the_page_holds_what_the_registry_says():
    if missing := [scorer.lacking() for _, scorer in READINGS if scorer.lacking()]:
        pytest.skip(f"the examples of all scorers are computed: {missing[0]}")
    assert PAGE.read_text(encoding="utf-8").partition(MARK)[2] == documentation_page.markdown(), (
        "print it anew: audiobench scorers --markdown"
    )
