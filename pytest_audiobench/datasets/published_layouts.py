"""What the loaders of published data sets share: files whose layout is known, and refused when it is another."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_audiobench.audio.clip import Clip, DataRoot, FileSource
from pytest_audiobench.datasets.places import relative_path
from pytest_audiobench.datasets.sample import Field
from pytest_audiobench.datasets.table_rows import texts
from pytest_audiobench.errors import UsageError


def read_json(path: Path) -> Any:
    """The JSON in ``path``. Raises UsageError when it cannot be read or is none."""
    try:
        text = path.read_text(encoding="utf-8-sig")
        content = json.loads(text, object_pairs_hook=_object)
        # Half of a surrogate pair can be written to no file and no hash: it is refused where it enters.
        if "\\u" in text:
            json.dumps(content, ensure_ascii=False).encode()
        return content
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"{path} cannot be read as JSON ({error}); fetch it again") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Of two members of one name json would keep the last, and a row would be gone unseen."""
    members = dict(pairs)
    if len(members) < len(pairs):
        twice, _ = Counter(name for name, _ in pairs).most_common(1)[0]
        raise ValueError(f"an object with {twice[:80]!r} twice")
    return members


def tsv_entries(path: Path, columns: Sequence[str] = ()) -> Iterator[Entry]:
    """The rows of a table whose cells stand between tabs; ``columns`` names them where the file has no header.

    A quotation mark is a character like any other: corpora of sentences hold odd ones. Under a header a row may lack
    cells at its end; without one a cell that lacks anywhere would make all behind it another column's. Raises
    UsageError, with the line, for a row of more cells than columns, or of fewer without a header.
    """
    header = list(columns)
    for number, line in texts(path):
        cells = line.split("\t")
        if not header:
            header = [cell.strip() for cell in cells]
        elif line.strip():
            where = f"{path}, line {number}"
            if len(cells) > len(header) or (columns and len(cells) < len(header)):
                raise Entry(where, {}).wrong(f"has {len(cells)} cells in {len(header)} columns")
            yield Entry(where, dict(zip(header, cells, strict=False)))


class Entry:
    """One entry of a published file; ``where`` (file and entry) stands in every error."""

    def __init__(self, where: str, values: object) -> None:
        if not isinstance(values, Mapping):
            raise UsageError(f"{where} is no object; fetch the file again")
        self.where, self._values = where, values

    def text(self, field: str) -> str:
        """The field's text without outer white space; the sole text of a list of one."""
        value = self._values.get(field)
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        if not isinstance(value, str):
            raise self.wrong(f"has no text in {field!r}")
        return value.strip()

    def set_default(self, field: str, value: str) -> None:
        self._values = {field: value, **self._values}

    def has(self, field: str) -> bool:
        """Whether there is something in the field; an empty cell of a table is nothing."""
        return self._values.get(field) not in (None, "")

    def field(self, field: str) -> Field | tuple[str, ...]:
        """What is in the field: a text without outer white space, the texts of a list, or another plain value."""
        value = self._values.get(field)
        if isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value)):
            return value
        return self.texts(field) if isinstance(value, list) and len(value) > 1 else self.text(field)

    def optional(self, field: str) -> str | None:
        return None if self._values.get(field) is None else self.text(field)

    def optional_texts(self, *fields: str) -> dict[str, str]:
        """Those of ``fields`` that say something."""
        return {field: text for field in fields if (text := self.optional(field))}

    def entries(self, field: str) -> Iterator[Entry]:
        """The objects of a list."""
        value = self._values.get(field)
        if not isinstance(value, list):
            raise self.wrong(f"has no list in {field!r}")
        for number, content in enumerate(value, start=1):
            yield Entry(f"{self.where}, {field} {number}", content)

    def number(self, field: str) -> float:
        """A finite number, no boolean."""
        value = self._values.get(field)
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise self.wrong(f"has no number in {field!r}")
        return float(value)

    def texts(self, field: str) -> tuple[str, ...]:
        value = self._values.get(field)
        if not isinstance(value, list) or not value or not all(isinstance(text, str) for text in value):
            raise self.wrong(f"has no list of texts in {field!r}")
        return tuple(text.strip() for text in value)

    def made_clips(self, field: str) -> tuple[Clip, ...]:
        """The clips that the field is, where its reader made them; none for a path."""
        value = self._values.get(field)
        return (value,) if isinstance(value, Clip) else value if isinstance(value, tuple) else ()

    def clip(self, root: DataRoot, written: str) -> Clip:
        """The clip at ``written``, a path inside ``root``."""
        try:
            return Clip(FileSource(root, relative_path(written)))
        except ValueError as error:
            raise UsageError(f"{self.where} has an audio path that cannot be used: {error}") from None

    def wrong(self, what: str) -> UsageError:
        return UsageError(f"{self.where} {what}, which is not the published layout; fetch the file again")
