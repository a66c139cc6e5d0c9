"""Every scorer is held to reference cases that the libraries and the published code themselves computed."""

import json
import math
import tomllib
from pathlib import Path

import pytest

from pytest_audiobench import conformance
from pytest_audiobench.conformance.cases import ReferenceCase, read_cases
from pytest_audiobench.conformance.comparison import FAILING, Refusal, compared, compared_cases, same, verdict
from pytest_audiobench.conformance.declarations import Declaration, _declarations, declaration_for
from pytest_audiobench.conformance.functions import FUNCTIONS
from pytest_audiobench.conformance.rules import RULES
from pytest_audiobench.conformance.samples import SHAPES
from pytest_audiobench.conformance.scores import ScoredCase
from pytest_audiobench.metrics.registry import is_known
from pytest_audiobench.protocols.catalogue import family

HERE, ROOT = Path(__file__).parent, Path(__file__).parents[2]
FOLDER = ROOT.parent / "shared" / "conformance"
FILES = sorted(FOLDER.glob("*.json")) if FOLDER.is_dir() else []
PAGE = (ROOT / "docs" / "conformance.md").read_text(encoding="utf-8")
EACH = {
    f"{pattern.pattern} {number}": declaration
    for pattern, declarations in _declarations().items()
    for number, declaration in enumerate(declarations)
}
LACKING = "cannot be used here"
"""What is said of a scorer that lacks its parts on this machine, as meeteval."""


@pytest.mark.parametrize("path", [*FILES, HERE / "one_of_each.json"], ids=lambda path: path.stem)
def test_every_case_agrees_or_is_ours_by_a_rule_or_is_declared_to_be_outside(path):
    failing = [result for result in compared_cases(path) if result.verdict in FAILING]
    assert not [result for result in failing if LACKING not in result.detail], failing[:5]
    if failing:
        pytest.skip(failing[0].detail)


def test_a_case_that_expects_another_number_differs():
    for case in read_cases(HERE / "one_of_each.json"):
        if compared(case).verdict == "agrees":
            expected = json.loads(json.dumps(case.expected), parse_float=lambda text: float(text) + 0.5)
            expected = expected + 1 if isinstance(expected, int) else expected
            changed = case._replace(expected=f"{expected} x" if isinstance(expected, str) else expected)
            if changed.expected != case.expected:
                # Where a rule says what is ours, it is ours whatever is expected.
                assert compared(changed).verdict in ("differs", "rule"), case


@pytest.mark.parametrize("declaration", EACH.values(), ids=EACH)
def test_a_declaration_names_what_there_is(declaration: Declaration):
    assert bool(declaration.scorer) + bool(declaration.function) + bool(declaration.outside) == 1
    assert set(declaration.rules) <= set(RULES)
    assert declaration.function in ("", *FUNCTIONS)
    if declaration.scorer:
        name, _, scorer = declaration.scorer.partition("/")
        assert declaration.inputs in SHAPES
        assert "{" in scorer or scorer in family(name).available
        wanted = declaration.value.values() if isinstance(declaration.value, dict) else [declaration.value]
        plain = [
            value.split(" ")[-1]
            for value in wanted
            if not {"sum", "share", "ratio", "words", "read"} & set(value.split())
        ]
        assert [name for name in plain if "{" not in name and not is_known(name)] == []


def test_every_rule_is_one_of_some_metric_and_stands_with_its_reason_in_the_docs():
    used = {rule for declaration in EACH.values() for rule in declaration.rules}
    assert set(RULES) == used
    rows = [line.strip("| ").split(" | ") for line in PAGE.splitlines()]
    for name, rule in RULES.items():
        (row,) = [row for row in rows if row[0] == f"`{name}`"]
        assert row[1] == rule.condition
        assert len(row) == 5
        assert all(row)
    words = " ".join(PAGE.split())
    for declaration in EACH.values():
        assert declaration.outside in words


def test_a_value_that_is_neither_a_rule_s_nor_expected_differs():
    case = ReferenceCase("x", "wer", {}, {"reference": "", "hypothesis": "two words"}, 2.0)
    declaration = declaration_for(case)[0]
    assert compared(case).verdict == "rule"
    for ours, said in ((math.nan, "rule"), (2.0, "differs"), (0.0, "differs")):
        assert verdict(case, declaration, ScoredCase(ours, 1), case.expected).verdict == said
    assert verdict(case, declaration, Refusal("no words"), case.expected).verdict == "differs"


def test_the_declarations_are_a_file_of_the_package():
    tables = tomllib.loads((Path(conformance.__path__[0]) / "declarations.toml").read_text(encoding="utf-8"))
    assert sum(len(names.split(", ")) for names in tables) == len(_declarations())


def test_numbers_are_compared_within_the_tolerance_and_nothing_else_is():
    assert same({"a": [1.0, "NaN"]}, {"a": [1.0 + 1e-10, float("nan")]}, 1e-9)
    assert same(None, float("nan"), 1e-9)
    assert not same(1.0, 1.1, 1e-9)
    assert not same(0.0, False, 1e-9)
    assert not same("NaN", 0.0, 1e-9)
    assert not same([1.0], [1.0, 2.0], 1e-9)
    assert not same(None, 0.0, 1e-9)
