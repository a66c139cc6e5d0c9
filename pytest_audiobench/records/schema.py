"""The JSON Schemas of a run's files, made of the records and the texts under their fields."""

from __future__ import annotations

import ast
import inspect
import json
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_type_hints

import msgspec

from pytest_audiobench.records.baseline import BaselineFile
from pytest_audiobench.records.fields import Record
from pytest_audiobench.records.lines import ComparedRow, PredictionRow, ProcessedRow, ScoredRow
from pytest_audiobench.records.run import RunRecord
from pytest_audiobench.records.submission import Payload, SubmissionFile

FILES: dict[str, tuple[type[Record], ...]] = {
    "run": (RunRecord,),
    "lines": (PredictionRow, ProcessedRow, ScoredRow, ComparedRow),
    "baseline": (BaselineFile,),
    "submission": (SubmissionFile, Payload),
}
"""The records of each schema: the first is the file's; of the line files each is a row."""

_DECIMAL = {
    "type": "string",
    "pattern": r"^-?[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?$",
    "description": "A decimal: the shortest text that reads back as the same float.",
}


def schema(name: str) -> dict[str, Any]:
    """The JSON Schema (2020-12) of ``name``, one of :data:`FILES`."""
    records = FILES[name]
    _, components = msgspec.json.schema_components(records, ref_template="#/$defs/{name}")
    for struct in _structs(Record):
        if struct.__name__ in components:
            _describe(components[struct.__name__], struct)
    definitions = {key: _plain_numbers(components[key], name == "submission") for key in sorted(components)}
    references = [{"$ref": f"#/$defs/{record.__name__}"} for record in records]
    if name == "submission":
        definitions["SubmissionFile"]["properties"]["payload"] = references[1]
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": _identity(records[0], name)}
    shape = {"oneOf": references} if name == "lines" else references[0]
    return {**head, **shape, "$defs": definitions}


def write_schemas(folder: Path) -> list[Path]:
    """Write every schema into ``folder``, as docs/ has them, and say which files they are."""
    paths = []
    for name in FILES:
        paths.append(folder / f"{name}.schema.json")
        paths[-1].write_text(json.dumps(schema(name), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return paths


def _identity(record: type[Record], name: str) -> str:
    version = get_type_hints(record).get("schema")
    return get_args(version)[0] if version is not None else f"audiobench.{name}"


def _plain_numbers(value: Any, as_decimals: bool) -> Any:
    """``value`` without bounds that only keep infinity out; numbers ``as_decimals`` where the file has no floats."""
    if isinstance(value, dict):
        if value.get("type") == "number":
            return dict(_DECIMAL) if as_decimals else {"type": "number"}
        return {key: _plain_numbers(member, as_decimals) for key, member in value.items()}
    return [_plain_numbers(member, as_decimals) for member in value] if isinstance(value, list) else value


def _structs(base: type[Record]) -> Iterator[type[Record]]:
    for struct in base.__subclasses__():
        yield struct
        yield from _structs(struct)


def _describe(definition: dict[str, Any], struct: type[Record]) -> None:
    texts: dict[str, str] = {}
    for part in reversed(struct.__mro__):
        if isinstance(part, type) and issubclass(part, Record) and part is not Record:
            texts |= field_texts(part)
    definition["description"] = _in_json(inspect.getdoc(struct) or "")
    for name, member in definition.get("properties", {}).items():
        if name in texts:
            definition["properties"][name] = {**member, "description": _in_json(texts[name])}


def _in_json(text: str) -> str:
    return re.sub(r"\bNone\b", "null", " ".join(text.split()))


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
