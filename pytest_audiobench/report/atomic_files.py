"""Files that appear whole or not at all: written next to their place, then renamed into it.

The rename keeps a reader, or the next run, from ever seeing half a file, however the writer dies.
Nothing is synced to the disk: everything written here is derived from the answer store, so a power cut
costs a run that asks no model, while an fsync for each of a thousand parts would cost seconds.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

TEMPORARY = ".tmp"
"""How the name of an unfinished file ends; one that a killed writer left may be removed."""


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A binary file that takes the place of ``path`` when the block ends well, and is removed when it does not.

    It lies in the same folder, since a rename is whole only within one file system. Two writers of one
    path do not mix: the later rename wins. A device, such as /dev/null or a pipe, is written to as it is.
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        with path.open("wb") as device:
            yield device
        return
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex[:12]}{TEMPORARY}")
    try:
        with temporary.open("xb") as file:
            yield file
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_bytes(path: Path, content: bytes) -> None:
    """Make ``path`` hold ``content``."""
    with replacing(path) as file:
        file.write(content)


def write_text(path: Path, text: str) -> None:
    """Make ``path`` hold ``text`` as UTF-8. Raises UnicodeEncodeError for a lone surrogate."""
    write_bytes(path, text.encode())


def write_chunks(path: Path, chunks: Iterable[bytes]) -> None:
    """Make ``path`` hold the chunks one after the other, taken as they come."""
    with replacing(path) as file:
        file.writelines(chunks)
