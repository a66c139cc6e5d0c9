"""The lines of one item as they lie in predictions.jsonl, hashed again as they are: nothing is made valid or guessed.

The payloads are those of ``evaluation/hashes.py``, of rows instead of the run's objects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from pytest_audiobench.audio.clip_record import Recipe
from pytest_audiobench.datasets.spool import SeenIds, Spool
from pytest_audiobench.evaluation.hashes import ABSENT, audio_payload
from pytest_audiobench.evaluation.requests import request_context, request_key
from pytest_audiobench.identity import ListDigest, digest_of_trusted
from pytest_audiobench.protocols.protocol import WEIGHING, opening_stages
from pytest_audiobench.records.lines import PredictionRow
from pytest_audiobench.records.run import StageRecord


class Requests:
    """Recomputed keys of requests.

    ``stages`` are an item's by name, ``digests`` those of models by alias; ``choices`` gives what a row's stage lets a
    listener choose among. ``unperturbed`` is the data set's name without a perturbation.
    """

    def __init__(
        self,
        stages: Mapping[str, StageRecord],
        digests: Mapping[str, str],
        choices: Callable[[PredictionRow], Sequence[str]],
        unperturbed: str = "",
    ) -> None:
        self._stages, self._digests, self._choices = stages, digests, choices
        self._unperturbed = unperturbed
        self._contexts: dict[tuple[str, int], bytes] = {}

    def knows(self, stage: str) -> bool:
        return stage in self._stages and self._stages[stage].judge in self._digests

    def fits(self, row: PredictionRow, clip_keys: Sequence[str | None] | None) -> bool:
        """Whether a row's key is that of its prompt, clips, choices, settings and model."""
        of_subject = self._stages[row.stage].role == "subject"
        played = of_subject or any(isinstance(part, int) for _, parts in row.prompt or () for part in parts)
        stand_in = [self._unperturbed if row.unchanged else row.dataset, row.sample_id, row.stage]
        clips: list[object] = [] if clip_keys is None and played else [list(clip_keys or ()) if played else []]
        choices = self._choices(row) if of_subject else []
        # Repetitions of one question are judged as the first is where a study asks them at once.
        epochs = {row.epoch: None, **({} if of_subject else {0: None})}
        return any(
            request_key(self._context(row.stage, epoch), row.prompt, heard, choices) == row.key
            for epoch in epochs
            for heard in (*clips, stand_in)
        )

    def _context(self, name: str, epoch: int) -> bytes:
        if (context := self._contexts.get((name, epoch))) is None:
            stage = self._stages[name]
            context = request_context(self._digests[stage.judge], stage.task, stage.settings, epoch)
            self._contexts[name, epoch] = context
        return context


class RecordedClip(NamedTuple):
    """A clip's key as a sample has it, and the recipe that it is to be rebuilt from."""

    sample_id: str
    source: str
    key: str
    recipe: Recipe


class ItemLines:
    """The hashes, clips and verdicts that the lines of one item give.

    ``trouble`` names the first thing wrong with them, by part; ``verdicts`` are by judge's stage; ``clips`` are those
    whose keys are known, each once.
    """

    def __init__(self, dataset: str, requests: Requests, several_epochs: bool = True) -> None:
        """Of ``several_epochs`` the questions and clips of the first are kept, to hold the others to them."""
        self._dataset, self._requests, self._keeps_first = dataset, requests, several_epochs
        self._data, self._audio, self._prompts, self._answers = (ListDigest() for _ in range(4))
        self._heard = False
        self._first: dict[str, tuple[str, list[str | None], list[str | None]]] = {}
        self._ids: list[SeenIds] = []
        self._odd: dict[int, str] = {}
        """By epoch, a sample that the first one has not."""
        self._stages: tuple[tuple[str, str], ...] = ()
        self.verdicts: dict[str, list[object]] = {}
        self.clips = Spool[RecordedClip]()
        self._known_clips = SeenIds()
        self.trouble: dict[str, str] = {}
        self.requests = 0

    @property
    def epochs(self) -> int:
        return len(self._ids)

    @property
    def hashes(self) -> dict[str, str]:
        """The components that lines give."""
        return {
            "data": self._data.hexdigest(),
            "audio": self._audio.hexdigest() if self._heard else ABSENT,
            "prompts": self._prompts.hexdigest(),
            "answers": self._answers.hexdigest(),
        }

    def add(self, rows: Sequence[PredictionRow]) -> None:
        """Take in the rows of one sample in one epoch. Raises ValueError for what is not in a run's order."""
        first = next((row for row in rows if not row.unchanged), rows[0])
        before = next((row for row in rows if row.unchanged), None)
        sample_id, epoch = first.sample_id, first.epoch
        self._count(sample_id, epoch, rows)
        keys, known = _keys(first), _known(first)
        if epoch == 0:
            self._data.extend([_sample(first)])
            self._audio.extend([known if before is None else audio_payload(known, _known(before))])
            self._heard = self._heard or known is not None
            stages = opening_stages(row.stage for row in rows if row.role == "subject")
            self._prompts.extend([[sample_id, *(row.prompt for row in rows if row.stage in stages)]])
            for played in filter(None, (first, before)):
                self._take_clips(played)
        own = (_about(first), keys, keys if before is None else _keys(before))
        if self._keeps_first:
            own = self._first.setdefault(sample_id, own) if epoch == 0 else self._first.get(sample_id, ("", keys, keys))
        about, *heard = own
        for row in rows:
            where = f"{sample_id!r} (epoch {epoch}, stage {row.stage})"
            if _about(row) != about or row.dataset != self._dataset:
                self._note("data", f"{where} holds another question or truth than its first row")
            answered = {sound.digest for other in rows for sound in other.sounds}
            # Who weighs an answer may have been played that itself.
            spoken = row.role in WEIGHING and {*_keys(row)} <= {*heard[row.unchanged], *answered}
            if _keys(row) != heard[row.unchanged] and not spoken:
                self._note("audio", f"{where} holds another clip than its first row")
            if row.key is not None and row.prompt is not None and self._requests.knows(row.stage):
                self.requests += 1
                if not self._requests.fits(row, _known(row)):
                    self._note("requests", f"the key of {where} is not that of what was asked")
        subject_rows, rewritten = ([row for row in rows if row.role == role] for role in ("subject", "rewriter"))
        failed = any(row.error is not None for row in (*subject_rows, *rewritten))
        payload = [sample_id, epoch, "error" if failed else None, _texts(subject_rows)]
        texts = _texts(rewritten)
        self._answers.extend([[*payload, texts] if texts else payload])
        for row in rows:
            if row.role in WEIGHING:
                verdict = ["error"] if row.error is not None else _outputs(row)
                self.verdicts.setdefault(row.stage, []).append([sample_id, epoch, *verdict])

    def check(self, n: int, epochs: int) -> None:
        """Note where the samples are not as many as the record says, or not the same in each epoch."""
        samples = len(self._ids[0]) if self._ids else 0
        for epoch, ids in enumerate(self._ids):
            if epoch in self._odd or len(ids) != samples:
                odd = repr(self._odd[epoch]) if epoch in self._odd else f"one of {samples} samples"
                self._note("lines", f"{odd} is not in every epoch (epoch {epoch} has other samples than epoch 0)")
        if (samples, self.epochs) != (n, epochs):
            counts = f"{samples} samples in {self.epochs} epochs"
            self._note("lines", f"predictions.jsonl holds {counts}, and run.json says {n} in {epochs}")

    def _count(self, sample_id: str, epoch: int, rows: Sequence[PredictionRow]) -> None:
        if epoch > len(self._ids):
            raise ValueError(f"epoch {epoch} begins before the one before it")
        if epoch == len(self._ids):
            self._ids.append(SeenIds())
        stages = tuple((row.stage, row.role) for row in rows)
        if not self._ids[epoch].add(sample_id) or len(dict(stages)) < len(stages):
            self._note("lines", f"predictions.jsonl holds {sample_id!r} twice in epoch {epoch}")
        if epoch and sample_id not in self._ids[0]:
            self._odd.setdefault(epoch, sample_id)
        self._stages = self._stages or stages
        if stages != self._stages:
            self._note("lines", f"predictions.jsonl has not the same stages for {sample_id!r} as for the first sample")

    def _take_clips(self, row: PredictionRow) -> None:
        recipes = row.recipes or [None] * len(row.audio)
        for clip, recipe in zip(row.audio, recipes, strict=True):
            if clip.key is not None:
                content = clip.source if recipe is None else recipe
                if self._known_clips.add((clip.key, content if recipe is None else digest_of_trusted(content))):
                    self.clips.append(RecordedClip(row.sample_id, clip.source, clip.key, content))

    def _note(self, part: str, detail: str) -> None:
        self.trouble.setdefault(part, detail)


def _about(row: PredictionRow) -> str:
    """Tells a question with its truth from others: as a hash, which knows 1 from 1.0 and from true."""
    about = [row.dataset, row.question, row.choices, row.reference, row.references, row.metadata]
    return digest_of_trusted(about)


def _keys(row: PredictionRow) -> list[str | None]:
    return [clip.key for clip in row.audio]


def _known(row: PredictionRow) -> list[str | None] | None:
    keys = _keys(row)
    return None if None in keys else keys


def _sample(row: PredictionRow) -> list[object]:
    return [
        row.sample_id,
        row.question,
        row.choices,
        row.reference,
        sorted([name, str(value)] for name, value in row.metadata.items()),
        *([row.references] if row.references else []),
    ]


def _texts(rows: Sequence[PredictionRow]) -> list[object]:
    return [[row.stage, list(_outputs(row))] for row in rows if row.error is None]


def _outputs(row: PredictionRow) -> Iterator[list[object]]:
    for output in row.outputs:
        if (parts := output.parts) is None:
            parts = [("text", output.text)]
        elif output.text != "".join(value for kind, value in parts if kind == "text"):
            raise ValueError(f"the text of an output of {row.sample_id!r} is not that of its parts")
        yield [parts, output.finish]
