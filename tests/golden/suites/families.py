"""Answers to the questions of many families; the signatures of ``LIBRARIES`` name versions of libraries."""

import pytest

from pytest_audiobench import (
    bioacoustic,
    bioacoustic_captioning,
    bioacoustic_detection,
    captioning,
    classification,
    hallucination,
    keyphrases,
    manifest,
    multiple_choice,
    overlapped_speech,
    phonemes,
    slot_filling,
    spoken_questions,
    story,
    tagging,
    transcription,
    translation,
    understanding,
    verification,
)

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
