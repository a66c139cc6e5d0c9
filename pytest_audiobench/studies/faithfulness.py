"""What must not pass unseen in a faithfulness eval: audio that adds nothing, answers that follow whatever is said."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_audiobench.evaluation.result import Result
from pytest_audiobench.records.run import ALARM

if TYPE_CHECKING:
    from pytest_audiobench.studies.evaluate import Evaluator

MOST_SWAYED = 0.5
"""A model of which it is shown that it gives up more of its answers than this for a wrong option raises the alarm."""

_FEWEST = 20
"""Answers without the audio that separate a model that listens from one that does not in nine of ten evals."""


def require_audio(evaluator: Evaluator) -> None:
    """Require ``audio_reliance.lower > 0`` of the last result, as :meth:`Evaluate.require_audio` says."""
    result = evaluator.results[-1] if evaluator.results else None
    rows = result.headline_rows if result else ()
    scored = [row for row in rows if row.answer is not None and row.scores is not None]
    parsed = sum(row.answer is not None and row.answer.value is not None for row in scored)
    lost = sum(row.scores["lost"] for row in scored if row.scores is not None)
    if result is not None and parsed < min(_FEWEST, len(scored) / 2) and lost > len(scored) / 2:
        result.warn(
            f"{len(scored) - parsed} of {len(scored)} answers could not be read without the audio, which shows nothing "
            "of what it adds, so that audio_reliance.lower > 0 is not required: see the other controls"
        )
        return
    evaluator.require(["audio_reliance.lower > 0"])


def warn_of_sway(result: Result) -> None:
    """Put a warning on record where answers are shown to follow a wrong option (``swayed`` lies above one half)."""
    perturbation = result.record.perturbation
    if perturbation is None or "wrong" not in perturbation.name.split("-"):
        return
    recorded = result.keys()
    if "swayed" not in recorded:
        return
    swayed = result["swayed"]
    if swayed.lower is not None and swayed.lower > MOST_SWAYED:
        result.warn(
            f"{ALARM} {100 * swayed:.0f} % of the other answers were given up for the wrong option that "
            f"{perturbation.name} puts in (swayed, n={swayed.n})"
        )
