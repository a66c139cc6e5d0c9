"""Answers compared by an encoder that the user brings."""

import sys
from types import ModuleType

import numpy as np
import pytest

from pytest_audiobench.audio.clip import ArraySource, Clip
from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError
from pytest_audiobench.protocols import text_encoders as home
from pytest_audiobench.protocols.captioning.task import captioning
from pytest_audiobench.protocols.embedding_similarity import embedded, fense
from pytest_audiobench.protocols.protocol import Answer
from pytest_audiobench.protocols.translation.task import translation

CLIP = Clip(ArraySource.of([0.0, 0.1], 16_000))
AXES = ("dog", "rain", "man")


def encode(texts):
    """A text's vector counts three words."""
    return np.array([[text.split().count(word) for word in AXES] for text in texts], dtype=float)


def pair(text, *truths):
    one = Sample("a", (CLIP,), "", reference=truths[0], references=truths if len(truths) > 1 else ())
    return one, Answer("parsed", text) if text else Answer("empty")


def cosines_of(scorer, *scored):
    return [row[scorer.metrics[0]] for row in scorer.together(scored)]


def test_the_nearest_reference_counts():
    scorer = embedded(encode, "counts")
    found = cosines_of(scorer, pair("dog", "rain", "dog"), pair("dog man", "dog"), pair("dog", "rain"))
    assert found == pytest.approx([1.0, 0.5**0.5, 0.0])


def test_an_empty_answer_and_an_empty_reference_are_zero_and_not_encoded():
    asked = []

    def listening(texts):
        asked.extend(texts)
        return encode(texts)

    scorer = embedded(listening, "counts")
    assert cosines_of(scorer, pair("", "dog"), pair("dog", ""), pair("dog", "dog")) == [0.0, 0.0, 1.0]
    assert asked == ["dog"]
    assert cosines_of(scorer) == []


def test_all_texts_are_encoded_at_once_and_each_once():
    calls = []

    def listening(texts):
        calls.append(list(texts))
        return encode(texts)

    cosines_of(embedded(listening, "counts"), pair("dog", "rain"), pair("rain", "dog"), pair("man", "dog"))
    assert calls == [["dog", "rain", "man"]]


def test_it_stands_among_the_names_of_a_family():
    own = embedded(encode, "counts")
    protocol = captioning("captions", own)
    assert [scorer.name for scorer in protocol.scorers] == ["captions", "embedding-counts"]
    assert translation(own, target="de").scorers == (own,)
    assert "encoder:counts" in own.signature
    assert own.score(*pair("dog", "dog")) == {}


@pytest.mark.parametrize("wrong", [lambda texts: [1.0, 2.0], lambda texts: np.zeros((1, 3)), lambda texts: 1.0])
def test_an_encoder_that_gives_no_row_for_each_text_is_told(wrong):
    with pytest.raises(UsageError, match="one row for each text: 2 texts"):
        cosines_of(embedded(wrong, "wrong"), pair("dog", "rain"))


def test_an_encoder_that_gives_nan_is_told_with_the_text():
    def broken(texts):
        return np.where(np.arange(len(texts))[:, None] == 1, np.nan, encode(texts))

    with pytest.raises(UsageError, match="not finite for the text 'rain'"):
        cosines_of(embedded(broken, "broken"), pair("dog", "rain"))


def test_fense_takes_the_mean_and_nine_tenths_off_for_an_error():
    scorer = fense(encode, lambda texts: [0.95 if text == "rain" else 0.9 for text in texts], "counts")
    assert scorer.name == "fense-counts"
    found = cosines_of(scorer, pair("dog", "dog", "rain"), pair("rain", "rain"), pair("", "dog"))
    assert found == pytest.approx([0.5, 0.1, 0.0])
    with pytest.raises(UsageError, match="one number each"):
        cosines_of(fense(encode, lambda texts: [0.0], "counts"), pair("dog", "dog"), pair("rain", "dog"))


@pytest.mark.parametrize(
    ("marker", "package", "kind"),
    [("modules.json", "sentence_transformers", "SentenceTransformer"), ("config.json", "model2vec", "StaticModel")],
)
def test_a_folder_is_loaded_by_the_library_that_made_it(marker, package, kind, tmp_path, monkeypatch):
    (tmp_path / marker).write_text("{}")

    class Model:
        def __init__(self, path, **options):
            assert path == str(tmp_path)

        @classmethod
        def from_pretrained(cls, path):
            return cls(path)

        def encode(self, texts, **options):
            return encode(texts)

    scorer = embedded(tmp_path, "mine")
    assert "mine|files:" in scorer.signature
    if home.importlib.util.find_spec(package) is None:
        with pytest.raises(UsageError, match=f"pip install {package}"):
            cosines_of(scorer, pair("dog", "dog"))
    fake = ModuleType(package)
    setattr(fake, kind, Model)
    fake.__spec__ = home.importlib.util.spec_from_loader(package, None)
    monkeypatch.setitem(sys.modules, package, fake)
    home.load_folder.cache_clear()
    assert cosines_of(scorer, pair("dog", "dog")) == [1.0]
    home.load_folder.cache_clear()


def test_other_weights_in_a_folder_are_another_signature(tmp_path):
    (tmp_path / "model.safetensors").write_bytes(b"one")
    before = embedded(tmp_path, "mine").signature
    (tmp_path / "model.safetensors").write_bytes(b"two")
    assert embedded(tmp_path, "mine").signature != before
    with pytest.raises(UsageError, match="is not a folder"):
        embedded(tmp_path / "absent", "mine")


def test_a_checker_that_knows_no_probability_is_told():
    with pytest.raises(UsageError, match="the checker of fense-counts gave NaN for the text 'rain'"):
        cosines_of(fense(encode, lambda texts: [0.1, float("nan")], "counts"), pair("dog", "dog"), pair("rain", "dog"))
