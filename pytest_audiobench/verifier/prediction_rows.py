"""The lines of one item as they lie in predictions.jsonl, hashed again as they are: nothing is made valid or guessed.

The payloads are those of ``evaluation/hashes.py``, of plain JSON values instead of the run's objects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from pytest_audiobench.audio.clip_record import Recipe
from pytest_audiobench.evaluation.hashes import ABSENT, audio_payload
from pytest_audiobench.evaluation.requests import request_context, request_key
from pytest_audiobench.identity import ListDigest, digest_of_trusted
from pytest_audiobench.protocols.protocol import WEIGHING, opening_stages

Row: TypeAlias = Mapping[str, Any]
Json: TypeAlias = Mapping[str, Any]

_ABOUT = ("dataset", "question", "choices", "reference", "references", "metadata")


class Requests:
    """Recomputed keys of requests.

    ``stages`` are an item's by name, ``digests`` those of models by alias; ``choices`` gives what a row's stage lets a
    listener choose among. ``unperturbed`` is the data set's name without a perturbation.
    """

    def __init__(
        self,
        stages: Mapping[str, Json],
        digests: Mapping[str, str],
        choices: Callable[[Row], Sequence[str]],
        unperturbed: str = "",
    ) -> None:
        self._stages, self._digests, self._choices = stages, digests, choices
        self._unperturbed = unperturbed
        self._contexts: dict[tuple[str, int], bytes] = {}

    def knows(self, stage: str) -> bool:
        return stage in self._stages and self._stages[stage]["judge"] in self._digests

    def fits(self, row: Row, clip_keys: Sequence[str | None] | None) -> bool:
        """Whether a row's key is that of its prompt, clips, choices, settings and model."""
        stage = self._stages[row["stage"]]
        of_subject = stage["role"] == "subject"
        played = of_subject or any(type(part) is int for _, parts in row["prompt"] for part in parts)
        dataset = self._unperturbed if row.get("unchanged") else row["dataset"]
        stand_in = [dataset, row["sample_id"], row["stage"]]
        clips: list[object] = [] if clip_keys is None and played else [list(clip_keys or ()) if played else []]
        choices = self._choices(row) if of_subject else []
        # Repetitions of one question are judged as the first is where a study asks them at once.
        epochs = {row["epoch"]: None, **({} if of_subject else {0: None})}
        return any(
            request_key(self._context(row["stage"], epoch), row["prompt"], heard, choices) == row["key"]
            for epoch in epochs
            for heard in (*clips, stand_in)
        )

    def _context(self, name: str, epoch: int) -> bytes:
        context = self._contexts.get((name, epoch))
        if context is None:
            stage = self._stages[name]
            model = self._digests[stage["judge"]]
            context = request_context(model, stage["task"], stage["settings"], epoch)
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

    def __init__(self, dataset: str, requests: Requests) -> None:
        self._dataset, self._requests = dataset, requests
        self._data, self._audio, self._prompts, self._answers = (ListDigest() for _ in range(4))
        self._heard = False
        self._first: dict[str, tuple[str, list[str | None], list[str | None]]] = {}
        self._ids: list[set[str]] = []
        self._stages: tuple[tuple[str, str], ...] = ()
        self.verdicts: dict[str, list[object]] = {}
        self.clips: dict[tuple[str, str], RecordedClip] = {}
        self.trouble: dict[str, str] = {}
        self.requests = 0

    @property
    def epochs(self) -> int:
        return len(self._ids)

    @property
    def samples(self) -> set[str]:
        return self._ids[0] if self._ids else set()

    @property
    def hashes(self) -> dict[str, str]:
        """The components that lines tell."""
        return {
            "data": self._data.hexdigest(),
            "audio": self._audio.hexdigest() if self._heard else ABSENT,
            "prompts": self._prompts.hexdigest(),
            "answers": self._answers.hexdigest(),
        }

    def add(self, rows: Sequence[Row]) -> None:
        """Take in the rows of one sample in one epoch.

        Raises KeyError, TypeError, ValueError or AttributeError for what is no row of a run.
        """
        first = next((row for row in rows if not row.get("unchanged")), rows[0])
        before = next((row for row in rows if row.get("unchanged")), None)
        sample_id, epoch = first["sample_id"], first["epoch"]
        self._count(sample_id, epoch, rows)
        keys, known = _keys(first), _known(first)
        if epoch == 0:
            self._data.extend([_sample(first)])
            self._audio.extend([known if before is None else audio_payload(known, _known(before))])
            self._heard = self._heard or known is not None
            stages = opening_stages(row["stage"] for row in rows if "role" not in row)
            self._prompts.extend([[sample_id, *(row["prompt"] for row in rows if row["stage"] in stages)]])
            for played in filter(None, (first, before)):
                self._take_clips(played)
            unchanged = keys if before is None else _keys(before)
            self._first[sample_id] = (digest_of_trusted([first[name] for name in _ABOUT]), keys, unchanged)
        about, *heard = self._first.get(sample_id, ("", keys, keys))
        for row in rows:
            where = f"{sample_id!r} (epoch {epoch}, stage {row['stage']})"
            if digest_of_trusted([row[name] for name in _ABOUT]) != about or row["dataset"] != self._dataset:
                self._note("data", f"{where} holds another question or truth than its first row")
            if _keys(row) != heard[bool(row.get("unchanged"))]:
                self._note("audio", f"{where} holds another clip than its first row")
            if row["key"] is not None and row["prompt"] is not None and self._requests.knows(row["stage"]):
                self.requests += 1
                if not self._requests.fits(row, _known(row)):
                    self._note("requests", f"the key of {where} is not that of what was asked")
        self._answers.extend([_answer(sample_id, epoch, rows)])
        for row in rows:
            if row.get("role") in WEIGHING:
                self.verdicts.setdefault(row["stage"], []).append([sample_id, epoch, *_verdict(row)])

    def check(self, n: object, epochs: object) -> None:
        """Note where the samples are not as many as the record says, or not the same in each epoch."""
        for epoch, ids in enumerate(self._ids):
            if ids != self.samples:
                odd = sorted(ids ^ self.samples)[0]
                self._note("lines", f"{odd!r} is not in every epoch (epoch {epoch} has other samples than epoch 0)")
        if (len(self.samples), self.epochs) != (n, epochs):
            counts = f"{len(self.samples)} samples in {self.epochs} epochs"
            self._note("lines", f"predictions.jsonl holds {counts}, and run.json says {n} in {epochs}")

    def _count(self, sample_id: str, epoch: int, rows: Sequence[Row]) -> None:
        if type(epoch) is not int or not 0 <= epoch <= len(self._ids):
            raise ValueError(f"epoch {epoch!r} begins before the one before it")
        if epoch == len(self._ids):
            self._ids.append(set())
        stages = tuple((row["stage"], row.get("role", "subject")) for row in rows)
        if sample_id in self._ids[epoch] or len(dict(stages)) < len(stages):
            self._note("lines", f"predictions.jsonl holds {sample_id!r} twice in epoch {epoch}")
        self._ids[epoch].add(sample_id)
        self._stages = self._stages or stages
        if stages != self._stages:
            self._note("lines", f"predictions.jsonl has not the same stages for {sample_id!r} as for the first sample")

    def _take_clips(self, row: Row) -> None:
        recipes = row.get("recipes") or [None] * len(row["audio"])
        for clip, recipe in zip(row["audio"], recipes, strict=True):
            if clip["key"] is not None:
                content = clip["source"] if recipe is None else recipe
                recorded = RecordedClip(row["sample_id"], clip["source"], clip["key"], content)
                self.clips.setdefault((clip["key"], digest_of_trusted(content)), recorded)

    def _note(self, part: str, detail: str) -> None:
        self.trouble.setdefault(part, detail)


def _keys(row: Row) -> list[str | None]:
    return [clip["key"] for clip in row["audio"]]


def _known(row: Row) -> list[str | None] | None:
    keys = _keys(row)
    return None if None in keys else keys


def _sample(row: Row) -> list[object]:
    return [
        row["sample_id"],
        row["question"],
        row["choices"],
        row["reference"],
        sorted([name, str(value)] for name, value in row["metadata"].items()),
        *([row["references"]] if row["references"] else []),
    ]


def _answer(sample_id: str, epoch: int, rows: Sequence[Row]) -> list[object]:
    subject_rows, rewritten = ([row for row in rows if row.get("role") == role] for role in (None, "rewriter"))
    failed = any(row["error"] is not None for row in (*subject_rows, *rewritten))
    payload = [sample_id, epoch, "error" if failed else None, _texts(subject_rows)]
    texts = _texts(rewritten)
    return [*payload, texts] if texts else payload


def _texts(rows: Sequence[Row]) -> list[object]:
    return [[row["stage"], list(_outputs(row))] for row in rows if row["error"] is None]


def _verdict(row: Row) -> list[object]:
    return ["error"] if row["error"] is not None else list(_outputs(row))


def _outputs(row: Row) -> Iterator[list[object]]:
    for output in row["outputs"]:
        parts = output.get("parts")
        if parts is None:
            parts = [["text", output["text"]]]
        elif output["text"] != "".join(value for kind, value in parts if kind == "text"):
            raise ValueError(f"the text of an output of {row['sample_id']!r} is not that of its parts")
        yield [parts, output["finish"]]
