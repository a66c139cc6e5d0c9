from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from pytest_audiobench.report.atomic_files import replacing, write_bytes, write_chunks, write_text


def test_a_file_holds_what_was_written(tmp_path: Path) -> None:
    write_bytes(tmp_path / "a", b"\x00\xff")
    write_text(tmp_path / "b", "größer\n")
    write_chunks(tmp_path / "c", (chunk for chunk in (b"1\n", b"2\n")))
    assert (tmp_path / "a").read_bytes() == b"\x00\xff"
    assert (tmp_path / "b").read_bytes() == "größer\n".encode()
    assert (tmp_path / "c").read_bytes() == b"1\n2\n"


def test_a_writer_that_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    write_text(path, "old")

    def chunks():
        yield b"new"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_chunks(path, chunks())
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["run.json"]


def test_an_unfinished_file_is_never_seen_under_its_name(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    with replacing(path) as file:
        file.write(b"half")
        file.flush()
        assert not path.exists()
    assert path.read_bytes() == b"half"


def test_two_writers_of_one_file_do_not_mix(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    with replacing(path) as first, replacing(path) as second:
        first.write(b"first")
        second.write(b"second")
    assert path.read_bytes() in (b"first", b"second")


@pytest.mark.skipif(os.name != "posix", reason="permissions are read the POSIX way")
def test_a_report_is_readable_as_any_other_new_file(tmp_path: Path) -> None:
    (tmp_path / "ordinary").touch()
    write_text(tmp_path / "report", "x")
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("ordinary", "report")]
    assert modes[0] == modes[1]


def test_a_device_is_written_to_and_not_replaced() -> None:
    write_text(Path(os.devnull), "gone")
    assert Path(os.devnull).is_char_device()
