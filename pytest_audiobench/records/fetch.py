"""What was fetched of a data set: a small file next to its folder in the data root."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from pytest_audiobench.records.fields import Count, Digest, Name, Record, Time

SCHEMA: Literal["audiobench.fetch/1"] = "audiobench.fetch/1"
MOST_BYTES = 2**30
"""A larger file is not a record: one of a million files takes a sixth of it."""


class FileRecord(Record, frozen=True, array_like=True):
    """A file as it was when it was fetched, as a list in this order."""

    path: Name
    bytes: Count
    sha256: Digest


class PartRecord(Record, frozen=True):
    """What one place gave."""

    address: Name
    """``hub:owner/name``, or the address of a git repository or a file; a folder's is the path it was taken from."""
    patterns: Sequence[Name]
    """Those of its files that were selected; none for all."""
    into: Name
    """The folder below the data set's own."""
    unpacked: bool
    """Whether archives were unpacked."""
    revision: Name
    """The commit of hub and git; the entity tag of a URL; "" where there is none."""
    pinned: bool
    """Whether the benchmark's file says the revision or a digest; else that of the first fetch is held."""
    needed_by: Sequence[Name]
    """The benchmarks that asked for it, with their tasks."""
    parameters: Mapping[str, Sequence[Name]]
    """The values of parameters whose evals need it; none for every eval."""
    complete: bool
    """Whether all of its files lie in the folder."""
    files: Sequence[FileRecord] = ()
    """What lies below the data set's folder."""
    archives: Sequence[FileRecord] = ()
    """What was unpacked, by its path at the place it came from."""

    def is_of(self, benchmark: str, case: Mapping[str, str]) -> bool:
        """Whether an eval of ``benchmark`` with the parameters ``case`` needs it."""
        values = self.parameters.items()
        return benchmark in self.needed_by and all(case.get(name) in allowed for name, allowed in values)


class FetchRecord(Record, frozen=True):
    """All that was fetched of one data set."""

    schema: Literal["audiobench.fetch/1"]
    name: Name
    time: Time
    """When something was last fetched."""
    parts: Sequence[PartRecord]
