"""The file that a publisher who keeps the references scores: its own rows, with what the model answered in them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from pytest_audiobench.datasets.dataset import Submission
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.datasets.sample import LETTERS
from pytest_audiobench.errors import FatalError
from pytest_audiobench.evaluation.evaluate import Evaluation
from pytest_audiobench.evaluation.scoring import ScoredSample
from pytest_audiobench.identity import digest
from pytest_audiobench.protocols.protocol import gives_letters
from pytest_audiobench.report.atomic_files import replacing

SUBMISSIONS = "submissions"
"""The folder, within a run's, of the files to be submitted."""

_STRANGE = re.compile(r"[^A-Za-z0-9.]+")


def write_submission(folder: Path, evaluation: Evaluation, places: Places) -> str:
    """Write the predictions of an eval whose references are withheld into the run's ``folder``, and check the file.

    The prediction is what the headline scorer read in the first epoch, of an option its text; "" where it read nothing.
    Returns a sentence with the coverage and the file, or with why there is none. Raises FatalError for a file that is
    not as its publisher takes it, UsageError where the rows cannot be read any more.
    """
    result, wanted = evaluation.result, evaluation.selection.dataset.submission
    rows = [row for row in result.headline_rows if row.answers.epoch == 0]
    parsed = sum(row.status == "parsed" for row in rows)
    coverage = f"answers withheld: coverage {100 * parsed / len(rows):.4g} %"
    if wanted is None:
        return f"{coverage}, no submission file: these are not the rows as they were published"
    if evaluation.selection.limited:
        return f"{coverage}, no submission file: {len(rows)} of {evaluation.selection.size} samples were asked"
    if failed := sum(row.answer is None for row in rows):
        return f"{coverage}, no submission file: {failed} samples could not be asked; run again"
    letters = gives_letters(result.record.scorers[0].signature)
    predictions = {row.answers.sample_id: _prediction(row, letters) for row in rows}
    record = result.record
    name = "-".join(_STRANGE.sub("-", part).strip("-") for part in (record.eval, record.model))
    name += f"-{digest({'eval': record.eval, 'model': record.model})[:8]}.{wanted.format}"
    path = folder / SUBMISSIONS / name
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        file.writelines(_encoded(wanted, predictions, places))
    try:
        _check(path, wanted, predictions, places)
    except FatalError:
        path.unlink()
        raise
    return f"{coverage}, submission file {path}"


def _prediction(row: ScoredSample, letters: bool) -> str:
    value = row.answer.value if row.answer is not None else None
    if value is None or not letters:
        return value or ""
    return row.answers.selected.sample.choices[LETTERS.index(value)]


def _encoded(wanted: Submission, predictions: Mapping[str, str], places: Places) -> Iterator[bytes]:
    before, between, end = ("[\n", ",\n", "\n]\n") if wanted.format == "json" else ("", "\n", "\n")
    for id_, row in wanted.rows(places):
        if id_ not in predictions:
            raise FatalError(f"the row of {id_} was not asked: the data set changed while the run continued; run again")
        filled = {**row, **dict.fromkeys(wanted.keys, predictions[id_])}
        yield f"{before}{json.dumps(filled, ensure_ascii=False, allow_nan=False)}".encode()
        before = between
    yield end.encode()


def _check(path: Path, wanted: Submission, predictions: Mapping[str, str], places: Places) -> None:
    text = path.read_text(encoding="utf-8")
    written = json.loads(text) if wanted.format == "json" else [json.loads(line) for line in text.split("\n") if line]
    ids: set[str] = set()
    for number, (id_, row) in enumerate(wanted.rows(places)):
        expected = {**row, **dict.fromkeys(wanted.keys, predictions.get(id_))}
        if number >= len(written) or json.loads(json.dumps(expected)) != written[number]:
            raise FatalError(f"{path}: row {number} is not that of {id_} with its prediction; write the file again")
        ids.add(id_)
    if len(written) != len(predictions) or ids != predictions.keys():
        raise FatalError(f"{path} has {len(written)} rows of {len(ids)} samples, and {len(predictions)} were asked")
