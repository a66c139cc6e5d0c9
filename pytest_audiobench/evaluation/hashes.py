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
from pytest_audiobench.evaluation.selection import SelectedSample
from pytest_audiobench.identity import ListDigest, digest, digest_of_trusted
from pytest_audiobench.models.messages import Response
from pytest_audiobench.protocols.protocol import WEIGHING, Protocol, Scorer

ABSENT = "absent"
"""Stands for the audio's hash where the audio of a replay is not on this machine, and for what was not recorded."""
INPUTS = ("data", "audio", "prompts", "settings", "seeds", "model")
"""The components of ``input_hash``, in addition to the data set's name."""


class ItemDigest:
    """All component hashes and the three built from them, of answers as they come, epoch by epoch in hash order."""

    def __init__(self, protocol: Protocol) -> None:
        self._protocol = protocol
        self._openings = [stage.name for stage in protocol.openings]
        self._with_unchanged = any(stage.unchanged for stage in protocol.stages)
        self._data, self._audio, self._prompts, self._answers = (ListDigest() for _ in range(4))
        self._heard = False
        self._verdicts: dict[str, list[object]] = {
            stage.name: [] for stage in protocol.stages if stage.role in WEIGHING
        }

    def add(self, answers: Sequence[SampleAnswers]) -> None:
        first = [sample for sample in answers if sample.epoch == 0]
        self._data.extend([sample_payload(sample.selected.sample) for sample in first])
        self._heard = self._heard or any(sample.selected.clip_keys is not None for sample in first)
        self._audio.extend([self._audio_payload(sample.selected) for sample in first])
        self._prompts.extend([self._prompt_payload(sample) for sample in first])
        self._answers.extend([answer_payload(sample) for sample in answers])
        for stage, said in self._verdicts.items():
            said += ([sample.sample_id, sample.epoch, *_outputs(sample.verdicts.get(stage))] for sample in answers)

    def _audio_payload(self, selected: SelectedSample) -> object:
        if not self._with_unchanged:
            return selected.clip_keys
        return audio_payload(selected.clip_keys, (selected.unchanged or selected).clip_keys)

    def _prompt_payload(self, sample: SampleAnswers) -> list[object]:
        messages = sample.messages
        return [sample.sample_id, *(messages_payload(messages[s]) if s in messages else None for s in self._openings)]

    def hashes(
        self, dataset: str, model: str, epochs: int, judges: Mapping[str, str] = MappingProxyType({})
    ) -> dict[str, str]:
        """Those of the answers so far; ``model`` is a digest, as those of ``judges`` by alias."""
        components = {
            "data": self._data.hexdigest(),
            "audio": self._audio.hexdigest() if self._heard else ABSENT,
            "prompts": self._prompts.hexdigest(),
            "settings": settings_hash(self._protocol),
            "seeds": digest({"epochs": epochs}),
            "model": model,
        }
        verdicts = ""
        if self._verdicts:
            verdicts = digest_of_trusted(
                [
                    [
                        *(stage.name.partition("@")[0], stage.role, settings_payload(stage), judges[stage.judge]),
                        self._verdicts[stage.name],
                    ]
                    for stage in self._protocol.stages
                    if stage.name in self._verdicts
                ]
            )
        return scored_hashes(dataset, components, self._answers.hexdigest(), self._protocol.scorers, verdicts)


def settings_hash(protocol: Protocol) -> str:
    """The hash of how the subject is asked, and of the rewriters' identity and prompts."""
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
