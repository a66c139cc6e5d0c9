"""Answers that a study published: a folder of ``baseline_animal_REAS.jsonl`` and the like, beside its manifests.

The layout of github.com/lovenya/Measuring-Faithfulness-of-CoT-Reasoning-LALMs: rows of id and
``raw_model_outputs`` (one text a run) or ``raw_conditioned_output`` (one text). A file's name, without
"baseline", "test" and the data set, says which *variant* of the answers it holds: ``reas``, ``no_reas``,
``reas_condition``, ``mask_p20_reas``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pytest_audiobench.errors import UsageError
from pytest_audiobench.identity import digest
from pytest_audiobench.models.messages import Request, Response
from pytest_audiobench.models.replay.join import Join
from pytest_audiobench.models.replay.recorded import records, sha256_of

FRIENDLY = {"with-reasoning": "reas", "without-reasoning": "no_reas", "conditioned": "reas_condition"}
"""Names that a user may choose variants by, beside the variants' own."""

CRASHES = ("error", "unanswered")

FIELDS = ("raw_model_outputs", "raw_conditioned_output")

_COMMON = frozenset({"baseline", "test"})
CRASH = "CRASH:"
"""How an answer begins that the study's run did not get."""


class _Recorded(NamedTuple):
    """What one row holds: a text for each epoch, None where the study's run left none."""

    texts: Sequence[str | None]
    place: str


class StudyAnswers:
    """One variant of a study's answers, joined to requests by content. A request's stage plays no part.

    ``answers`` names the variant; it is needed only where an id has several. A row that says "CRASH: …"
    is an error of its sample, or with ``crashes="unanswered"`` an empty answer, as the study counts it.
    Raises UsageError for a variant that is not there or was not chosen, and for files of another layout.
    """

    def __init__(self, files: Sequence[Path], join: Join, answers: str | None, crashes: str = "error") -> None:
        variants: dict[str, list[Path]] = {}
        for file in files:
            variants.setdefault(variant_of(file, join.datasets), []).append(file)
        self._join, self._crashes = join, crashes
        self._place = files[0].parent.name
        chosen = sorted(variants) if answers is None else [_named(answers, variants)]
        self._rows: dict[str, _Recorded] = {}
        for variant in chosen:
            self._add(_read(variants[variant]), variants)
        used = sorted(file for variant in chosen for file in variants[variant])
        self.fingerprint: Mapping[str, str] = {
            "adapter": "replay/1",
            "layout": "study",
            "answers": digest([[file.name, sha256_of(file)] for file in used]),
            "variant": ",".join(chosen),
            "manifests": join.digest,
            "crashes": crashes,
        }

    def response(self, request: Request) -> Response:
        missing = f"no recorded answer for {request.sample_id} in {self._place}"
        recorded_id = self._join.recorded_id(request)
        if recorded_id is None:
            return Response(error=f"{missing}: its manifests hold no such audio, options and question")
        row = self._rows.get(recorded_id)
        if row is None:
            return Response(error=f"{missing} (there it is {recorded_id})")
        if request.epoch >= len(row.texts):
            return Response(error=f"{missing} ({row.place}) in epoch {request.epoch}: it holds {len(row.texts)}")
        text = row.texts[request.epoch]
        if text is None or text.startswith(CRASH):
            if self._crashes == "unanswered":
                return Response.of("", "unknown")
            return Response(error=f"{missing} ({row.place}): the recorded run crashed there ({(text or 'null')[:200]})")
        return Response.of(text, "unknown")

    def _add(self, rows: Mapping[str, _Recorded], variants: Mapping[str, Sequence[Path]]) -> None:
        if self._rows.keys() & rows.keys():
            raise UsageError(
                f"{self._place} holds several answers to one question; choose with answers=…: {_listed(variants)}"
            )
        self._rows.update(rows)


def variant_of(file: Path, datasets: frozenset[str]) -> str:
    """The variant that a file's name says: ``baseline_animal_No_REAS.jsonl`` holds ``no_reas``."""
    words = file.stem.lower().split("_")
    return "_".join(word for word in words if word not in _COMMON and word not in datasets) or "baseline"


def _named(answers: str, variants: Mapping[str, Sequence[Path]]) -> str:
    variant = FRIENDLY.get(answers.lower(), answers.lower())
    if variant not in variants:
        place = next(iter(variants.values()))[0].parent
        raise UsageError(f"{place} holds no answers {answers!r}; answers=… may be {_listed(variants)}")
    return variant


def _listed(variants: Mapping[str, Sequence[Path]]) -> str:
    friendly = {variant: name for name, variant in FRIENDLY.items()}
    counted = {variant: len(_read(files)) for variant, files in sorted(variants.items())}
    return ", ".join(
        f"{variant}{f' or {friendly[variant]}' if variant in friendly else ''} ({count} answers)"
        for variant, count in counted.items()
    )


def _read(files: Sequence[Path]) -> dict[str, _Recorded]:
    rows: dict[str, _Recorded] = {}
    for file in files:
        for line, row in records(file):
            recorded_id, place = row.get("id"), f"{file.name}, line {line}"
            if not isinstance(recorded_id, str):
                raise UsageError(f"{file}, line {line} has no id: it is no row of recorded answers")
            if recorded_id in rows:
                raise UsageError(
                    f"{recorded_id!r} is answered twice: in {rows[recorded_id].place} and in {file.parent / place}"
                )
            rows[recorded_id] = _Recorded(texts_of(file, line, row), place)
    return rows


def texts_of(file: Path, line: int, row: Mapping[str, Any]) -> Sequence[str | None]:
    """The texts that a row of answers holds, one for each epoch. Raises UsageError for another layout."""
    field = next((field for field in FIELDS if field in row), None)
    if field is None:
        raise UsageError(f"{file}, line {line} has neither {' nor '.join(FIELDS)}: it is no row of recorded answers")
    written = row[field]
    texts = written if isinstance(written, list) else [written]
    if not all(text is None or isinstance(text, str) for text in texts):
        raise UsageError(f"{file}, line {line} holds something other than texts in {field}")
    return texts
