"""Answers in speech: to questions about the bundled clips, and sentences said after them.

A model that speaks is asked (openai:NAME,voice=alloy, baseline:reader), and a transcriber writes down what it says:
--ab-judge=transcriber=hf:FOLDER, or baseline:listener, which knows the bundled words. Others are skipped.
"""

from pytest_audiobench import dataset, protocol


def test_questions(evaluate):
    """Which digit is said? The answer is heard by a transcriber."""
    evaluate(dataset("bundled", "digits"), protocol("spoken_answer"))


def test_repeat(evaluate):
    """Short commands and digit strings, said again word for word."""
    evaluate(dataset("bundled", "transcription"), protocol("spoken_answer", task="repeat"))
