"""inspect_ai 0.3.285's logs of its own mock model, on five choices about a tone and five requests asked twice."""

import json
import shutil
import zipfile

import pytest

from pytest_audiobench.errors import UsageError
from tests.compat.readers.scoring import FILES, figure, mean_of_own, rows_of

CHOICES = FILES / "inspect" / "tones-choice.eval"
WORDS = FILES / "inspect" / "tones-words.eval"
AS_JSON = FILES / "inspect" / "tones-choice.json"

pytest.importorskip("pyarrow")


def test_choices_come_to_the_logs_own_accuracy():
    first = rows_of(CHOICES)[0]

    assert (first.eval, first.model, first.sample.choices) == ("tones_choice", "mockllm/model", ("one", "two", "three"))
    assert (
        figure(CHOICES, "accuracy", "letters") == first.figures["accuracy"] == mean_of_own(CHOICES, "accuracy") == 0.6
    )


def test_a_log_in_json_has_the_rows_of_the_one_in_a_zip():
    def asked(row):
        return row.sample.id, row.sample.choices, row.sample.reference, row.responses["answer"].text, row.stored

    assert [asked(row) for row in rows_of(AS_JSON)] == [asked(row) for row in rows_of(CHOICES)]


def test_epochs_and_a_scorer_that_includes_the_target_are_kept():
    rows = rows_of(WORDS)

    assert {(row.epoch, row.scorer) for row in rows} == {(0, "ultraeval-exists"), (1, "ultraeval-exists")}
    assert figure(WORDS, "accuracy") == pytest.approx(rows[0].figures["accuracy"])


def test_the_metadata_of_samples_breaks_figures_down():
    assert [row.sample.metadata["level"] for row in rows_of(CHOICES)] == ["hard", "easy", "hard", "easy", "hard"]


def test_a_log_without_samples_says_how_it_ended(tmp_path):
    file = tmp_path / "log.eval"
    with zipfile.ZipFile(file, "w") as log:
        log.writestr("header.json", json.dumps({"status": "cancelled", "eval": {}, "plan": {}}))

    with pytest.raises(UsageError, match="ended with 'cancelled' and holds no samples"):
        rows_of(file)


def test_a_sample_that_has_lost_its_target_is_refused(tmp_path):
    log = json.loads(AS_JSON.read_text())
    del log["samples"][1]["target"]
    file = tmp_path / "log.json"
    file.write_text(json.dumps(log))

    with pytest.raises(UsageError, match="sample 'tone-1': it has no 'id' and 'target'"):
        rows_of(file)


def test_a_sample_that_failed_is_an_error_and_no_answer(tmp_path):
    log = json.loads(AS_JSON.read_text())
    log["samples"][0]["error"] = {"message": "the server is away", "traceback": ""}
    file = tmp_path / "log.json"
    file.write_text(json.dumps(log))

    assert (rows_of(file)[0].error, rows_of(file)[0].responses) == ("the server is away", {})


def test_a_damaged_zip_is_no_log(tmp_path):
    file = tmp_path / "log.eval"
    shutil.copy(CHOICES, file)
    file.write_bytes(file.read_bytes()[:5000])

    with pytest.raises(UsageError, match=r"log\.eval"):
        rows_of(file)


def test_a_member_that_is_damaged_is_named(tmp_path):
    file = tmp_path / "log.eval"
    damaged = bytearray(CHOICES.read_bytes())
    with zipfile.ZipFile(CHOICES) as log:
        start = log.getinfo("header.json").header_offset
    damaged[start + 200 : start + 400] = bytes(200)
    file.write_bytes(damaged)

    with pytest.raises(UsageError, match=r"header\.json is damaged .*: copy the log again"):
        rows_of(file)
