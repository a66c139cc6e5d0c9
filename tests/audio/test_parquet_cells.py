"""Cells of Parquet files in any order: what they hold is the same, however often the file is read for it."""

from __future__ import annotations

import os
import random
import tempfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

from pytest_audiobench.audio import parquet_cells
from pytest_audiobench.audio.cell_spool import CellSpool
from pytest_audiobench.audio.clip import CellSource, DataRoot, FileSource
from pytest_audiobench.audio.location import FileKey
from pytest_audiobench.audio.parquet_cells import read_cell
from pytest_audiobench.errors import AudioError

pa = pytest.importorskip("pyarrow", reason="cells of Parquet files are read by pyarrow, which is not installed")
pq = pytest.importorskip("pyarrow.parquet")

ROWS, GROUP_ROWS = 200, 80
CONTENTS = [None if row % 50 == 7 else random.Random(row).randbytes(1000 + row) for row in range(ROWS)]
WAVES = [None if row % 50 == 7 else [row / ROWS, 0.1, -0.5][: row % 4] for row in range(ROWS)]
COLUMNS = {
    "file": pa.array([{"bytes": content, "path": "a.flac"} for content in CONTENTS]),
    "large": pa.array(CONTENTS, pa.large_binary()),
    "wave": pa.array(WAVES, pa.list_(pa.float64())),
    "float": pa.array([{"array": wave, "sampling_rate": 8000} for wave in WAVES]),
    "text": pa.array([str(row) for row in range(ROWS)]),
}


@pytest.fixture
def use_spool(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[int], CellSpool]:
    """Puts an empty spool of so many bytes in the place of the process's, in its own folder."""
    (tmp_path / "spool").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "spool"))

    def use(most_bytes: int) -> CellSpool:
        spool = CellSpool(most_bytes)
        monkeypatch.setattr(parquet_cells, "SPOOL", spool)
        return spool

    return use


def shard(folder: Path, group_rows: int = GROUP_ROWS, **options: object) -> Path:
    path = folder / "clips.parquet"
    pq.write_table(pa.table(COLUMNS), path, row_group_size=group_rows, **options)
    return path


def sources(path: Path, column: str, group_rows: int = GROUP_ROWS) -> list[CellSource]:
    file = FileSource(DataRoot("mine", path.parent), path.name)
    return [CellSource(file, column, *divmod(row, group_rows), 8000) for row in range(ROWS)]


def shuffled(some: list[CellSource], seed: int = 1) -> list[CellSource]:
    return random.Random(seed).sample(some, len(some))


def cell(source: CellSource, path: Path, key: FileKey | None) -> object:
    """What is comparable of a cell: its bytes, its samples, or the sentence about what is wrong with it."""
    try:
        content = read_cell(source, str(path), key)
    except AudioError as error:
        return str(error)
    return content if isinstance(content, bytes) else (content.dtype, content.tolist())


def cells(path: Path, some: Iterable[CellSource], key: FileKey | None = None) -> Iterator[object]:
    return (cell(source, path, key) for source in some)


def key_of(path: Path) -> FileKey:
    return FileKey.of(os.stat(path))


@pytest.mark.parametrize("group_rows", [GROUP_ROWS, ROWS])
@pytest.mark.parametrize("column", COLUMNS)
def test_cells_are_the_same_in_every_order(use_spool, tmp_path, column, group_rows):
    path = shard(tmp_path, group_rows)
    in_order = sources(path, column, group_rows)
    wanted = dict(zip(in_order, cells(path, in_order), strict=True))
    if column == "file":
        assert [content for content in wanted.values() if isinstance(content, bytes)] == list(filter(None, CONTENTS))
    for order in (in_order, in_order[::-1], shuffled(in_order), in_order * 2):
        use_spool(1 << 20)
        assert list(cells(path, order, key_of(path))) == [wanted[source] for source in order]


def test_a_row_group_of_which_two_cells_were_read_is_not_read_again(use_spool, tmp_path):
    use_spool(1 << 20)
    path = shard(tmp_path)
    key = key_of(path)
    first, second, third, other = (sources(path, "large")[row] for row in (70, 5, 31, 100))
    assert list(cells(path, [first, second], key)) == [CONTENTS[70], CONTENTS[5]]
    path.write_bytes(b"nothing")
    assert cell(third, path, key) == CONTENTS[31]
    assert "not a whole Parquet file" in str(cell(other, path, key))


def test_a_file_that_is_replaced_is_read_anew(use_spool, tmp_path):
    use_spool(1 << 20)
    path = shard(tmp_path)
    some = sources(path, "large")[:5]
    assert list(cells(path, some, key_of(path))) == CONTENTS[:5]
    pq.write_table(pa.table({"large": COLUMNS["large"][::-1]}), tmp_path / "new.parquet")
    (tmp_path / "new.parquet").replace(path)
    assert list(cells(path, some, key_of(path))) == CONTENTS[:-6:-1]


@pytest.mark.parametrize("most_bytes", [0, 2000, 100_000])
def test_what_does_not_fit_is_read_from_the_file(use_spool, tmp_path, most_bytes):
    spool = use_spool(most_bytes)
    path = shard(tmp_path)
    order = shuffled(sources(path, "large"))
    assert list(cells(path, order, key_of(path))) == list(cells(path, order))
    assert os.fstat(spool._file.fileno()).st_size == spool._end <= most_bytes


def test_a_folder_that_cannot_be_written_to_is_done_without(use_spool, tmp_path, monkeypatch):
    use_spool(1 << 20)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "absent"))
    path = shard(tmp_path)
    assert list(cells(path, sources(path, "large")[:5], key_of(path))) == CONTENTS[:5]


def test_threads_that_read_the_same_row_groups_get_the_same_cells(use_spool, tmp_path):
    use_spool(1 << 20)
    path = shard(tmp_path)
    in_order = sources(path, "large")
    wanted = dict(zip(in_order, cells(path, in_order), strict=True))
    orders = [shuffled(in_order, seed) for seed in range(4)]
    with ThreadPoolExecutor(len(orders)) as pool:
        contents = list(pool.map(lambda order: list(cells(path, order, key_of(path))), orders))
    assert contents == [[wanted[source] for source in order] for order in orders]


def test_what_is_forgotten_leaves_nothing_on_the_disk_and_is_read_again(use_spool, tmp_path):
    spool = use_spool(1 << 20)
    path = shard(tmp_path)
    some = sources(path, "large")[:5]
    assert list(cells(path, some, key_of(path))) == CONTENTS[:5]
    assert spool._end > 80_000
    spool.forget()
    assert (spool._end, spool._file, list((tmp_path / "spool").iterdir())) == (0, None, [])
    assert list(cells(path, some, key_of(path))) == CONTENTS[:5]


def group_of(path: Path, number: int, key: FileKey | None = None) -> list[object]:
    """The cells of a row group."""
    return list(cells(path, sources(path, "large")[number * GROUP_ROWS :][:GROUP_ROWS], key))


def test_a_forked_process_does_not_write_over_cells_of_the_first(use_spool, tmp_path):
    use_spool(1 << 20)
    path = shard(tmp_path)
    key = key_of(path)
    wanted = [group_of(path, number) for number in range(3)]
    assert group_of(path, 0, key) == wanted[0]
    with ProcessPoolExecutor(1, get_context("fork")) as pool:
        assert pool.submit(os.getppid).result() == os.getpid()
        assert group_of(path, 1, key) == wanted[1]
        assert pool.submit(group_of, path, 2, key).result() == wanted[2]
    assert group_of(path, 1, key) == wanted[1]


@pytest.mark.parametrize("column", ["file", "large"])
@pytest.mark.parametrize("part", [0.02, 0.4, 0.95])
def test_damage_is_told_of_the_same_cells_in_the_same_words(use_spool, tmp_path, column, part):
    use_spool(1 << 20)
    path = shard(tmp_path, use_dictionary=False, data_page_size=1000, write_batch_size=2)
    chunk = pq.read_metadata(path).row_group(1).column(list(COLUMNS).index(column) + (column == "large"))
    with path.open("r+b") as file:
        file.seek(chunk.data_page_offset + int(part * chunk.total_compressed_size))
        file.write(bytes(4500))  # over the header of a page
    some = shuffled(sources(path, column))
    contents = list(cells(path, some))
    assert 0 < sum("fetch the file again" in str(content) for content in contents) <= GROUP_ROWS
    assert list(cells(path, some, key_of(path))) == contents
