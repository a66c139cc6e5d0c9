"""Words where nothing is said, and words too many or too few where something is."""

from pytest_audiobench import dataset, findings, protocol, transcription


def test_non_speech(evaluate):
    """Eight generated domains, each fifteen clips of 0.5, 1 and 2 s (the function's own lengths go to 10 s)."""
    domains = dataset("non_speech", lengths_s=(0.5, 1, 2), clips=5)
    findings(evaluate, domains, protocol("hallucination", "non-speech", "non-speech-thenirock"))


def test_recordings(evaluate):
    """Recordings without speech, a sub-folder for each domain: --ab-data=non-speech=FOLDER."""
    scorers = ("non-speech", "non-speech-thenirock")
    findings(evaluate, dataset("non_speech_recordings"), protocol("hallucination", *scorers))


def test_speech(evaluate):
    """Short commands and digit strings: words inserted, and answers that stop before the speaker does."""
    evaluate(dataset("bundled", "transcription"), transcription("insertions", "insertions-thenirock"))
