"""The answers of a run file read for scoring: transcripts by clip and condition, or yes and no by mixture and sound."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pytest_audiobench.compat.thenirock_audiobench.artifact import HALLUCINATION, SOUND, Artifact, Json, artifact
from pytest_audiobench.compat.thenirock_audiobench.artifact import fits as is_artifact
from pytest_audiobench.compat.thenirock_audiobench.figures import raw_answers, recorded_figure
from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError
from pytest_audiobench.models.messages import AudioSlot, Message, Response
from pytest_audiobench.protocols.prompt_sets import YESNO
from pytest_audiobench.protocols.prompt_variants import WORDING_SET, WORDINGS
from pytest_audiobench.protocols.protocol import at_wording
from pytest_audiobench.rescoring.recorded_answers import RecordedRow, clip_named

LAYOUT = "a run of THENIROCK's audiobench (per_clip_hypotheses, per_clip_results or per_mixture)"

_STAGE = "answer"
_NON_SPEECH = {
    "non_speech_hallucination_rate": "hallucination_rate",
    "non_speech_mean_inserted_tokens": "inserted_tokens",
    "non_speech_empty_rate": "silent_rate",
}
_PRESENCE = {name: name for name in ("recall", "precision", "f1", "fpr", "components_understood")}
"""The metrics that some of a file's figures are."""


def fits(content: Mapping[str, Any]) -> bool:
    """Whether ``content`` is a run with transcripts or probes."""
    return is_artifact(content) or isinstance(content.get("per_clip_hypotheses"), list)


def read(file: Path, content: Mapping[str, Any]) -> Iterator[RecordedRow]:
    """The answers, an eval for each condition; those of clips without speech are one eval.

    Raises UsageError for a row of another layout.
    """
    if is_artifact(content) and content["suite"] in (HALLUCINATION, SOUND):
        run = artifact(file, content)
        yield from _probes(run) if run.suite == SOUND else _results(run)
    else:
        yield from _transcripts(file, content)


def _transcripts(file: Path, content: Mapping[str, Any]) -> Iterator[RecordedRow]:
    suite, model = str(content.get("suite", file.stem)), str(content.get("model", "recorded"))
    clips = content["per_clip_hypotheses"]
    recorded = content.get("per_condition_wer")
    try:
        for condition in list(dict.fromkeys(condition for clip in clips for condition in clip["hypotheses"])):
            figures = {"wer": recorded[condition] / 100} if recorded else {}
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
                    responses={} if text is None else {_STAGE: Response.of(text, "unknown")},
                    error="the recorded run holds no hypothesis" if text is None else None,
                    eval=f"{suite}[{condition}]",
                    dataset=suite,
                    model=model,
                    family="transcription",
                    groups=(),
                    figures=figures,
                )
    except (KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"{file} is not a run of THENIROCK's audiobench ({error!r})") from None


def _results(run: Artifact) -> Iterator[RecordedRow]:
    """The transcripts of clips without speech."""
    figures = _named(run.content.get("headline"), _NON_SPEECH)
    for answer in run.answers:
        failed = answer["result"].get("error")
        yield RecordedRow(
            sample=Sample(
                id=str(answer["clip_id"]),
                clips=(clip_named(str(answer["clip_id"])),),
                question="",
                reference=answer["reference"],
                metadata={"domain": answer["metadata"]["domain"]},
            ),
            responses={} if failed is not None else {_STAGE: Response.of(answer["result"]["transcript"], "unknown")},
            error=None if failed is None else str(failed),
            eval=run.suite,
            dataset=run.suite,
            model=run.model,
            family="hallucination",
            groups=("domain",),
            figures=figures,
        )


def _probes(run: Artifact) -> Iterator[RecordedRow]:
    """The probes, an eval for each number of sounds; a mixture's are one cluster."""
    options = _wordings(run)
    packs = list(run.content.get("packs") or ())
    for condition in dict.fromkeys(mixture["condition"] for mixture in run.answers):
        # Of several packs its figures are of each, and an eval is of all.
        place = ("pack_summaries", str(packs[0]), "per_condition", condition) if len(packs) == 1 else ()
        figures = _named(recorded_figure(run, place), _PRESENCE) if place else {}
        for mixture, probe in run.probes():
            if mixture["condition"] == condition:
                responses = [Response.of(text, "unknown") for text in raw_answers(probe)]
                stages = [at_wording(_STAGE, number) for number in range(1, len(responses) + 1)]
                prompts = [part["prompt"] for part in probe.get("paraphrase_answers", [])] or [probe["prompt"]]
                yield RecordedRow(
                    sample=_probe(mixture, probe),
                    responses=dict(zip(stages, responses, strict=True)),
                    eval=f"{run.suite}[{condition}]",
                    dataset=run.suite,
                    model=run.model,
                    roles=dict.fromkeys(stages, "subject"),
                    family="presence",
                    options=options,
                    groups=("pack", "condition", "label"),
                    cluster="mixture",
                    figures=figures,
                    messages={
                        stage: (Message("user", (AudioSlot(0), text)),)
                        for stage, text in zip(stages, prompts, strict=True)
                    },
                )


def _named(figures: Any, names: Mapping[str, str]) -> dict[str, Any]:
    """Those of a file's figures that have a name here, by that."""
    return (
        {ours: figures[name] for name, ours in names.items() if name in figures} if isinstance(figures, Mapping) else {}
    )


def _probe(mixture: Json, probe: Json) -> Sample:
    name = mixture["mixture_name"]
    return Sample(
        id=f"{name}/{probe['label']}",
        clips=(clip_named(name),),
        question="",
        reference="yes" if probe["expected"] else "no",
        metadata={
            "label": probe["label"],
            "pack": mixture["pack"],
            "condition": mixture["condition"],
            "mixture": name,
            "sources": len(mixture["components_present"]),
        },
    )


def _wordings(run: Artifact) -> Mapping[str, Any]:
    """The options of a protocol in the run's wordings; none for a run that asked in one, the first of the bundled."""
    counts = {len(raw_answers(probe)) for _, probe in run.probes()}
    if len(counts) > 1:
        raise UsageError(f"{run.file}: its probes were asked in {sorted(counts)} wordings: it was edited")
    if (count := next(iter(counts), 1)) == 1:
        return {}
    config = run.content["config"]
    used = config.get("prompt_paraphrases_used")
    known = isinstance(used, list) and len(used) == count and all(isinstance(wording, str) for wording in used)
    texts = used if known else list(YESNO.paraphrases[:count])
    return {WORDINGS: texts, WORDING_SET: str(config.get("prompt_version", YESNO.version))}
