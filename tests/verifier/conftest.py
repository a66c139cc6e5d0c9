"""A real run of small evals with all that a run can hold: edits, a control, epochs, a judge, its own protocol."""

import json
import os
import shutil
from pathlib import Path

import pytest

from pytest_audiobench.cli import main

ROOT = Path(__file__).parents[2]

CONFTEST = """
from pytest_audiobench.models.messages import Response
from pytest_audiobench.models.model import Limits


class Judge:
    batching, limits, listens, device = "opaque", Limits(), False, "cpu"

    def __init__(self, target, options):
        self.spec = f"judge:{target}"

    def fingerprint(self):
        return {"judge": self.spec}

    def load(self):
        pass

    def close(self):
        pass

    def ask(self, batch):
        return [Response.of("yes" if len(one.request.sample_id) % 2 else "no") for one in batch]


def pytest_audiobench_register(registration):
    registration.model("judge", Judge)
"""
EVALS = """
from dataclasses import replace

import pytest

from pytest_audiobench import findings, judged, multiple_choice, transcription
from pytest_audiobench.datasets.bundled import bundled
from pytest_audiobench.datasets.non_speech import non_speech
from pytest_audiobench.protocols.transcription.non_speech import hallucination
from pytest_audiobench.audio import synthesis
from pytest_audiobench.audio.clip import Clip
from pytest_audiobench.audio.combining import with_noise
from pytest_audiobench.audio.edits import white_noise
from pytest_audiobench.datasets.perturbations.perturbation import Perturbation, per_clip
from pytest_audiobench.datasets.dataset import perturb

NOISE = lambda places: lambda clip, own: clip.edited(white_noise(0, seed=own))
NOISY = Perturbation("white-0dB", "white", per_clip(NOISE), 0.0, "dB")
HUM = Clip(synthesis.tone(120, 1.0))
MIXED = Perturbation("hum", "hum", per_clip(lambda places: lambda clip, own: with_noise(clip, HUM, 5, seed=own)))


def test_digits(evaluate):
    evaluate(bundled("digits"), multiple_choice(), scorers="all")


@pytest.mark.parametrize("perturbation", [NOISY, MIXED], ids=lambda one: one.name)
def test_words(evaluate, perturbation):
    evaluate(perturb(bundled("transcription"), perturbation), transcription())


def test_judged(evaluate):
    evaluate(bundled("sounds"), judged(multiple_choice()))


def test_tones(evaluate):
    tones = bundled("digits")
    read = lambda places: [
        replace(one, clips=(Clip(synthesis.tone(300 + 10 * at, 0.5)),)) for at, one in enumerate(tones.read(places))
    ]
    evaluate(replace(tones, name="tones", read=read), multiple_choice())


def test_phantoms(evaluate):
    findings(evaluate, non_speech(lengths_s=(0.5,), clips=2), hallucination("non-speech"))


def test_own_rule(evaluate):
    known = multiple_choice()
    own = replace(known.scorers[0], name="own", signature="own|v:1")
    evaluate(bundled("digits"), replace(known, name="own-rule", scorers=(own,), available={"own": own}))
"""


@pytest.fixture(scope="session")
def made(tmp_path_factory, forks):
    """The folder of a finished run of two models in two epochs."""
    folder = tmp_path_factory.mktemp("verified")
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "test_all.py").write_text(EVALS)
    models = ["--ab-model=good=baseline:listener", "--ab-model=poor=baseline:chance", "--ab-judge=j=judge:one"]
    options = ["-q", "-p", "no:cacheprovider", "--ab-run=made", *models, "--ab-limit=6", "--ab-epochs=2"]
    done = forks.pytest(options, folder, {**os.environ, "PYTHONPATH": str(ROOT)})
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "reports" / "made"


@pytest.fixture
def run(made, tmp_path):
    """A copy of the run that a test may damage."""
    return shutil.copytree(made, tmp_path / "run")


@pytest.fixture
def verify(capsys):
    """Verifies a run; returns the exit code, what is not ok by (what, part) and all that was printed as JSON."""

    def call(folder, *arguments):
        code = main(["verify", str(folder), "--json", *map(str, arguments)])
        told = json.loads(capsys.readouterr().out)
        odd = {"fails": {}, "not_recomputed": {}}
        for own in told["checked"]:
            for part in own["parts"]:
                if part["status"] != "ok":
                    called = own["name"] if own["what"] == "eval" else f"{own['what']} {own['name']}"
                    odd[part["status"]][called, own["model"], part["part"]] = part["detail"]
        return code, odd, told

    return call
