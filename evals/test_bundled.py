"""The bundled set: synthetic speech and sounds that are always there. It checks the way, not the world."""

import pytest

from pytest_audiobench import dataset, multiple_choice, transcription


def test_digits(evaluate):
    """Which of four digits is spoken?"""
    evaluate(dataset("bundled", "digits"), multiple_choice())


def test_emotion(evaluate):
    """Is a sentence delivered calm, excited or subdued? Synthetic delivery, not felt emotion."""
    evaluate(dataset("bundled", "emotion"), multiple_choice())


def test_language(evaluate):
    """Which of four languages is spoken?"""
    evaluate(dataset("bundled", "language"), multiple_choice())


@pytest.mark.parametrize("scene", ["sounds", "mixtures"])
def test_sound(evaluate, scene):
    """Which sound is heard; in mixtures, also how many."""
    evaluate(dataset("bundled", scene), multiple_choice())


def test_speech_presence(evaluate):
    """Is anyone speaking, or is it silence, noise or a sound?"""
    evaluate(dataset("bundled", "speech_presence"), multiple_choice())


def test_transcription(evaluate):
    """Short commands and digit strings, word for word."""
    evaluate(dataset("bundled", "transcription"), transcription())
