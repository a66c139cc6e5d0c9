"""sglang-omni's accuracy results: three rows of its published wer_results.json, and choices in its layout."""

import json

import pytest

from pytest_audiobench.errors import UsageError
from tests.compat.readers.scoring import FILES, figure, mean_of_own, rows_of

SPEECH = FILES / "omni" / "wer_results.json"
CHOICES = FILES / "omni" / "mmsu_results.json"


def test_speech_that_was_heard_again_comes_to_its_own_mean_error_rate():
    mean = figure(SPEECH, "wer_mean", "lower-nopunct")

    assert mean == pytest.approx(mean_of_own(SPEECH, "wer"), abs=1e-5)
    assert rows_of(SPEECH)[0].note.startswith("the texts are a recogniser's transcripts")


def test_options_that_the_file_does_not_hold_are_known_by_their_letters():
    row = rows_of(CHOICES)[1]

    assert (row.sample.choices, row.sample.reference) == (("whisper", "B", "C", "shout"), "whisper")
    assert figure(CHOICES, "accuracy", "letters") == mean_of_own(CHOICES, "accuracy") == 0.5


def test_a_request_that_failed_is_an_error_and_the_figure_that_counts_it_as_wrong_is_not_taken():
    failed = rows_of(CHOICES)[2]

    assert (failed.error, failed.figures) == ("Empty response", {})


def test_a_sample_that_has_lost_its_id_is_refused(tmp_path):
    content = json.loads(SPEECH.read_text())
    del content["per_sample"][0]["id"]
    file = tmp_path / "wer_results.json"
    file.write_text(json.dumps(content))

    with pytest.raises(UsageError, match="row 0: it has no 'id' or 'sample_id', so the question is unknown"):
        rows_of(file)
