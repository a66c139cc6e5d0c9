"""A run as a data set, read back by pyarrow, pandas and ``datasets``: in a folder, and on a hub on loopback."""

import json
import shutil
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from pytest_audiobench.records.run import VerdictRecord
from pytest_audiobench.report.run_reader import load_run
from pytest_audiobench.sharing import exporters, run_dataset

hub_library = pytest.importorskip("huggingface_hub")
parquet = pytest.importorskip("pyarrow.parquet")
TOKEN = "hf_loopbackSecretOfAda"
REPO = "ada/speech-logs"
QUESTION = "Which animal is heard?"


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The folder of a run of two suites, of a model that is wrong where a sample's number ends in 0."""
    runs = sys.modules["sharing_runs"]
    evals = {"animals/all": runs.samples(12), "birds/all": runs.samples(11, "b")}
    return runs.Lab(tmp_path_factory.mktemp("once")).run("main", evals, lambda sample_id: not sample_id.endswith("0"))


@pytest.fixture
def main_run(lab, finished):
    """That run under ``reports`` of the working folder."""
    shutil.copytree(finished, lab.reports / "main")
    return load_run("main")


def rows(folder, kind):
    return [
        row for file in sorted((Path(folder) / kind).rglob("*.parquet")) for row in parquet.read_table(file).to_pylist()
    ]


def configs(folder):
    return [one["config_name"] for one in hub_library.DatasetCard.load(Path(folder) / "README.md").data.configs]


def test_the_metrics_are_the_runs_and_no_answer_leaves_unless_asked_for(main_run, audiobench):
    code, out, _ = audiobench("export", "main", "--to", "dataset:./logs")
    assert (code, out) == (0, "exported main to dataset:./logs: logs\n")
    assert sorted(path.name for path in Path("logs").iterdir()) == ["README.md", "metrics"]
    assert configs("logs") == ["metrics"]
    pandas = pytest.importorskip("pandas")
    names = ["eval", "suite", "metric", "scorer", "value", "lower", "upper", "n", "unit", "signature"]
    expected = main_run.metrics.rename(columns={"name": "metric"})[names]
    pandas.testing.assert_frame_equal(pandas.read_parquet("logs/metrics")[names], expected, check_dtype=False)
    hashes = {item.eval: item.hashes["score_hash"] for item in main_run.record.items}
    assert {row["eval"]: row["score_hash"] for row in rows("logs", "metrics") if row["eval"]} == hashes
    card = Path("logs/README.md").read_text()
    assert all(hash_ in card for hash_ in hashes.values())
    assert QUESTION not in card


def test_a_row_of_samples_is_what_was_asked_and_answered_and_how_it_was_scored(main_run, audiobench):
    assert audiobench("export", "main", "--to", "dataset:./logs,attach=answers")[0] == 0
    found = rows("logs", "samples")
    assert configs("logs") == ["metrics", "samples"]
    assert [row["sample_id"] for row in found] == [sample.sample_id for sample in main_run.rows()]
    for row, sample in zip(found, main_run.rows(), strict=True):
        names = ("eval", "dataset", "model", "epoch", "question", "choices", "reference")
        assert {name: row[name] for name in names} == {name: getattr(sample, name) for name in names}
        [(scorer, answer)] = sample.scorers.items()
        assert (row["run"], row["answer"], row["status"], row["parsed"]) == (
            "main",
            sample.text,
            "parsed",
            answer.value,
        )
        [score] = row["scores"]
        assert score["scorer"] == scorer
        assert {one["name"]: one["value"] for one in score["statistics"]} == answer.scores
        assert json.loads(row["metadata"])["recording"] == f"r{int(row['sample_id'][1:])}"


def test_load_dataset_reads_a_folder(main_run, audiobench, tmp_path, monkeypatch):
    datasets = pytest.importorskip("datasets")
    audiobench("export", "main", "--to", "dataset:./logs,attach=answers")
    cache = str(tmp_path / "cache")
    assert len(datasets.load_dataset("./logs", split="test", cache_dir=cache)) == len(main_run.metrics)
    samples = datasets.load_dataset("./logs", "samples", split="test", cache_dir=cache)
    assert samples["sample_id"][:] == [sample.sample_id for sample in main_run.rows()]


def test_files_are_of_bounded_size_and_hold_every_row_in_order(main_run, audiobench, monkeypatch):
    monkeypatch.setattr(run_dataset, "SHARD_BYTES", 1)
    monkeypatch.setattr(run_dataset, "_GROUP_ROWS", 5)
    audiobench("export", "main", "--to", "dataset:./logs,attach=answers")
    files = sorted(Path("logs/samples").rglob("*.parquet"))
    assert [parquet.read_metadata(file).num_rows for file in files] == [5, 5, 5, 5, 3]
    assert [row["sample_id"] for row in rows("logs", "samples")] == [sample.sample_id for sample in main_run.rows()]


def test_an_export_replaces_its_own_files_and_its_own_words_alone(main_run, audiobench, lab):
    lab.run("other/1", model="a/b")
    for run in ("main", "other/1"):
        assert audiobench("export", lab.reports / run, "--to", "dataset:./logs,attach=answers")[0] == 0
    card = Path("logs/README.md")
    card.write_text(
        card.read_text().replace("# Evaluation logs", "# Our own head").replace("tags:", "license: mit\ntags:")
    )
    others = [row for row in rows("logs", "samples") if row["run"] != "main"]
    assert audiobench("export", "main", "--to", "dataset:./logs")[0] == 0
    assert rows("logs", "samples") == others
    assert {row["run"] for row in rows("logs", "metrics")} == {"main", "other/1"}
    assert configs("logs") == ["metrics", "samples"]
    text = card.read_text()
    assert text.count("## main") == 1
    assert "# Our own head" in text
    assert hub_library.DatasetCard.load(card).data.license == "mit"


def test_a_number_has_the_verdict_of_what_was_required_of_it(main_run):
    first, second = main_run.record.items
    failed = VerdictRecord("fail", "accuracy[hop=multi] >= 0.99", 0.9, "")
    record = replace(main_run.record, items=[replace(first, verdicts=[failed]), second])
    exporters.destination("dataset:./logs").export(record, main_run.folder)
    assert [(row["eval"], row["metric"], row["group"]) for row in rows("logs", "metrics") if row["verdict"]] == [
        (first.eval, "accuracy", "hop=multi")
    ]


def test_the_hub_gets_one_commit_and_no_second_for_the_same(main_run, audiobench, hub):
    hub.put(REPO, "README.md", b"---\nlicense: mit\n---\nOur own words.\n")
    hub.put(REPO, "samples/older/run/00000.parquet", b"theirs")
    before = len(hub.repos[REPO].commits)
    hub.fault("POST .*/commit/", "lost")
    for _ in range(2):
        code, out, err = audiobench("export", "main", "--to", f"dataset:{REPO},attach=answers")
        assert (code, err) == (0, "")
    assert f"exported main to dataset:{REPO},attach=answers: {hub.url}/datasets/{REPO}" in out
    assert len(hub.repos[REPO].commits) == before + 1
    audiobench("export", "main", "--to", f"dataset:{REPO}")
    files = hub.files(REPO)
    assert len(hub.repos[REPO].commits) == before + 2
    assert set(files) == {"README.md", "samples/older/run/00000.parquet", "metrics/main/main/00000.parquet"}
    assert files["samples/older/run/00000.parquet"] == b"theirs"
    card = hub_library.DatasetCard(files["README.md"].decode())
    assert card.data.license == "mit"
    assert "Our own words." in card.text
    assert not any(TOKEN.encode() in content for commit in hub.repos[REPO].commits for content in commit.values())


def test_a_new_data_set_is_private_unless_it_may_be_seen(main_run, audiobench, hub):
    audiobench("export", "main", "--to", "dataset:ada/first", "--to", "dataset:ada/open,private=no")
    assert hub.repos["ada/first"].private
    assert not hub.repos["ada/open"].private
    before = hub.files("ada/open")
    code, _, err = audiobench("export", "main", "--to", "dataset:ada/open,private=yes,attach=answers")
    assert code == 1
    assert "everybody can see it" in err
    assert hub.files("ada/open") == before


def test_an_upload_that_fails_is_one_sentence_without_the_token(main_run, audiobench, hub):
    hub.fault("POST .*/commit/", 403, body=json.dumps({"error": f"no, {TOKEN}, not you"}))
    code, _, err = audiobench("export", "main", "--to", f"dataset:{REPO}")
    assert code == 1
    assert f"main was not exported to dataset:{REPO}: writing 2 files to {REPO}: the token may not do this" in err
    assert "name another --to" in err
    assert TOKEN not in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("dataset:logs", "write dataset:OWNER/NAME, or dataset:./FOLDER"),
        ("dataset:./logs,attach=report", "attach=answers adds the samples"),
        ("dataset:./logs,private=maybe", "private=maybe is not one of yes, no"),
        (f"dataset:{REPO}", "there is no token for the hub: log in by hf auth login, or set HF_TOKEN"),
    ],
)
def test_what_cannot_be_written_is_refused_before_anything_is_asked(main_run, audiobench, hub, monkeypatch, place, why):
    monkeypatch.delenv("HF_TOKEN")
    code, _, err = audiobench("export", "main", "--to", place)
    assert code == 4
    assert why in " ".join(err.split())
    assert hub.asked == []
