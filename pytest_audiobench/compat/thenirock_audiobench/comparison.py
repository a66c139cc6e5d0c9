"""Run files of THENIROCK's audiobench made comparable: their answers scored again, and the caution that goes with them.

They hold no digest of any audio, so that two are never known to be of the same sounds.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from pytest_audiobench.compat.thenirock_audiobench.artifact import (
    HALLUCINATION,
    ROBUST,
    SOUND,
    SUITES,
    Artifact,
    stable_digest,
)
from pytest_audiobench.evaluation.comparable_eval import DIGITS, ComparableEval
from pytest_audiobench.evaluation.suites import pooled_hashes
from pytest_audiobench.records.run import RunRecord, RuntimeRecord
from pytest_audiobench.report import run_writer
from pytest_audiobench.report.comparable_runs import read_comparable_evals
from pytest_audiobench.report.run_writer import collect
from pytest_audiobench.rescoring.layouts import source_of
from pytest_audiobench.rescoring.rescore import ScoringOptions, rescore

_SCORERS: Mapping[str, tuple[str, ...]] = {
    ROBUST: ("lower-nopunct", "wer-basic", "whisper-en"),
    HALLUCINATION: ("non-speech-thenirock", "non-speech"),
    SOUND: ("ab-yesno", "heard"),
}
"""Its own scorer of its answers first, then ours of the same."""
_EVALS: Mapping[str, str] = {
    HALLUCINATION: "asr_hallucination/non_speech",
    f"{ROBUST}[noise-cafe-10db]": "asr_robust[cafe-10dB]",
    f"{ROBUST}[noise-pink-5db]": "asr_robust[pink-5dB]",
    f"{ROBUST}[bandlimited-8k]": "asr_robust[band-8k]",
    f"{ROBUST}[reverb-medium]": "asr_robust[reverb]",
}
"""What our evals of the same are called, where it is more than the suite's name."""


def comparable_evals(run: Artifact) -> dict[str, ComparableEval]:
    """The sides of ``run`` by the names of our evals. Raises UsageError for answers that cannot be scored again."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / run_writer.PARTS).mkdir()
        rescore(source_of(run.file), ScoringOptions(_SCORERS[run.suite]), folder / run_writer.PARTS)
        heading = RunRecord(
            run=run.file.stem,
            started="",
            finished="",
            command=(),
            exit_status=0,
            limit=None,
            epochs=1,
            models=(),
            runtime=RuntimeRecord("", "", "", {}),
            notes=[],
            hashes=pooled_hashes(()),
        )
        evals = read_comparable_evals(folder, collect(folder, heading), str(run.file), texts=False)
    heard = _named_sounds(run)
    return {_eval_name(name): _with_our_names(side, _eval_name(name), run, heard) for (name, _), side in evals.items()}


def _eval_name(eval_: str) -> str:
    suite, bracket, condition = eval_.partition("[")
    return _EVALS.get(eval_, f"{SUITES[suite]}{bracket}{condition}")


def _with_our_names(side: ComparableEval, eval_: str, run: Artifact, heard: Mapping[str, str]) -> ComparableEval:
    return replace(
        side,
        eval=eval_,
        suite=SUITES[run.suite],
        spec=f"{run.suite} {run.content['revision']}",
        # Of the hashes that scoring again makes only this one says something of what was asked.
        hashes={"data": side.hashes["data"]},
        # The digest of a mixture's recipe stands for its audio: where that differs the audio does.
        rows=[row._replace(audio=heard.get(row.sample_id.rpartition("/")[0])) for row in side.rows],
    )


def _named_sounds(run: Artifact) -> dict[str, str]:
    if run.suite != SOUND:
        return {}
    return {
        mixture["mixture_name"]: stable_digest([mixture["sources"], mixture.get("spec")])[:DIGITS]
        for mixture in run.answers
    }


def comparable_with_runs(side: ComparableEval, ours: ComparableEval) -> ComparableEval:
    """``side`` of an artifact as it can be compared with a side of ours: what it does not know is not a difference.

    The scorer that is our headline is its headline too, where its answers were read so.
    """
    hashes = {"settings": ours.hashes["settings"]} if "settings" in ours.hashes else {}
    # A mixture's name is its place in a draw: of two tools' draws it names two mixtures.
    tail = f" ({SOUND})" if side.suite == SUITES[SOUND] else ""
    rows = [row._replace(sample_id=row.sample_id + tail, audio=None, prompt=None) for row in side.rows]
    scorers = {name: side.scorers[name] for name in sorted(side.scorers, key=lambda name: name != ours.headline)}
    return replace(side, dataset=ours.dataset, hashes=hashes, rows=rows, scorers=scorers)


def asking_differences(first: Artifact, other: Artifact) -> Iterator[tuple[str, str, object, object]]:
    """The members in which that tool compares two sound runs before it compares them, and which of our components each
    belongs to: (component, member, first's, other's) where they differ.
    """
    if first.suite == other.suite == SOUND:
        for component, name in (
            ("prompts", "prompt_version"),
            ("protocols", "parser_version"),
            ("prompts", "prompt_ensemble"),
        ):
            values = first.content.get(name), other.content.get(name)
            if values[0] != values[1]:
                yield component, name, *values


def caution(names: Sequence[str]) -> str:
    """What must be known before any number of artifacts, which are ``names`` so."""
    holds = "holds" if len(names) == 1 else "hold"
    return (
        f"THE AUDIO IS NOT KNOWN TO BE THE SAME: {', '.join(names)} {holds} no digest of any audio, only names of "
        "clips, and equal names do not mean equal sounds"
    )
