"""The hashes of one item: what went in, what came out, how it was read. Each component is kept.

``input_hash`` is equal on any machine, Python, hash seed and number of workers; ``run_hash`` adds the
answers; ``score_hash`` adds the protocols and, where there are judges, who they are and what they said. No score,
float, path or time is ever hashed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.evaluation.answer_collection import SampleAnswers
from pytest_audiobench.evaluation.requests import messages_payload, settings_payload
from pytest_audiobench.evaluation.selection import SelectedSample, Selection
from pytest_audiobench.identity import digest, digest_of_trusted
from pytest_audiobench.models.messages import Response
from pytest_audiobench.protocols.protocol import WEIGHING, Protocol, Scorer, Stage

ABSENT = "absent"
"""Stands for the audio's hash where the audio of a replay is not on this machine, and for what nobody recorded."""
INPUTS = ("data", "audio", "prompts", "settings", "seeds", "model")
"""The components of ``input_hash``, beside the data set's name."""


def item_hashes(
    selection: Selection,
    protocol: Protocol,
    model: str,
    epochs: int,
    answers: Sequence[SampleAnswers],
    judges: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, str]:
    """All component hashes and the three built from them; ``answers`` epoch by epoch, ``judges``' digests by alias."""
    openings = [stage.name for stage in protocol.openings]
    components = {
        "data": digest_of_trusted([sample_payload(selected.sample) for selected in selection.samples]),
        "audio": _audio(selection.samples, any(stage.unchanged for stage in protocol.stages)),
        "prompts": digest_of_trusted(
            [
                [
                    sample.sample_id,
                    *(messages_payload(sample.messages[s]) if s in sample.messages else None for s in openings),
                ]
                for sample in answers
                if sample.epoch == 0
            ]
        ),
        "settings": settings_hash(protocol),
        "seeds": digest({"epochs": epochs}),
        "model": model,
    }
    judging = [stage for stage in protocol.stages if stage.role in WEIGHING]
    verdicts = _verdicts(judging, judges, answers) if judging else ""
    answers_hash = digest_of_trusted([answer_payload(sample) for sample in answers])
    return scored_hashes(selection.dataset.name, components, answers_hash, protocol.scorers, verdicts)


def settings_hash(protocol: Protocol) -> str:
    """The hash of how the subject is asked, beside what; and how, and of whom, what it is shown of rewriters."""
    return digest(
        [
            [
                *(stage.name, stage.role, stage.task, settings_payload(stage)),
                *([stage.rewriter_digest, stage.version] if stage.role == "rewriter" else []),
            ]
            for stage in protocol.stages
            if stage.role not in WEIGHING
        ]
    )


def scored_hashes(
    dataset: str, components: Mapping[str, str], answers: str, scorers: Sequence[Scorer], verdicts: str = ""
) -> dict[str, str]:
    """``components`` (see ``INPUTS``) with all that is built on them; ``verdicts`` hashes what judges said, if any."""
    hashes = {name: components[name] for name in INPUTS}
    hashes["input_hash"] = digest({"dataset": dataset, **hashes})
    hashes["answers"] = answers
    hashes["run_hash"] = digest({name: hashes[name] for name in ("input_hash", "answers")})
    hashes["protocols"] = digest([[scorer.name.partition("@")[0], scorer.signature] for scorer in scorers])
    scored = ["run_hash", "protocols"]
    if verdicts:
        hashes["verdicts"] = verdicts
        scored.append("verdicts")
    hashes["score_hash"] = digest({name: hashes[name] for name in scored})
    return hashes


def _verdicts(judging: Sequence[Stage], judges: Mapping[str, str], answers: Sequence[SampleAnswers]) -> str:
    return digest_of_trusted(
        [
            [
                stage.name.partition("@")[0],
                stage.role,
                settings_payload(stage),
                judges[stage.judge],
                [[sample.sample_id, sample.epoch, *_outputs(sample.verdicts.get(stage.name))] for sample in answers],
            ]
            for stage in judging
        ]
    )


def _outputs(response: Response | None) -> list[object]:
    if response is None or response.error is not None:
        return ["error"]
    return [[output.parts, output.finish] for output in response.outputs]


def sample_payload(sample: Sample) -> list[object]:
    """What the data's hash covers of a sample."""
    return [
        sample.id,
        sample.question,
        sample.choices,
        sample.reference,
        sorted([name, str(value)] for name, value in sample.metadata.items()),
        *([sample.references] if sample.references else []),
    ]


def _audio(samples: Sequence[SelectedSample], with_unchanged: bool) -> str:
    if all(selected.clip_keys is None for selected in samples):
        return ABSENT
    if not with_unchanged:
        return digest_of_trusted([selected.clip_keys for selected in samples])
    return digest_of_trusted(
        [audio_payload(selected.clip_keys, (selected.unchanged or selected).clip_keys) for selected in samples]
    )


def audio_payload(keys: Sequence[object] | None, unchanged: Sequence[object] | None) -> list[Sequence[object] | None]:
    """What the audio's hash covers of a sample that is also played as it was before a perturbation changed it."""
    return [keys, unchanged]


def answer_payload(sample: SampleAnswers) -> list[object]:
    """What the answers' hash covers of a sample in one epoch."""
    payload = [sample.sample_id, sample.epoch, None if sample.error is None else "error", _texts(sample.responses)]
    return [*payload, _texts(sample.rewritten)] if sample.rewritten else payload


def _texts(responses: Mapping[str, Response]) -> list[object]:
    return [
        [stage, [[output.parts, output.finish] for output in response.outputs]] for stage, response in responses.items()
    ]
