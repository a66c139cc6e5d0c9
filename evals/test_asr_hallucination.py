"""Words where nothing is said, and words too many or too few where something is."""

from pytest_audiobench import bundled, findings, hallucination, non_speech, non_speech_recordings, transcription


def test_non_speech(evaluate):
    """Eight generated domains, each fifteen clips of 0.5, 1 and 2 s (the function's own lengths go to 10 s)."""
    findings(evaluate, non_speech(lengths_s=(0.5, 1, 2), clips=5), hallucination("non-speech", "non-speech-thenirock"))


def test_recordings(evaluate):
    """Recordings without speech, a sub-folder for each domain: --ab-data non-speech=FOLDER."""
    findings(evaluate, non_speech_recordings(), hallucination("non-speech", "non-speech-thenirock"))


def test_speech(evaluate):
    """Short commands and digit strings: words inserted, and answers that stop before the speaker does."""
    evaluate(bundled("transcription"), transcription("insertions", "insertions-thenirock"))
