"""The Open ASR leaderboard's manifests, of which ``write_manifest`` itself wrote one here."""

import json

import pytest

from pytest_audiobench.errors import UsageError
from tests.compat.readers.scoring import FILES, figure, rows_of

MANIFEST = FILES / "open-asr" / "MODEL_lab-tiny-asr_DATASET_hf-audio-open-asr-leaderboard_librispeech_test.clean.jsonl"
ITS_OWN_WER = 0.0625
"""What the leaderboard's ``score_results`` prints of this manifest: 6.25 %."""


def written(folder, *rows):
    whole = {"audio_filepath": "a.wav", "duration": 1.0, "time": 0.1, "text": "one two", "pred_text": "one two"}
    file = folder / "MODEL_m_DATASET_long_test.jsonl"
    file.write_text("".join(json.dumps({**whole, **row}) + "\n" for row in rows))
    return file


def test_a_manifest_comes_to_the_leaderboards_own_rate():
    assert figure(MANIFEST, "wer") == ITS_OWN_WER


def test_the_name_says_the_model_and_the_set():
    row = rows_of(MANIFEST)[0]

    assert (row.model, row.eval) == ("lab-tiny-asr", "hf-audio-open-asr-leaderboard_librispeech_test.clean")


def test_chunks_of_one_session_are_one_utterance(tmp_path):
    file = written(
        tmp_path,
        {"parent_id": "talk", "chunk_index": 1, "text": "one two three", "pred_text": "three"},
        {"parent_id": "talk", "chunk_index": 0, "text": "one two three", "pred_text": " one two "},
    )
    (row,) = rows_of(file)

    assert (row.sample.id, row.responses["answer"].text) == ("talk", "one two three")


def test_a_session_without_one_of_its_chunks_is_refused(tmp_path):
    with pytest.raises(UsageError, match="chunks of the session 'talk' are absent"):
        rows_of(written(tmp_path, {"parent_id": "talk", "chunk_index": 1}))


def test_a_manifest_that_has_lost_a_reference_is_refused(tmp_path):
    with pytest.raises(UsageError, match="row 1: it has no 'text' that is a text"):
        rows_of(written(tmp_path, {"text": None}))
