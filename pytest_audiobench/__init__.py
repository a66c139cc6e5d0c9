"""Benchmarks for audio-language models that are ordinary pytest tests.

What a test file needs is imported from here; each name is loaded when it is first used, since pytest
imports this package in every run that it is installed for.
"""

from __future__ import annotations

import ast
import importlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_audiobench.compat.faithfulness_study.manifest import faithfulness_study as faithfulness_study
    from pytest_audiobench.compat.faithfulness_study.renderings import rendering as rendering
    from pytest_audiobench.compat.faithfulness_study.renderings import renderings as renderings
    from pytest_audiobench.datasets.bundled import bundled as bundled
    from pytest_audiobench.datasets.common_voice import common_voice as common_voice
    from pytest_audiobench.datasets.dataset import Dataset as Dataset
    from pytest_audiobench.datasets.dataset import perturb as perturb
    from pytest_audiobench.datasets.fleurs import fleurs as fleurs
    from pytest_audiobench.datasets.gigaspeech import gigaspeech as gigaspeech
    from pytest_audiobench.datasets.librispeech import librispeech as librispeech
    from pytest_audiobench.datasets.manifest import manifest as manifest
    from pytest_audiobench.datasets.mmar import mmar as mmar
    from pytest_audiobench.datasets.mmau import mmau as mmau
    from pytest_audiobench.datasets.non_speech import non_speech as non_speech
    from pytest_audiobench.datasets.non_speech import non_speech_recordings as non_speech_recordings
    from pytest_audiobench.datasets.packs.discovery import pack_from_labels as pack_from_labels
    from pytest_audiobench.datasets.packs.sound_id import sound_id as sound_id
    from pytest_audiobench.datasets.perturbations.catalogue import AUDIOBENCH_PERTURBATIONS as AUDIOBENCH_PERTURBATIONS
    from pytest_audiobench.datasets.perturbations.catalogue import PERTURBATION_CATALOGUE as PERTURBATION_CATALOGUE
    from pytest_audiobench.datasets.perturbations.catalogue import ladder as ladder
    from pytest_audiobench.datasets.perturbations.catalogue import named_perturbations as named_perturbations
    from pytest_audiobench.datasets.perturbations.injections import injections as injections
    from pytest_audiobench.datasets.perturbations.interventions import controls as controls
    from pytest_audiobench.datasets.perturbations.interventions import masks as masks
    from pytest_audiobench.datasets.perturbations.interventions import noises as noises
    from pytest_audiobench.datasets.perturbations.perturbation import Perturbation as Perturbation
    from pytest_audiobench.datasets.perturbations.perturbation import per_clip as per_clip
    from pytest_audiobench.datasets.perturbations.reasoning import early_answering as early_answering
    from pytest_audiobench.datasets.perturbations.reasoning import reasoning_change as reasoning_change
    from pytest_audiobench.datasets.perturbations.reasoning import reasoning_changes as reasoning_changes
    from pytest_audiobench.datasets.perturbations.strategies import perturbations as perturbations
    from pytest_audiobench.datasets.sakura import sakura as sakura
    from pytest_audiobench.datasets.sample import Sample as Sample
    from pytest_audiobench.datasets.voices import bundled_digits as bundled_digits
    from pytest_audiobench.datasets.voices import espeak as espeak
    from pytest_audiobench.datasets.voices import first_available_voices as first_available_voices
    from pytest_audiobench.datasets.voices import speech_files as speech_files
    from pytest_audiobench.protocols.bioacoustic.task import bioacoustic as bioacoustic
    from pytest_audiobench.protocols.bioacoustic.task import bioacoustic_captioning as bioacoustic_captioning
    from pytest_audiobench.protocols.bioacoustic.task import bioacoustic_detection as bioacoustic_detection
    from pytest_audiobench.protocols.captioning.task import captioning as captioning
    from pytest_audiobench.protocols.classification.tagging import tagging as tagging
    from pytest_audiobench.protocols.classification.task import classification as classification
    from pytest_audiobench.protocols.embedding_similarity import embedded as embedded
    from pytest_audiobench.protocols.judged.task import judged as judged
    from pytest_audiobench.protocols.keyphrases import keyphrases as keyphrases
    from pytest_audiobench.protocols.multiple_choice.task import multiple_choice as multiple_choice
    from pytest_audiobench.protocols.overlapped_speech import overlapped_speech as overlapped_speech
    from pytest_audiobench.protocols.phonemes import phonemes as phonemes
    from pytest_audiobench.protocols.presence.task import presence as presence
    from pytest_audiobench.protocols.prompt_sets import PromptSet as PromptSet
    from pytest_audiobench.protocols.prompt_sets import prompt_set as prompt_set
    from pytest_audiobench.protocols.prompt_variants import with_prompt_variants as with_prompt_variants
    from pytest_audiobench.protocols.reasoned_choice.prompt_styles import model_style as model_style
    from pytest_audiobench.protocols.reasoned_choice.prompt_styles import style_scorers as style_scorers
    from pytest_audiobench.protocols.reasoned_choice.task import conditioned_choice as conditioned_choice
    from pytest_audiobench.protocols.reasoned_choice.task import reasoned_choice as reasoned_choice
    from pytest_audiobench.protocols.slot_filling import slot_filling as slot_filling
    from pytest_audiobench.protocols.speaker_verification import verification as verification
    from pytest_audiobench.protocols.spoken_questions.task import spoken_questions as spoken_questions
    from pytest_audiobench.protocols.story import story as story
    from pytest_audiobench.protocols.transcription.non_speech import hallucination as hallucination
    from pytest_audiobench.protocols.transcription.task import transcription as transcription
    from pytest_audiobench.protocols.translation.task import translation as translation
    from pytest_audiobench.protocols.understanding import understanding as understanding
    from pytest_audiobench.report.run_reader import load_run as load_run
    from pytest_audiobench.studies.determinism import determinism as determinism
    from pytest_audiobench.studies.faithfulness import require_audio as require_audio
    from pytest_audiobench.studies.faithfulness import warn_of_sway as warn_of_sway
    from pytest_audiobench.studies.findings import findings as findings
    from pytest_audiobench.studies.listening import listening as listening


@cache
def _homes() -> dict[str, str]:
    """The module of each name, read from the imports above, which type checkers and editors follow and no run does."""
    nodes = ast.walk(ast.parse(Path(__file__).read_text(encoding="utf-8")))
    imports = [node for node in nodes if isinstance(node, ast.ImportFrom) and str(node.module).startswith(__name__)]
    return {alias.name: str(node.module) for node in imports for alias in node.names}


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return sorted(_homes())
    if name not in _homes():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_homes()[name]), name)
