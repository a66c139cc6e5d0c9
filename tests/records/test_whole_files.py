"""A member that was taken out of a file is missed, though the record in memory has a default for it."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from pytest_audiobench.errors import UsageError
from pytest_audiobench.io.strict_json import FileKind
from pytest_audiobench.records.reading import decode
from pytest_audiobench.records.run import ItemRecord, PooledHashes, RunRecord, RuntimeRecord, SuiteRecord

KIND = FileKind("run's record", "pytest", "run again")
RUN: dict[str, Any] = json.loads(
    msgspec.json.encode(
        RunRecord(
            run="nightly",
            started="2026-11-20T09:00:00Z",
            finished="2026-11-20T09:01:30Z",
            command=["pytest"],
            exit_status=0,
            limit=None,
            epochs=1,
            models=[],
            items=[ItemRecord(index=0, nodeid="test_a.py::test_a", eval="a", suite="a", model="m")],
            suites=[SuiteRecord("a", "m", 1, 1, False, [], [], PooledHashes(None, None, None))],
            hashes=PooledHashes(None, None, None),
            runtime=RuntimeRecord("3.12", "cpython", "Linux", {}),
            notes=[],
        )
    )
)


def refusal(run: Any) -> str:
    with pytest.raises(UsageError) as refused:
        decode(json.dumps(run).encode(), "run.json", KIND, RunRecord)
    return str(refused.value)


def test_a_run_as_it_is_written_is_read() -> None:
    record = decode(json.dumps(RUN).encode(), "run.json", KIND, RunRecord)
    assert json.loads(msgspec.json.encode(record)) == RUN


@pytest.mark.parametrize("name", [*RunRecord.__struct_fields__][1:])
def test_a_run_without_a_member_is_no_run(name: str) -> None:
    run = {key: value for key, value in RUN.items() if key != name}
    assert refusal(run) == f"run.json: it has no {name!r}: run again"


@pytest.mark.parametrize("name", ["outcome", "verdicts", "regressions", "metrics", "control", "message"])
def test_an_item_without_a_member_is_none(name: str) -> None:
    (item,) = RUN["items"]
    assert refusal({**RUN, "items": [{key: value for key, value in item.items() if key != name}]}) == (
        f"run.json: items 'a' has no {name!r}: run again"
    )


def test_a_run_from_before_averages_and_aspects_has_none() -> None:
    (item,), (suite,) = RUN["items"], RUN["suites"]
    earlier = {
        **RUN,
        "items": [{key: value for key, value in item.items() if key != "averages"}],
        "suites": [{key: value for key, value in suite.items() if key != "aspects"}],
    }
    record = decode(json.dumps(earlier).encode(), "run.json", KIND, RunRecord)
    assert record.items[0].averages == {}
    assert record.suites[0].aspects == ()
