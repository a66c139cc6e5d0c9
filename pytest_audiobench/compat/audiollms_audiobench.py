"""The score files of AudioLLMs' AudioBench (github.com/AudioLLMs/AudioBench): a word error rate and its rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError
from pytest_audiobench.models.messages import Response
from pytest_audiobench.rescoring.recorded_answers import RecordedRow

LAYOUT = "AudioBench's score file (wer and sample_wer)"

_END = "_wer_score"
_NOTE = (
    "AudioBench wrote these texts after its own normalisation (case, punctuation, numbers and fillers are gone on both "
    "sides): protocols differ here only in what they do to normalised texts; the file's own figure is wer {wer}"
)


def fits(content: Mapping[str, Any]) -> bool:
    """Whether ``content`` is a score file with its rows."""
    return "wer" in content and isinstance(content.get("sample_wer"), list)


def read(file: Path, content: Mapping[str, Any]) -> Iterator[RecordedRow]:
    """The utterances of a score file, called by their place in it. Raises UsageError for a row of another layout."""
    dataset = file.stem.removesuffix(_END)
    note = _NOTE.format(wer=content["wer"])
    for number, row in enumerate(content["sample_wer"]):
        try:
            reference, prediction = row["reference"], row["prediction"]
        except (KeyError, TypeError):
            raise UsageError(f"{file}: row {number} of sample_wer has no reference and prediction") from None
        if not isinstance(reference, str) or not isinstance(prediction, str):
            raise UsageError(f"{file}: row {number} of sample_wer holds something other than texts")
        yield RecordedRow(
            sample=Sample(id=f"{number:06d}", clips=(), question="", reference=reference),
            responses={"answer": Response.of(prediction, "unknown")},
            eval=dataset,
            dataset=f"audiobench/{dataset}",
            model=file.resolve().parent.name,
            stored={"wer": row.get("wer")},
            family="transcription",
            groups=(),
            note=note,
        )
