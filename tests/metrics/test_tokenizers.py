"""A tokenizer that lacks something says what, and a SentencePiece model is known by its bytes."""

import socket

import pytest
import sentencepiece

from pytest_audiobench.errors import UsageError
from pytest_audiobench.metrics import tokenizers
from pytest_audiobench.metrics.definitions.translations import bleu_statistics
from pytest_audiobench.metrics.tokenizers import bleu_scorer, bleu_signature, lacking


@pytest.fixture(autouse=True)
def no_models_of_the_machine(tmp_path, monkeypatch):
    monkeypatch.setenv("SACREBLEU", str(tmp_path / "nothing"))
    for name in ("AUDIOBENCH_FLORES101", "AUDIOBENCH_FLORES200"):
        monkeypatch.delenv(name, raising=False)
    tokenizers._scorer.cache_clear()


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("spm")
    corpus = folder / "corpus.txt"
    corpus.write_text("\n".join(f"the cat number {n} sat on mat {n * 7}" for n in range(200)), encoding="utf-8")
    sentencepiece.SentencePieceTrainer.train(
        input=str(corpus), model_prefix=str(folder / "tiny"), vocab_size=60, minloglevel=2
    )
    return folder / "tiny.model"


def test_no_model_is_downloaded_and_the_way_to_get_it_is_told(monkeypatch):
    def refuse(*args, **options):
        raise AssertionError("something was asked of the network")

    monkeypatch.setattr(socket, "create_connection", refuse)
    said = lacking("flores101")
    assert "never downloaded" in said
    assert "AUDIOBENCH_FLORES101" in said
    assert "sacrebleu_tokenizer_spm.model" in said
    with pytest.raises(UsageError, match="AUDIOBENCH_FLORES101"):
        bleu_statistics("a", ["a"], "flores101")
    assert "spm:absent" in bleu_signature("flores101")


def test_a_users_model_is_used_and_its_digest_stands_in_the_signature(model, monkeypatch):
    monkeypatch.setenv("AUDIOBENCH_FLORES101", str(model))
    assert lacking("flores101") == ""
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(model)).encode("the cat sat", out_type=str)
    found = bleu_statistics("the cat sat", ["the cat sat on"], "flores101")
    assert found["sys_len"] == len(pieces) == found["match1"]
    assert "tok:flores101|spm:" in bleu_signature("flores101")
    assert "absent" not in bleu_signature("flores101")


def test_a_model_where_sacrebleu_keeps_it_is_found(model, tmp_path, monkeypatch):
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "sacrebleu_tokenizer_spm.model").write_bytes(model.read_bytes())
    monkeypatch.setenv("SACREBLEU", str(tmp_path))
    assert lacking("flores101") == ""


def test_another_file_in_the_place_of_flores200_is_refused(model, monkeypatch):
    monkeypatch.setenv("AUDIOBENCH_FLORES200", str(model))
    assert "is not the published model of flores200" in lacking("flores200")
    with pytest.raises(UsageError, match="SHA-256"):
        bleu_scorer("flores200")


@pytest.mark.parametrize(
    ("tokenizer", "module", "remedy"),
    [
        ("ja-mecab", "MeCab", r"pytest-audiobench\[ja\]"),
        ("ko-mecab", "mecab_ko", r"sacrebleu\[ko\]"),
        ("flores101", "sentencepiece", r"pytest-audiobench\[flores\]"),
    ],
)
def test_a_missing_library_is_named_with_its_remedy(tokenizer, module, remedy, monkeypatch):
    found = tokenizers.importlib.util.find_spec
    monkeypatch.setattr(
        tokenizers.importlib.util, "find_spec", lambda name: None if name.startswith(module) else found(name)
    )
    with pytest.raises(UsageError, match=remedy):
        bleu_scorer(tokenizer)
