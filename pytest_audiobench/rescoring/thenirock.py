"""The runs of the audiobench tool by THENIROCK (github.com/THENIROCK/audiobench): hypotheses by clip and condition."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError
from pytest_audiobench.models.messages import Response
from pytest_audiobench.rescoring.recorded import RecordedRow, clip_named

LAYOUT = "a run of THENIROCK's audiobench (per_clip_hypotheses)"


def fits(content: Mapping[str, Any]) -> bool:
    """Whether ``content`` is a run with transcripts. Its sound runs hold yes and no, and no transcripts."""
    return isinstance(content.get("per_clip_hypotheses"), list)


def read(file: Path, content: Mapping[str, Any]) -> Iterator[RecordedRow]:
    """The transcripts, an eval for each condition. Raises UsageError for a row of another layout."""
    suite, model = str(content.get("suite", file.stem)), str(content.get("model", "recorded"))
    clips = content["per_clip_hypotheses"]
    recorded = content.get("per_condition_wer")
    try:
        conditions = list(dict.fromkeys(condition for clip in clips for condition in clip["hypotheses"]))
        for condition in conditions:
            note = f"the file's own figure for {condition} is wer {recorded[condition]} %" if recorded else ""
            for clip in clips:
                text = clip["hypotheses"].get(condition)
                if not isinstance(clip["reference"], str) or not isinstance(text, str | None):
                    raise TypeError("references and hypotheses must be texts")
                yield RecordedRow(
                    sample=Sample(
                        id=str(clip["clip_id"]),
                        clips=(clip_named(str(clip["file"])),),
                        question="",
                        reference=clip["reference"],
                    ),
                    responses={} if text is None else {"answer": Response.of(text, "unknown")},
                    epoch=0,
                    error="the recorded run holds no hypothesis" if text is None else None,
                    eval=f"{suite}[{condition}]",
                    dataset=suite,
                    model=model,
                    family="transcription",
                    groups=(),
                    note=note,
                )
    except (KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"{file} is no run of THENIROCK's audiobench ({error!r})") from None
