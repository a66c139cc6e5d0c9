"""Speech under perturbations in real runs: errors rise down a ladder, corpora and own recordings are played."""

import importlib.util
import json
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DATA = ROOT.parent / "shared" / "data"
BUNDLED = ROOT / "fixtures" / "bundled"

needs_listener = pytest.mark.skipif(
    importlib.util.find_spec("pocketsphinx") is None,
    reason="the default model transcribes with pocketsphinx (pip install 'pytest-audiobench[baseline]')",
)
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason=f"real speech, noise and rooms are not at {DATA}")


@pytest.fixture
def robust(suite):
    """A suite that holds the benchmark's own file of evals."""
    shutil.copy(ROOT / "evals" / "test_asr_robust.py", suite.path)
    return suite


def items(suite):
    """The items that were measured, by the names of their perturbations."""
    return {item["perturbation"]["name"]: item for item in suite.last()[0]["items"] if item["perturbation"]}


def rate(item):
    return next(m["value"] for m in item["metrics"] if m["name"] == "wer" and not m["group"])


def write_manifest(folder, rows):
    lines = [json.dumps({"id": id_, "audio": audio, "answer": answer}) for id_, audio, answer in rows]
    (folder / "own.jsonl").write_text("\n".join(lines) + "\n")


@needs_listener
def test_errors_of_the_default_model_rise_down_a_ladder(robust):
    done = robust.run("-k", "ladder and (clean or white-10dB or white-m10dB)", model=None)
    done.assert_outcomes(passed=3)
    found = items(robust)
    assert rate(found["clean"]) + 0.05 < rate(found["white-10dB"]) < rate(found["white-m10dB"]) - 0.2
    assert {item["suite"] for item in found.values()} == {"asr_robust_ladders"}
    assert found["white-m10dB"]["perturbation"] == {
        "name": "white-m10dB",
        "family": "white",
        "dose": -10.0,
        "unit": "dB SNR",
        "harder": "lower",
    }
    audio = {item["hashes"]["audio"] for item in found.values()}
    assert len(audio) == 3


def test_recordings_and_corpora_that_are_not_here_are_skipped_with_the_way_to_them(robust):
    done = robust.run("-k", "recorded-0dB or room or (test_corpus and clean)", "-rs", model="tone:one")
    done.assert_outcomes(skipped=6)
    for name in ("noise", "rirs", "librispeech", "common_voice", "fleurs", "gigaspeech"):
        done.stdout.fnmatch_lines([f"*{name} is not on this machine*--ab-data={name}=FOLDER*"])


@needs_listener
def test_a_corpus_of_ones_own_is_asked_about_under_the_five_perturbations(robust):
    rows = [json.loads(line) for line in (BUNDLED / "transcription.jsonl").read_text().splitlines()[:4]]
    for number, row in enumerate(rows):
        speaker = f"{100 + number // 2}"
        chapter = robust.path / "corpora" / "LibriSpeech" / "test-clean" / speaker / "7"
        chapter.mkdir(parents=True, exist_ok=True)
        shutil.copy(BUNDLED / row["audio"], chapter / f"{speaker}-7-{number:04d}.flac")
        with (chapter / f"{speaker}-7.trans.txt").open("a") as file:
            file.write(f"{speaker}-7-{number:04d} {row['answer'].upper()}\n")
    where = f"--ab-data=librispeech={robust.path / 'corpora'}"
    done = robust.run("-k", "librispeech", where, model=None)
    done.assert_outcomes(passed=5)
    found = items(robust)
    assert list(found) == ["clean", "cafe-10dB", "pink-5dB", "band-8k", "reverb"]
    assert all(not item["errors"] and item["n"] == 4 for item in found.values())
    assert {(item["suite"], item["cluster"]) for item in found.values()} == {("asr_robust_librispeech", "speaker")}
    assert rate(found["clean"]) < 0.5
    assert len({item["hashes"]["audio"] for item in found.values()}) == 5


OWN = """
import pytest
from pytest_audiobench import manifest, perturb, transcription
from pytest_audiobench.datasets.perturbations.catalogue import named_perturbations

@pytest.mark.parametrize("perturbation", named_perturbations({names}), ids=str)
def test_own(evaluate, perturbation):
    evaluate(perturb(manifest("own.jsonl"), perturbation), transcription({options}))
"""


def real_speech(folder):
    """Short clips of 22.05 kHz, of an audio book and of card names, with their transcripts: three of each."""
    listed = json.loads((DATA / "speech" / "audiobench" / "manifest.json").read_text())["clips"]
    found = [(f"audiobench-{one['id']}", DATA / "speech" / "audiobench" / one["file"], one["text"]) for one in listed]
    for name, lines in (("librivox", "transcription"), ("cards", "cards.transcription")):
        for line in (DATA / "speech" / name / lines).read_text().splitlines():
            words, _, stem = line.rpartition("(")
            audio = DATA / "speech" / name / f"{stem.rstrip(') ')}.wav"
            found.append((f"{name}-{audio.stem}", audio, words.replace("<s>", "").replace("</s>", "").strip()))
    found = [*found[2:5], *(one for one in found[10:] if one[1].stat().st_size < 108_000)]
    for _, audio, _ in found:
        shutil.copy(audio, folder / audio.name)
    write_manifest(folder, [(id_, audio.name, text) for id_, audio, text in found])
    return found


@needs_listener
@needs_data
@pytest.mark.slow
def test_real_speech_is_played_with_real_noise_and_in_real_rooms(suite):
    speech = real_speech(suite.path)
    assert {id_.partition("-")[0] for id_, _, _ in speech} == {"audiobench", "librivox", "cards"}
    suite.write(test_own=OWN.format(names='"recorded-5dB", "room", "voices-0dB"', options=""))
    folders = [f"--ab-data={name}={DATA / folder}" for name, folder in (("noise", "noise"), ("rirs", "rirs"))]
    done = suite.run(*folders, f"--ab-data=voices={DATA / 'speech' / 'speechbrain'}", model=None)
    done.assert_outcomes(passed=3)
    found = items(suite)
    for item in found.values():
        # The listener knows other words than these: what counts here is that all of it is played and scored.
        assert (item["n"], item["errors"], item["asking"]["truncated_clips"]) == (len(speech), [], 0)
        assert rate(item) > 0.5
    assert len({item["hashes"]["audio"] for item in found.values()}) == 3


@needs_data
@pytest.mark.skipif(
    not (importlib.util.find_spec("torch") and importlib.util.find_spec("transformers")),
    reason="needs torch and transformers (pip install 'pytest-audiobench[hf]')",
)
def test_errors_of_a_trained_checkpoint_rise_down_a_ladder(suite_with_torch):
    """Spoken digits of 8 kHz by a small Qwen2-Audio."""
    suite = suite_with_torch
    words = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
    clips = sorted((DATA / "fsdd" / "recordings").glob("*_[01].wav"))
    for clip in clips:
        shutil.copy(clip, suite.path / clip.name)
    write_manifest(suite.path, [(clip.stem, clip.name, words[int(clip.name[0])]) for clip in clips])
    names = '"clean", "white-20dB", "white-0dB", "white-m20dB"'
    suite.write(test_own=OWN.format(names=names, options='prompt="Which digit?", max_new_tokens=6'))
    checkpoint = DATA / "checkpoints" / "fsdd-qwen2audio-epoch20"
    suite.run(model=f"hf:{checkpoint}", device="cpu", pad_s="0.5").assert_outcomes(passed=4)
    rates = [rate(item) for item in items(suite).values()]
    assert rates == sorted(rates)
    assert rates[0] < 0.1
    assert rates[-1] > 0.7
