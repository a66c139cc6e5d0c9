"""The lines of files that others wrote, with a bound on each: a longer one is never loaded."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pytest_audiobench.errors import UsageError


def bounded_lines(path: Path, most_bytes: int) -> Iterator[tuple[int, bytes]]:
    """The lines of ``path``, with their numbers from 1, without their line ends.

    A UTF-8 byte order mark at the start is left out. Raises UsageError when the file cannot be read or
    when a line holds more than ``most_bytes``.
    """
    try:
        with path.open("rb") as file:
            number = 0
            while line := file.readline(most_bytes + 2):
                number += 1
                line = line.rstrip(b"\r\n")
                if len(line) > most_bytes:
                    raise UsageError(
                        f"{path}, line {number} is longer than {most_bytes / 1e6:g} MB; write one record a line"
                    )
                if number == 1:
                    line = line.removeprefix(b"\xef\xbb\xbf")
                yield number, line
    except FileNotFoundError:
        raise UsageError(f"there is no file {path}; correct the path") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror}); name a file that can be") from None
