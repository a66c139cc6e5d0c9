"""Answers to the questions of many families; the signatures of ``LIBRARIES`` name versions of libraries."""

import pytest

from pytest_audiobench import manifest, multiple_choice, transcription
from pytest_audiobench.protocols.bioacoustic.task import bioacoustic, bioacoustic_captioning, bioacoustic_detection
from pytest_audiobench.protocols.captioning.task import captioning
from pytest_audiobench.protocols.classification.tagging import tagging
from pytest_audiobench.protocols.classification.task import classification
from pytest_audiobench.protocols.keyphrases import keyphrases
from pytest_audiobench.protocols.overlapped_speech import overlapped_speech
from pytest_audiobench.protocols.phonemes import phonemes
from pytest_audiobench.protocols.slot_filling import slot_filling
from pytest_audiobench.protocols.speaker_verification import verification
from pytest_audiobench.protocols.spoken_questions.task import spoken_questions
from pytest_audiobench.protocols.story import story
from pytest_audiobench.protocols.transcription.non_speech import hallucination
from pytest_audiobench.protocols.translation.task import translation
from pytest_audiobench.protocols.understanding import understanding

LABELS = {
    "bioacoustic": bioacoustic("bioacoustic", "beans-run"),
    "bioacoustic_detection": bioacoustic_detection("bioacoustic"),
    "classification": classification("label", "salmonn-emotion"),
    "multiple_choice": multiple_choice("letters", "mmau-string", "air-bench", "kimi-vb"),
    "tagging": tagging("tags", "exact-set"),
    "verification": verification("same-speaker", "similarity"),
}
TEXTS = {
    "keyphrases": keyphrases("salmonn-keywords"),
    "overlapped_speech": overlapped_speech("best-permutation"),
    "phonemes": phonemes("per-39", "salmonn-skip"),
    "slot_filling": slot_filling(),
    "spoken_questions": spoken_questions(),
    "story": story(),
    "transcription": transcription("wer-basic", "cer-basic", "gigaspeech", "insertions"),
    "understanding": understanding("frame", "slurp"),
    "unspoken": hallucination(),
}
LIBRARIES = {
    "bioacoustic_captioning": bioacoustic_captioning("bioacoustic"),
    "captioning": captioning("captions", "rouge-google"),
    "keyphrases": keyphrases("stemmed"),
    "transcription": transcription("whisper-en", "au-harness"),
    "translation": translation("bleu-13a", "chrf", "au-harness"),
}


def answers_to(name):
    return manifest(f"data/{name}.jsonl")


@pytest.mark.parametrize("name", LABELS)
def test_labels(evaluate, name):
    evaluate(answers_to(name), LABELS[name])


@pytest.mark.parametrize("name", TEXTS)
def test_texts(evaluate, name):
    evaluate(answers_to(name), TEXTS[name])


@pytest.mark.parametrize("name", LIBRARIES)
def test_libraries(evaluate, name):
    evaluate(answers_to(name), LIBRARIES[name])
