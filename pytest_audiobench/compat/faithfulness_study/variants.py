"""The variants of the study's recorded answers: which one a request asks for, and which a file holds.

A *variant* is named by what was done to the clips and by how it was asked: ``reas``, ``no_reas``, ``reas_condition``
(the model's own reasoning put back), ``mask_p20_reas``, ``noise_snr-10_reas``, ``adv_correct_reas``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from pytest_audiobench.audio.clip import Clip, CombinedSource
from pytest_audiobench.compat.faithfulness_study.manifest import lettered
from pytest_audiobench.compat.faithfulness_study.question_join import StudyQuestion, all_text, file_of, spaced
from pytest_audiobench.errors import UnsuitableModel
from pytest_audiobench.models.messages import Request

FRIENDLY = {"with-reasoning": "reas", "without-reasoning": "no_reas", "conditioned": "reas_condition"}
"""Names that a user may choose variants by, in addition to the variants' own."""

_COMMON = frozenset({"baseline", "test", "post", "process", "proces", "fixed"})
"""Words of names that say nothing of what was asked: "post_process" files hold the same texts with other labels."""
_DONE = re.compile(r"mask[a-z-]*|noise|adv|p\d+|snr-?\d+|correct|wrong")
"""Folders that say what was done to the clips."""
_REASONING = re.compile(r"\breason|\bthink|step by step", re.I)
TREE = re.compile(r"\A[^/]+/(?:(mask)/(p\d+)|(noise)_snr/(snr-?\d+))/")
"""How the path of a clip begins that lies in one of the study's trees."""
_ANSWERING = ("answer", "clean")


def folder_of(file: Path, datasets: frozenset[str]) -> Path:
    """The folder of all of a model's answers that a file lies in, by the names of the folders below it."""
    folder = file.resolve().parent
    while folder.name.lower() in datasets or _DONE.fullmatch(folder.name.lower()):
        folder = folder.parent
    return folder


def variant_of(file: Path, folder: Path, datasets: frozenset[str]) -> str:
    """The variant that the path of a file below ``folder`` says.

    ``baseline_animal_No_REAS.jsonl`` holds ``no_reas``, and so do ``animal/mask/p20/baseline_animal_REAS.jsonl`` and
    ``mask_p20_animal_REAS.jsonl`` both ``mask_p20_reas``.
    """
    parts = [*file.relative_to(folder).parent.parts, file.stem]
    words = [word for part in parts for word in part.lower().split("_") if word]
    telling = [word for word in words if word not in _COMMON and word not in datasets]
    if "conditioned" in telling:
        telling = [*(word for word in telling if word not in ("conditioned", "condition", "reas")), "reas", "condition"]
    return "_".join(telling) or "baseline"


def requested_variant(request: Request, question: StudyQuestion) -> str:
    """The variant that answers ``request``.

    Its clip says what was done to it: masked, or under white noise, by our own edits or in the study's trees; silence
    is a mask of 100 %. The stages "answer" and "clean" are answers with or without reasoning, as the words around the
    question say; "conditioned" is the model's own reasoning put back. Raises UnsuitableModel for anything else: which
    option was injected into a clip, for one, is in no file of the study.
    """
    if (changed := change_of(request)) is None:
        raise UnsuitableModel(f"the study recorded no answers to a clip that is {_change_text(request.clips[0])}")
    if request.stage == "conditioned":
        how = "reas_condition"
    elif is_answer(request):
        how = "reas" if asks_for_reasoning(all_text(request.messages), question.words, request.choices) else "no_reas"
    else:
        raise UnsuitableModel(f"the study recorded no answers of a stage {request.stage!r} ({request.dataset})")
    return f"{changed}_{how}" if changed else how


def is_answer(request: Request) -> bool:
    """Whether an answer to the question itself is requested, and not one that follows from earlier answers."""
    return request.stage in _ANSWERING


def asks_for_reasoning(said: str, question: str, choices: Sequence[str]) -> bool:
    """Whether the words of a prompt around its question and options ask to reason, or to think, before the answer."""
    around = spaced(said).replace(spaced(question), " ").replace(spaced(lettered(choices)), " ")
    return _REASONING.search(around) is not None


def change_of(request: Request) -> str | None:
    """What was done to a request's one clip, as variants call it; "" for nothing, None for what the study never did."""
    clip = request.clips[0]
    if (isinstance(clip.source, CombinedSource) and clip.source.rule != "alone") or len(clip.edits) > 1:
        return None
    if not clip.edits:
        source = file_of(clip)
        tree = TREE.search(source.path) if source else None
        return "_".join(filter(None, tree.groups())) if tree else ""
    edit, parameters = clip.edits[0], dict(clip.edits[0].parameters)
    if edit.name == "mask":
        how = [parameters[key] for key, usual in (("mode", "random"), ("fill", "silence")) if parameters[key] != usual]
        return f"{'-'.join(['mask', *how])}_p{float(parameters['percent']):g}"
    if edit.name == "white_noise":
        return f"noise_snr{float(parameters['snr_db']):g}"
    return "mask_p100" if edit.name == "silence" else None


def _change_text(clip: Clip) -> str:
    """The changes of a clip, without its name: evals with the same sentence are reported together."""
    rules = [clip.source.rule] if isinstance(clip.source, CombinedSource) and clip.source.rule != "alone" else []
    return " and ".join([*rules, *(edit.name for edit in clip.edits)])
