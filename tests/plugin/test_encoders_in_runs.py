"""The text encoder of a run: exchanged, refused, and never mixed with another in a comparison."""

import importlib.util

import pytest

MEANING = """
import numpy as np

from pytest_audiobench.models.messages import Message
from pytest_audiobench.protocols.free_text import family_protocol, free_stage, read_text
from pytest_audiobench.protocols.protocol import Protocol, Scorer
from pytest_audiobench.protocols.text_encoders import ENCODERS, TextEncoder, encoder as encoder_of


def letters(name, width):
    def encode(texts):
        return np.array([[text.count(chr(97 + letter)) + 1.0 for letter in range(width)] for text in texts])

    return lambda _: TextEncoder(name, lambda: f"{name}(letters:{width})", lambda: encode)


ENCODERS.update(vowels=letters("vowels", 5), alphabet=letters("alphabet", 26))


def meaning(*scorers: str, encoder: str = "vowels") -> Protocol:
    chosen = encoder_of(encoder)

    def together(scored):
        values = chosen.cosines([(answer.value or "", sample.reference) for sample, answer in scored])
        return [{"cosine": value} for value in values]

    stage = free_stage(lambda sample: sample.question, None, 16)
    scorer = Scorer(
        "near", f"test:near|v:1|encoder:{chosen.identity}", read_text, lambda sample, answer: {}, ("cosine",),
        together=together, missing_parts=lambda: chosen.missing,
    )
    return family_protocol("meaning", (stage,), (scorer,), scorers, "open")


def pytest_audiobench_register(registration):
    registration.model("tone", ToneModel)
    registration.protocol(meaning, "nearness of meaning")
"""
EVAL = """
from pytest_audiobench import manifest, protocol

def test_words(evaluate):
    evaluate(manifest("data/tones.jsonl"), protocol("meaning"{encoder}))
"""


@pytest.fixture
def meanings(suite):
    lab = suite.path / "conftest.py"
    lab.write_text(lab.read_text().rpartition("def pytest_audiobench_register")[0] + MEANING)
    suite.tones(8)
    suite.write(test_words=EVAL.format(encoder=""))
    return suite


def figure(suite):
    (item,) = suite.last()[0]["items"]
    return item["scorers"][0]["signature"], item["options"].get("encoder"), item["metrics"][0]["value"]


def test_answers_are_scored_again_by_another_encoder_without_asking(meanings):
    assert meanings.run("--ab-run=one", log=meanings.path / "log").ret == 0
    signature, recorded, value = figure(meanings)
    assert (signature.rpartition("|")[2], recorded) == ("encoder:vowels(letters:5)", None)
    asked = (meanings.path / "log").read_text()
    assert meanings.run("--ab-encoder=alphabet", model="again=replay:reports/one").ret == 0
    other = figure(meanings)
    assert other[:2] == ("test:near|v:1|encoder:alphabet(letters:26)", "alphabet")
    assert other[2] != value
    assert (meanings.path / "log").read_text() == asked
    assert meanings.run("--ab-encoder=vowels", model="again=replay:reports/one").ret == 0
    assert figure(meanings) == (signature, "vowels", value)


def test_the_encoder_of_the_command_line_counts_more_than_the_test_s_own_and_the_ini_file_s(meanings):
    meanings.write(test_words=EVAL.format(encoder=', encoder="vowels"'))
    (meanings.path / "pytest.ini").write_text("[pytest]\nab_encoder = alphabet\n")
    assert meanings.run().ret == 0
    assert figure(meanings)[1] == "alphabet"
    assert meanings.run("--ab-encoder=vowels").ret == 0
    assert figure(meanings)[1] == "vowels"


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("alphabt", "no text encoder is called 'alphabt'; did you mean 'alphabet'?"),
        ("folder:nowhere", "/nowhere is not a folder"),
        ("folder:data", "/data holds no model of sentence-transformers or model2vec"),
        ("folder:model", "holds a model of model2vec, which is not installed: pip install model2vec"),
    ],
)
def test_an_encoder_that_cannot_be_used_is_refused_before_anything_is_asked(meanings, spec, sentence, workers):
    (meanings.path / "model").mkdir()
    (meanings.path / "model" / "config.json").write_text("{}")
    if spec == "folder:model" and importlib.util.find_spec("model2vec"):
        pytest.skip("model2vec is installed here")
    result = meanings.run(workers, f"--ab-encoder={spec}", log=meanings.path / "log")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert sentence in "\n".join(result.errlines + result.outlines)
    assert not (meanings.path / "log").exists()


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
@pytest.mark.parametrize(("ours", "args"), [("", ["--ab-encoder=alphabet"]), (', encoder="alphabet"', [])])
def test_a_baseline_by_another_encoder_ends_the_run_in_one_sentence_that_names_both(meanings, workers, ours, args):
    assert meanings.run("--ab-run=main").ret == 0
    meanings.write(test_words=EVAL.format(encoder=ours))
    result = meanings.run(workers, "--ab-baseline=main", *args, log=meanings.path / "log")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    text = "\n".join(result.errlines + result.outlines)
    assert "the encoder of near is vowels(letters:5) in" in text
    assert "and alphabet(letters:26) here, and figures by different encoders are never compared" in text
    assert not (meanings.path / "log").exists()


def test_a_baseline_by_the_same_encoder_is_compared(meanings):
    assert meanings.run("--ab-run=main", "--ab-encoder=alphabet").ret == 0
    assert meanings.run("--ab-baseline=main", "--ab-encoder=alphabet").ret == 0
    (item,) = meanings.last()[0]["items"]
    assert [line["status"] for line in item["regressions"]] == ["pass"]
