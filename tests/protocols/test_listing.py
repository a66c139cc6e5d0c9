"""docs/protocols.md says of every protocol what the registry says, with examples that were computed."""

from pathlib import Path

import pytest

from pytest_audiobench.metrics.registry import is_known, metric_kind, names
from pytest_audiobench.protocols import documentation_page
from pytest_audiobench.protocols.catalogue import FAMILIES, family

PAGE = Path(__file__).parents[2] / "docs" / "protocols.md"
MARK = "<!-- printed by: audiobench protocols --markdown -->\n"
READINGS = [(name, reading) for name in FAMILIES for reading in family(name).available.values()]


@pytest.mark.parametrize(("name", "reading"), READINGS, ids=[f"{name}-{reading.name}" for name, reading in READINGS])
def test_every_reading_says_its_rule_its_source_and_an_example(name, reading):
    assert len(reading.about.rule) > 40
    assert reading.about.source
    assert reading.about.examples
    assert "|v:" in reading.signature
    assert reading.metrics
    assert all(is_known(metric) for metric in reading.metrics)


@pytest.mark.parametrize(("name", "reading"), READINGS, ids=[f"{name}-{reading.name}" for name, reading in READINGS])
def test_a_reading_that_leaves_answers_out_is_shown_beside_one_that_keeps_them(name, reading):
    if reading.lacking():
        pytest.skip(reading.lacking())
    leaves_out = any(
        scores is None for _, _, scores in documentation_page.worked(reading, family(name).stages[-1].name)
    )
    assert not leaves_out or reading.beside
    assert all(not family(name).available[other].beside for other in reading.beside)


def test_every_metric_says_what_it_is():
    assert [name for name in names() if len(metric_kind(name).about) < 20] == []


def test_the_page_holds_what_the_registry_says():
    if missing := [reading.lacking() for _, reading in READINGS if reading.lacking()]:
        pytest.skip(f"the examples of all readings are computed: {missing[0]}")
    assert PAGE.read_text(encoding="utf-8").partition(MARK)[2] == documentation_page.markdown(), (
        "print it anew: audiobench protocols --markdown"
    )
