"""Speech under perturbations: clean, degraded in five ways, and down ladders of noise; word error rates of each.

The bundled utterances are short and of a small vocabulary, which the default listener transcribes. Four corpora are
asked about where they are on this machine (``--ab-data=librispeech=FOLDER``), and skipped elsewhere.
"""

import pytest

from pytest_audiobench import dataset, perturb, perturbations, transcription

BESIDE = transcription("wer-basic", "lower-nopunct")
"""Ours as the headline, and that of the audiobench tool, whose five perturbations these are, beside it."""

AUDIOBENCH = perturbations("audiobench")
STEPS = [
    *perturbations("named", "clean"),
    *perturbations("ladder", "white", 20, 10, 5, 0, -10),
    *perturbations("ladder", "babble", 20, 10, 5, 0, -10),
    *perturbations("ladder", "recorded", 20, 10, 5, 0, -10),
    *perturbations("named", "room", "codec-gsm", "codec-mp3", "clipped-20dB", "speed-1.3", "gain-m30dB"),
]

CORPORA = {
    "librispeech": dataset("librispeech", "test-clean"),
    "common_voice": dataset("common_voice", "en", "test"),
    "fleurs": dataset("fleurs", "en_us", "test"),
    "gigaspeech": dataset("gigaspeech", "test"),
}


@pytest.mark.parametrize("perturbation", AUDIOBENCH, ids=str)
def test_asr_robust(evaluate, perturbation):
    """Bundled utterances, clean and in the four degraded perturbations that robust recognition is published in."""
    evaluate(perturb(dataset("bundled", "transcription"), perturbation), BESIDE, samples=32)


@pytest.mark.audiobench(suite="asr_robust_ladders")
@pytest.mark.parametrize("perturbation", STEPS, ids=str)
def test_ladder(evaluate, perturbation):
    """Bundled utterances down the ladders; recorded noise and rooms with --ab-data=noise=FOLDER and rirs=FOLDER."""
    evaluate(perturb(dataset("bundled", "transcription"), perturbation), transcription(), samples=16)


@pytest.mark.parametrize("perturbation", AUDIOBENCH, ids=str)
@pytest.mark.parametrize(
    "corpus", [pytest.param(name, marks=pytest.mark.audiobench(suite=f"asr_robust_{name}")) for name in CORPORA]
)
def test_corpus(evaluate, corpus, perturbation):
    """Your own corpus: --ab-data=librispeech=FOLDER, common_voice=, fleurs= or gigaspeech=."""
    evaluate(perturb(CORPORA[corpus], perturbation), BESIDE)
