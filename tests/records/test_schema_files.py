"""The JSON Schemas in docs/, which ``audiobench schema --out docs`` writes."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from pytest_audiobench.records.schema import FILES, schema

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("name", FILES)
def test_the_schema_in_the_docs_is_that_of_the_records(name: str) -> None:
    assert json.loads((DOCS / f"{name}.schema.json").read_text(encoding="utf-8")) == json.loads(
        json.dumps(schema(name))
    )


@pytest.mark.parametrize("name", FILES)
def test_a_schema_is_one_and_refers_to_nothing_outside(name: str) -> None:
    document = schema(name)
    jsonschema.Draft202012Validator.check_schema(document)
    references = {reference.rpartition("/")[2] for reference in _references(document)}
    assert references <= set(document["$defs"])


@pytest.mark.parametrize("name", FILES)
def test_every_record_says_what_it_is_and_takes_no_other_member(name: str) -> None:
    for record, definition in schema(name)["$defs"].items():
        assert definition["description"], record
        assert definition.get("additionalProperties") is False or definition["type"] == "array", record


def test_a_schema_tells_of_each_field_what_its_record_does() -> None:
    definitions = schema("run")["$defs"]
    verdict, metric = definitions["VerdictRecord"], definitions["MetricRecord"]
    assert verdict["description"] == "A declared threshold and what became of it."
    assert metric["properties"]["scorer"]["description"] == "null for a number that a test recorded itself."
    # What a record has of the one that it extends is told there.
    assert definitions["NoiseMeasurement"]["properties"]["conditions"]["description"] == "By what was done otherwise."
    assert set(verdict["required"]) == {"status", "threshold", "value", "detail"}


def test_numbers_of_a_submission_are_decimals() -> None:
    assert '"type": "number"' not in json.dumps(schema("submission"))


def _references(value: object) -> set[str]:
    if isinstance(value, dict):
        own = {value["$ref"]} if "$ref" in value else set()
        return own.union(*map(_references, value.values()))
    return set().union(*map(_references, value)) if isinstance(value, list) else set()
