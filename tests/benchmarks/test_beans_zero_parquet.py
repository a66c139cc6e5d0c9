"""BEANS-Zero as it is published, Parquet with lists of floats: many rows in little memory, and what is broken."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.benchmarks.miniatures import CONFTEST, EVALS, Miniature, miniatures, text_in_part

pa = pytest.importorskip("pyarrow", reason="rows of Parquet files are read by pyarrow, which is not installed")
pq = pytest.importorskip("pyarrow.parquet")

BENCHMARKS = EVALS.parent / "benchmarks"
SECONDS = 0.25
MOST_BYTES_A_ROW = 14_000
"""An answer with its statistics of fifty labels is half of it; a clip would be 16,000 more, and its cell 32,000."""

# The memory that remembers sounds is filled by few rows here; else what rows leave behind would hide in it.
ASKED = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from beans_zero import ask_all, peak_mb
from pytest_audiobench.audio import source_samples
source_samples._FILES = source_samples.SoundMemory(1 << 20)
print(ask_all(Path(sys.argv[2])), peak_mb())
"""


@pytest.fixture
def peak_bytes(tmp_path, monkeypatch):
    """What a process takes that asks so many rows, all of whose clips it plays."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    from beans_zero import make_shard

    def peak(rows):
        folder = tmp_path / str(rows)
        folder.mkdir()
        make_shard(folder / "shard_0.parquet", rows, SECONDS, 100)
        command = [sys.executable, "-c", ASKED, str(BENCHMARKS), str(folder)]
        accuracy, peak_mb = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.split()
        assert float(accuracy) == 0.25
        return float(peak_mb) * (1 << 20)

    return peak


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no /proc says what a process took")
@pytest.mark.parametrize(("few", "many"), [(500, 2_000), (1_000, 10_000)])
def test_many_rows_are_asked_in_hardly_more_memory_than_few(peak_bytes, few, many):
    assert (peak_bytes(many) - peak_bytes(few)) / (many - few) < MOST_BYTES_A_ROW


OF_ESC50 = 'data.where.dataset_name = "esc50"'
ROWS = Miniature(miniatures()["beans_zero-esc50"]).files["shard_esc50.parquet"]


def run_of(forks, folder, rows=ROWS, waves=None, count=None, keep=1.0):
    """A run of ``beans_zero[esc50]`` over one shard of ``rows``, cut to ``keep`` of its bytes: what it printed, and its
    item. ``count`` is the number of rows that is declared.
    """
    data = folder / "data" / "beans_zero"
    data.mkdir(parents=True)
    texts = {name: [row[name] for row in rows] for name in rows[0] if name != "audio"}
    waves = waves or [WHOLE] * len(rows)
    table = pa.table({**texts, "audio": pa.array(waves, pa.list_(pa.float64()))})
    shard = data / "shard_esc50.parquet"
    pq.write_table(table, shard, row_group_size=2)
    whole = shard.read_bytes()
    shard.write_bytes(whole[: int(len(whole) * keep)])
    (folder / "evals").mkdir()
    text = text_in_part(EVALS / "beans_zero.audiobench.toml")
    if count is not None:
        text = text.replace(
            'data.where.dataset_name = "esc50"', f'data.where.dataset_name = "esc50"\ndata.count = {count}'
        )
    (folder / "evals" / "beans_zero.audiobench.toml").write_text(text)
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "answers.json").write_text(json.dumps({f"beans_zero/esc50 {row['id']}": "dog" for row in rows}))
    arguments = ["-p", "no:cacheprovider", "--rootdir=.", "--ab-model=recorded:answers.json", "--ab-run=all"]
    run = forks.pytest([*arguments, "evals", "-k", "esc50"], folder)
    file = folder / "reports" / "all" / "run.json"
    (item,) = json.loads(file.read_text(encoding="utf-8"))["items"]
    return " ".join(run.stdout.split()), run.returncode, item


WHOLE = [0.1, -0.1] * 400
UNKNOWN = [*ROWS[:-1], {**ROWS[-1], "output": "unicorn"}]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"keep": 0.9}, "shard_esc50.parquet: not a whole Parquet file"),
        ({"count": 400}, f"shard*.parquet has {len(ROWS)} rows of beans_zero/esc50, which has 400; fetch it again"),
        ({"rows": UNKNOWN}, f"sample '{ROWS[-1]['id']}': its truth 'unicorn' is not one of its labels (dog, "),
    ],
    ids=["cut", "count", "label"],
)
def test_a_set_that_is_not_whole_is_said_so_before_anything_is_asked(forks, tmp_path, changes, said):
    output, status, item = run_of(forks, tmp_path, **changes)
    assert said in output
    assert "asked now" not in output
    assert (status, item["metrics"]) == (1, [])


@pytest.mark.parametrize(
    ("wave", "said"),
    [
        ([0.1, float("nan")], "1 of 2 samples are not a number and 0 are infinite; repair it or leave it out"),
        ([0.1, float("-inf")], "0 of 2 samples are not a number and 1 are infinite; repair it or leave it out"),
        ([0.1, None], "1 of its samples are null; repair it or leave it out"),
        ([], "no sound in it (zero frames); leave it out, or fetch or edit it again"),
        (None, "no audio in it (null); leave the row out"),
    ],
    ids=["nan", "inf", "null", "empty", "none"],
)
def test_a_list_of_floats_that_is_no_sound_is_named_and_its_set_is_not_scored_as_if_whole(forks, tmp_path, wave, said):
    output, status, item = run_of(forks, tmp_path, waves=[*[WHOLE] * (len(ROWS) - 1), wave])
    place = f"{ROWS[-1]['id']}: beans_zero:shard_esc50.parquet, row group 1, row 1, audio: {said}"
    assert place in output.replace("- ", "-")
    assert f"1 of {len(ROWS)} samples could not be asked" in output
    assert {metric["n"] for metric in item["metrics"] if metric["name"] == "accuracy"} == {len(ROWS) - 1}
    assert status == 1
