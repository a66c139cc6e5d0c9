"""The JSON Schemas of a run's files, made of the records and the texts under their fields."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from typing import Any

import msgspec

from pytest_audiobench.records.baseline import BaselineFile
from pytest_audiobench.records.fields import Record
from pytest_audiobench.records.reading import schema_of
from pytest_audiobench.records.run import RunRecord
from pytest_audiobench.records.submission import Payload, SubmissionFile

FILES: dict[str, type[Record]] = {"run": RunRecord, "baseline": BaselineFile, "submission": SubmissionFile}


def schema(name: str) -> dict[str, Any]:
    """The JSON Schema (2020-12) of the file ``name``, one of :data:`FILES`."""
    record = FILES[name]
    records = [record, Payload] if name == "submission" else [record]
    _, components = msgspec.json.schema_components(records, ref_template="#/$defs/{name}")
    for struct in _structs(Record):
        if struct.__name__ in components:
            _describe(components[struct.__name__], struct)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": schema_of(record),
        "$ref": f"#/$defs/{record.__name__}",
        "$defs": {name: components[name] for name in sorted(components)},
    }


def _structs(base: type[Record]) -> Iterator[type[Record]]:
    for struct in base.__subclasses__():
        yield struct
        yield from _structs(struct)


def _describe(definition: dict[str, Any], struct: type[Record]) -> None:
    texts: dict[str, str] = {}
    for part in reversed(struct.__mro__):
        if isinstance(part, type) and issubclass(part, Record) and part is not Record:
            texts |= field_texts(part)
    definition["description"] = " ".join((inspect.getdoc(struct) or "").split())
    for name, member in definition.get("properties", {}).items():
        if name in texts:
            definition["properties"][name] = {**member, "description": texts[name]}


def field_texts(cls: type) -> dict[str, str]:
    """The texts that stand under the fields of a class, by field."""
    (node,) = ast.parse(textwrap.dedent(inspect.getsource(cls))).body
    assert isinstance(node, ast.ClassDef)
    texts = {}
    for field, after in zip(node.body, node.body[1:], strict=False):
        match field, after:
            case ast.AnnAssign(target=ast.Name(name)), ast.Expr(ast.Constant(str(text))):
                texts[name] = " ".join(text.split())
    return texts
