"""CMI-Bench's outputs: heads of four of its published files, cut behind their last whole row."""

import json

import pytest

from pytest_audiobench.errors import UsageError
from pytest_audiobench.rescoring.layouts import source_of
from pytest_audiobench.rescoring.rescore import ScoringOptions, rescore
from tests.compat.readers.scoring import OUTPUTS, figure, needs_outputs, rows_of


def head(folder, name):
    text = (OUTPUTS / "cmi-bench" / f"{name}.jsonl").read_text(encoding="utf-8")
    file = folder / f"{name}.jsonl"
    file.write_text(text[: text.rindex("},") + 1] + "]", encoding="utf-8")
    return file


@needs_outputs
def test_one_label_is_read_by_the_published_rule(tmp_path):
    file = head(tmp_path, "gama_GTZAN")
    row = rows_of(file)[0]

    assert (row.eval, row.model, row.family, row.scorer) == ("GTZAN", "gama", "classification", "cmi-bench-label")
    assert {"blues", "classical"} <= set(row.sample.choices)
    assert 0.0 < figure(file, "accuracy") < 1.0


@needs_outputs
def test_lines_of_one_song_are_samples_and_the_song_is_their_cluster(tmp_path):
    rows = rows_of(head(tmp_path, "gama_DSing"))

    assert len({row.sample.id for row in rows}) == len(rows) == 42
    assert len({row.recording for row in rows}) == 6
    assert rows[0].family == "transcription"


@needs_outputs
@pytest.mark.parametrize(("name", "family"), [("pengi_MTG_emotion", "tagging"), ("gama_GS_key", "classification")])
def test_tags_and_keys_are_scored_by_what_fits(tmp_path, name, family):
    source = source_of(head(tmp_path, name))
    (item,) = rescore(source, ScoringOptions()).items

    assert (item.protocol, item.n) == (family, 42)


def test_a_row_that_has_lost_its_answer_key_is_refused(tmp_path):
    whole = {"question": "?", "response": "rock", "correct_answer": "rock", "audioid": "1.wav", "other": ""}
    file = tmp_path / "gama_GTZAN.jsonl"
    file.write_text(json.dumps([whole, {**whole, "correct_answer": None}]))

    with pytest.raises(UsageError, match="row 1: it has no 'correct_answer' that is a text"):
        rows_of(file)
