"""Captioning: one sentence about what is heard in a clip of any sound."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pytest_audiobench.protocols.captioning.published_scorers import published_scorers
from pytest_audiobench.protocols.captioning.words import Scored, made_with, word_scorers
from pytest_audiobench.protocols.free_text import family_protocol, free_stage, read_text
from pytest_audiobench.protocols.protocol import Protocol, Scorer, with_recorded_options

BERTSCORE = "AUDIOBENCH_BERTSCORE"


def model_scorers() -> Iterator[Scorer]:
    """``bertscore``.

    Embeddings and FENSE take an encoder of the user's: :mod:`pytest_audiobench.protocols.embedding_similarity`.
    """
    folder, layer = _model()
    yield Scorer(
        "bertscore",
        f"cap:bertscore|v:1|model:{folder.name or 'absent'}|layer:{layer}|idf:no|rescaled:no|{made_with('bert_score')}",
        read_text,
        lambda sample, answer: {},
        ("bertscore",),
        together=_bertscore,
        missing_parts=_lacks_bertscore,
    )


def _model() -> tuple[Path, str]:
    folder, _, layer = os.environ.get(BERTSCORE, "").rpartition("#")
    return Path(folder) if folder else Path(), layer if layer.isdecimal() else ""


def _lacks_bertscore() -> str:
    folder, layer = _model()
    if importlib.util.find_spec("bert_score") is None:
        return "bertscore needs bert_score: pip install bert-score"
    if not layer or not (folder / "config.json").is_file():
        return f"bertscore needs a model: set {BERTSCORE} to FOLDER#LAYER, such as /models/roberta-large#17"
    return ""


def _bertscore(scored: Scored) -> Sequence[Mapping[str, float]]:
    from bert_score import score

    folder, layer = _model()
    places = [number for number, (_, answer) in enumerate(scored) if (answer.value or "").strip()]
    values = [0.0] * len(scored)
    if places:
        candidates = [scored[number][1].value for number in places]
        true = [list(scored[number][0].truths) for number in places]
        _, _, f_scores = score(candidates, true, model_type=str(folder), num_layers=int(layer))
        for number, value in zip(places, f_scores.tolist(), strict=True):
            values[number] = float(value)
    return [{"bertscore": value} for value in values]


INSTRUCTION = "Describe what you hear in one sentence."


@with_recorded_options
def captioning(
    *scorers: str | Scorer, prompt: str = INSTRUCTION, system: str | None = None, max_new_tokens: int = 256
) -> Protocol:
    """Ask for a caption of the sample's clips, in its own question's words or else in ``prompt``'s.

    The default scorer is ``captions``: CIDEr-D, ROUGE-L and METEOR without synonyms, on COCO's words. Further ones:
    ``rouge-google``; ``meteor`` (with WordNet), ``spider`` and ``bertscore`` where their parts are on this machine; and
    the rules of ``cmi-bench``, ``cmi-bench-meteor``, ``nota``, ``audiobench``, ``ultraeval``, ``salmonn-repro``,
    ``salmonn-repro-pairs`` (with ``-keep``) and ``salmonn-repro-music`` (with ``-nopunct``, ``-keep``). A scorer of
    one's own, such as :func:`~pytest_audiobench.protocols.embedding_similarity.embedded`, can stand among the names.
    The samples' references are all counted, unless a published rule takes one. Raises UsageError for an unknown
    scorer, and for one that lacks its parts.
    """
    family_scorers = (*word_scorers(), *model_scorers(), *published_scorers())
    stage = free_stage(lambda sample: sample.question or prompt, system, max_new_tokens)
    return family_protocol("captioning", (stage,), family_scorers, scorers, "words", default="captions")
