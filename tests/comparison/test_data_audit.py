"""The audit of the data over real runs of bundled digits, of which two have their labels swapped on purpose."""

import csv
import json
import shutil
from pathlib import Path

import pytest

from pytest_audiobench.comparison.data_audit import audit
from pytest_audiobench.datasets.bundled import bundled_folder
from pytest_audiobench.errors import UsageError

EARS = """
import hashlib
from pytest_audiobench.models.bundled.listener import Listener
from pytest_audiobench.models.messages import Response

class Ear(Listener):
    "The bundled listener that mishears a share of samples, drawn by its own name, as the option behind its own."

    def __init__(self, target, options):
        super().__init__()
        self.spec, self._target, self._share = f"ear:{target}", target, int(options["mishears"])

    def fingerprint(self):
        return {**super().fingerprint(), "ear": self._target, "mishears": str(self._share)}

    def ask(self, batch):
        return [self._misheard(ask.request, response) for ask, response in zip(batch, super().ask(batch), strict=True)]

    def _misheard(self, request, response):
        drawn = int(hashlib.sha256(f"{self._target} {request.sample_id}".encode()).hexdigest(), 16) % 100
        text = response.outputs[0].text if response.outputs else ""
        if drawn >= self._share or text not in tuple("ABCD"):
            return response
        return Response.of("ABCD"[("ABCD".index(text) + 1 + drawn % 3) % 4])

def pytest_audiobench_register(registration):
    registration.model("ear", Ear)
"""
EVAL = f"""
from pytest_audiobench import manifest, multiple_choice

def test_digits(evaluate):
    evaluate(manifest("digits.jsonl", root={str(bundled_folder())!r}), multiple_choice())
"""
PLAIN = ("-p", "no:cacheprovider", "-q")
SHARES = {"sharp": 2, "good": 10, "fair": 20, "dull": 35, "poor": 50}


def swapped_digits(folder: Path) -> tuple[str, str]:
    """Bundled digits in ``folder`` with the answers of two samples swapped; their ids."""
    rows = [json.loads(line) for line in (bundled_folder() / "digits.jsonl").read_text().splitlines()]
    first = rows[0]
    second = next(
        row
        for row in rows[40:]
        if row["answer"] in first["choices"] and first["answer"] in row["choices"] and row["answer"] != first["answer"]
    )
    first["answer"], second["answer"] = second["answer"], first["answer"]
    (folder / "digits.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return first["id"], second["id"]


@pytest.fixture(scope="module")
def lab(tmp_path_factory, forks):
    """A folder with a run of five models over swapped digits, and one of a baseline that hears nothing."""
    folder = tmp_path_factory.mktemp("audit")
    (folder / "conftest.py").write_text(EARS)
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "test_digits.py").write_text(EVAL)
    ids = swapped_digits(folder)
    models = [f"--ab-model={name}=ear:{name},mishears={share}" for name, share in SHARES.items()]
    run = forks.pytest([*PLAIN, *models, "--ab-run=ears"], folder)
    assert run.returncode == 0, run.stdout
    blind = forks.pytest([*PLAIN, "--ab-model=baseline:majority", "--ab-run=blind"], folder)
    assert blind.returncode == 0, blind.stdout
    return folder, ids


def suspects_of(audited, check):
    return {suspect.id: suspect for suspect in audited.suspects if suspect.check == check}


def test_swapped_labels_are_what_models_agree_against(lab):
    folder, ids = lab
    suspects = suspects_of(audit([str(folder / "reports/ears")]), "agreement")
    assert set(ids) <= set(suspects)
    assert {suspects[ids[0]].answers, suspects[ids[1]].answers} == {
        suspects[ids[0]].reference,
        suspects[ids[1]].reference,
    }
    assert suspects[ids[0]].answers == suspects[ids[1]].reference


def test_swapped_labels_are_among_the_items_on_which_better_models_score_lower(lab):
    folder, ids = lab
    suspects = suspects_of(audit([str(folder / "reports/ears")]), "correlation")
    assert set(ids) <= set(suspects)


def test_correlation_says_how_many_models_it_needs(lab):
    folder, _ = lab
    two = audit([str(folder / "reports/ears")], model="?o*")
    summary = next(check for check in two.checks if check.name == "correlation")
    assert summary.items == 0
    assert "needs 3 runs or models" in summary.summary


def test_a_baseline_that_hears_nothing_says_what_the_text_alone_is_worth(lab):
    folder, _ = lab
    audited = audit([str(folder / "reports/ears"), str(folder / "reports/blind")])
    alone = next(check for check in audited.checks if check.name == "text alone")
    assert alone.items == 80
    assert "majority" in alone.summary
    assert "a guess is 25.0 %" in alone.summary
    assert (
        suspects_of(audited, "agreement").keys()
        == suspects_of(audit([str(folder / "reports/ears")]), "agreement").keys()
    ), "who hears nothing has no voice"


def test_one_clip_with_two_labels_is_named_with_its_copy(tmp_path, forks):
    rows = [json.loads(line) for line in (bundled_folder() / "digits.jsonl").read_text().splitlines()][:6]
    copy = {**rows[0], "id": "copy", "answer": next(c for c in rows[0]["choices"] if c != rows[0]["answer"])}
    (tmp_path / "digits.jsonl").write_text("".join(json.dumps(row) + "\n" for row in [*rows, copy]))
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_digits.py").write_text(EVAL)
    run = forks.pytest([*PLAIN, "--ab-model=baseline:listener", "--ab-run=copies"], tmp_path)
    assert run.returncode == 0, run.stdout
    suspects = suspects_of(audit([str(tmp_path / "reports/copies")]), "duplicates")
    assert set(suspects) == {"copy", rows[0]["id"]}
    assert rows[0]["id"] in suspects["copy"].reason
    assert rows[0]["answer"] in suspects["copy"].reason


def test_of_transcripts_the_words_that_models_agree_on_are_held_against_the_reference(tmp_path, forks):
    pytest.importorskip("pocketsphinx", reason="the listener transcribes by pocketsphinx")
    rows = [json.loads(line) for line in (bundled_folder() / "transcription.jsonl").read_text().splitlines()]
    rows = [row for row in rows if row["answer"].startswith(("take", "eight", "six"))][:5]
    wrong = {**rows[0], "answer": "something else entirely"}
    (tmp_path / "words.jsonl").write_text("".join(json.dumps(row) + "\n" for row in [wrong, *rows[1:]]))
    (tmp_path / "conftest.py").write_text(EARS)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_words.py").write_text(EVAL.replace("multiple_choice", "transcription").replace("digits", "words"))
    models = [f"--ab-model={name}=ear:{name},mishears=0" for name in ("one", "two")]
    run = forks.pytest([*PLAIN, *models, "--ab-run=words"], tmp_path)
    assert run.returncode == 0, run.stdout
    suspects = suspects_of(audit([str(tmp_path / "reports/words")]), "agreement")
    assert wrong["id"] in suspects
    assert suspects[wrong["id"]].reference == "something else entirely"
    assert suspects[wrong["id"]].answers not in ("", "something else entirely")


def test_the_command_prints_80_columns_and_writes_a_page_with_sounds_and_rows_for_corrections(lab, forks):
    folder, ids = lab
    data = f"--data=digits={bundled_folder()}"
    done = forks.audiobench(["audit", "ears", "blind", "--out", "suspects", data], folder)
    assert done.returncode == 0, done.stderr
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert all(id_ in done.stdout for id_ in ids)
    page = (folder / "suspects/audit.html").read_text()
    assert page.count('class="sound"') >= 2
    rows = {row["id"]: row for row in csv.DictReader((folder / "suspects/suspects.csv").open())}
    lines = [json.loads(line) for line in (folder / "suspects/suspects.jsonl").read_text().splitlines()]
    assert set(ids) <= set(rows)
    assert all(row["reason"] and row["reference"] == "" for row in rows.values())
    assert [line["id"] for line in lines] == list(rows)


def test_sounds_that_lie_nowhere_are_named_and_the_page_is_written(lab, forks):
    folder, _ = lab
    done = forks.audiobench(["audit", "ears", "--out", "silent"], folder)
    assert done.returncode == 0
    assert "--data digits=FOLDER" in done.stderr
    assert 'class="sound"' not in (folder / "silent/audit.html").read_text()


def test_an_audit_that_could_compare_nothing_is_not_green(lab, forks, tmp_path):
    folder, _ = lab
    run = tmp_path / "no-keys"
    shutil.copytree(folder / "reports/ears", run)
    lines = (json.loads(line) for line in (run / "predictions.jsonl").read_text().splitlines())
    unknown = [{**row, "audio": [{**clip, "key": None} for clip in row["audio"]]} for row in lines]
    (run / "predictions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in unknown))
    done = forks.audiobench(["audit", str(run), "--model", "good"], folder)
    assert done.returncode == 5, done.stdout
    assert "nothing could be compared" in done.stdout


def test_a_run_that_is_named_twice_would_agree_with_itself(lab):
    folder, _ = lab
    with pytest.raises(UsageError, match="named twice"):
        audit([str(folder / "reports/ears"), str(folder / "reports" / ".." / "reports/ears")])


def test_no_file_of_a_run_is_changed_by_an_audit(lab, forks):
    folder, _ = lab
    before = {path.name: path.read_bytes() for path in (folder / "reports/ears").iterdir() if path.is_file()}
    forks.audiobench(["audit", "ears"], folder)
    assert {path.name: path.read_bytes() for path in (folder / "reports/ears").iterdir() if path.is_file()} == before
