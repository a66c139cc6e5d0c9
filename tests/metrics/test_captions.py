"""Caption metrics, held to a second, independent implementation of each."""

import math
import sys
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pycocoevalcap.bleu.bleu import Bleu
from pycocoevalcap.cider.cider import Cider

from pytest_audiobench.errors import FatalError, UsageError
from pytest_audiobench.metrics.definitions import captions
from pytest_audiobench.metrics.definitions.captions import (
    CIDER_SET,
    cider_beans_next,
    cider_d,
    lacks_spice,
    rouge_google,
    rouge_l,
    spice,
)
from pytest_audiobench.metrics.definitions.translations import bleu_statistics
from pytest_audiobench.metrics.meteor import lacks_data, meteor, meteor_nosyn
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.metrics.spice_program import STANFORD_JARS

VOCABULARY = ("a", "dog", "barks", "loudly", "rain", "falls", "man", "speaks", "狗", "叫")
WORDS = st.lists(st.sampled_from(VOCABULARY), max_size=9).map(" ".join)
ITEMS = st.lists(st.tuples(WORDS, st.lists(WORDS, min_size=1, max_size=3)), min_size=2, max_size=7)


def estimate(metric, rows):
    return metric_kind(metric).estimate(rows, None)


def grams(text, n):
    words = text.split()
    return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))


def consensus(candidates, references):
    """CIDEr-D from its definition, in vectors over the vocabulary of one order."""
    total = np.zeros(len(candidates))
    for n in range(1, 5):
        seen = Counter(gram for several in references for gram in {g for one in several for g in grams(one, n)})
        rarity = {gram: math.log(len(candidates)) - math.log(max(1, seen[gram])) for gram in seen}

        def vector(text, n=n, rarity=rarity):
            found = grams(text, n)
            return {gram: count * rarity.get(gram, math.log(len(candidates))) for gram, count in found.items()}

        for i, (said, several) in enumerate(zip(candidates, references, strict=True)):
            for true in several:
                one, other = vector(said), vector(true)
                dot = sum(min(one[gram], other[gram]) * other[gram] for gram in one if gram in other)
                norm = math.sqrt(sum(v * v for v in one.values())) * math.sqrt(sum(v * v for v in other.values()))
                gap = sum(grams(said, 2).values()) - sum(grams(true, 2).values())
                if norm > 0.0:
                    total[i] += dot / norm * math.exp(-gap * gap / 72.0) / len(several)
    return total * 10.0 / 4.0


@given(ITEMS)
@settings(max_examples=50, deadline=None)
def test_cider_d_agrees_with_its_definition(items):
    candidates, references = [said for said, _ in items], [several for _, several in items]
    ours = cider_d(candidates, references)
    assert ours == pytest.approx(consensus(candidates, references).tolist(), abs=1e-9)
    assert all(0.0 <= value <= 10.0 + 1e-9 for value in ours)


def test_cider_d_depends_on_the_set_and_of_one_caption_it_is_0_as_pycocoevalcap_has_it():
    dog, rain = ("a dog barks", ["a dog barks loudly"]), ("rain falls", ["rain falls hard"])
    pair = cider_d([dog[0], rain[0]], [dog[1], rain[1]])
    three = cider_d([dog[0], rain[0], dog[0]], [dog[1], rain[1], dog[1]])
    assert pair[0] != three[0]
    lone = [{"cider_d": value, CIDER_SET: 1} for value in cider_d([dog[0]], [dog[1]])]
    found = estimate("cider_d", lone)
    assert found.value == Cider().compute_score({0: dog[1]}, {0: [dog[0]]})[0] == 0.0
    assert found.lower is found.upper is None
    assert "one caption" in found.method
    known = estimate("cider_d", [{"cider_d": value, CIDER_SET: 2} for value in pair])
    assert known.value == pytest.approx(sum(pair) / 2)
    assert "rarity over 2 captions" in known.method
    assert not metric_kind("cider_d").poolable


def test_references_without_any_word_give_zero():
    assert cider_d(["a dog", "rain"], [[""], [" "]]) == [0.0, 0.0]


def test_beans_nexts_cider_is_a_tenth_with_its_quirks():
    said, true = ["a dog barks", "Rain falls."], ["a dog barks", "rain falls"]
    assert cider_beans_next(said, true) == [value / 10 for value in cider_d(said, [[one] for one in true])]
    assert cider_beans_next(said, true)[0] == pytest.approx(0.75)
    assert cider_beans_next(["a dog barks"], ["a dog barks"]) == [0.0]
    assert cider_beans_next([], []) == []


def common(one, other):
    """The length of the longest common subsequence."""
    before = [0] * (len(other) + 1)
    for left in one:
        now = [0]
        for j, right in enumerate(other):
            now.append(before[j] + 1 if left == right else max(now[-1], before[j + 1]))
        before = now
    return before[-1]


@given(WORDS, st.lists(WORDS, min_size=1, max_size=3))
@settings(max_examples=50, deadline=None)
def test_rouge_l_agrees_with_its_definition(said, several):
    told = [one.split() for one in several if one]
    value = rouge_l(said, several)
    if not said or not told:
        assert value == 0.0
        return
    recall = max(common(one, said.split()) / len(one) for one in told)
    precision = max(common(one, said.split()) / len(said.split()) for one in told)
    wanted = (1 + 1.44) * precision * recall / (recall + 1.44 * precision) if recall and precision else 0.0
    assert value == pytest.approx(wanted)
    assert rouge_l(said, [said]) == pytest.approx(1.0)


def test_an_empty_answer_to_an_empty_reference_is_no_match():
    assert rouge_l("", [""]) == 0.0
    assert rouge_l("", ["a dog"]) == 0.0
    assert rouge_l("a dog", ["", "a dog"]) == pytest.approx(1.0)


def test_googles_rouge_sees_latin_letters_only():
    assert rouge_google("rougeL", "一只狗在叫", "一只狗在叫", stemmed=False) == (0.0, 0.0, 0.0)
    assert rouge_google("rougeL", "dogs barking", "dog barks", stemmed=True)[2] == pytest.approx(1.0)
    assert rouge_google("rougeL", "dogs barking", "dog barks", stemmed=False)[2] == 0.0


@given(ITEMS)
@settings(max_examples=25, deadline=None)
def test_cocos_bleu_of_sums_is_pycocoevalcaps(items):
    rows = [bleu_statistics(said, several, "none") for said, several in items]
    numbers = range(len(items))
    theirs, _ = Bleu(4).compute_score({i: items[i][1] for i in numbers}, {i: [items[i][0]] for i in numbers}, verbose=0)
    for order in range(1, 5):
        found = estimate(f"coco_bleu{order}", rows)
        assert found.value == pytest.approx(theirs[order - 1], abs=1e-12)


@given(WORDS, st.lists(WORDS, min_size=1, max_size=3))
@settings(max_examples=50, deadline=None)
def test_meteor_without_synonyms_is_bounded_and_the_best_over_references(said, several):
    each = [meteor_nosyn(said.split(), [one.split()]) for one in several]
    assert meteor_nosyn(said.split(), [one.split() for one in several]) == max(each)
    assert all(0.0 <= value <= 1.0 for value in each)
    assert meteor_nosyn([], [said.split()]) == 0.0


def test_meteor_without_synonyms_matches_stems():
    assert meteor_nosyn(["dogs", "barking"], [["dog", "barks"]]) == meteor_nosyn(["dog", "barks"], [["dog", "barks"]])
    assert meteor_nosyn(["hound"], [["dog"]]) == 0.0


def test_meteor_with_synonyms_asks_wordnet(monkeypatch):
    import nltk.corpus

    class Word:
        def __init__(self, name):
            self.name = lambda: name

    class Synset:
        def lemmas(self):
            return [Word("dog"), Word("hound")]

    class WordNet:
        def synsets(self, word):
            return [Synset()] if word in ("dog", "hound") else []

    monkeypatch.setattr(nltk.corpus, "wordnet", WordNet())
    assert meteor(["hound"], [["dog"]]) == meteor(["dog"], [["dog"]]) > 0.0
    assert meteor(["cat"], [["dog"]]) == 0.0


def test_missing_nltk_data_are_named_and_never_fetched():
    assert lacks_data("corpora/no-such") == (
        "METEOR with synonyms needs nltk's data no-such, never downloaded unasked: run nltk.download('no-such')"
    )


JAVA = """#!{python}
import json, pathlib, sys
assert sys.argv[1:3] == ["-jar", "-Xmx8G"] and pathlib.Path(sys.argv[3]).is_file()
libraries = sorted(jar.name for jar in pathlib.Path("lib").glob("*.jar"))
if "stanford-corenlp-3.6.0-models.jar" not in libraries or "SceneGraphParser-1.0.jar" not in libraries:
    sys.exit("Exception in thread main: a library is missing")
rows = json.loads(pathlib.Path(sys.argv[4]).read_text())
scores = [{{"image_id": row["image_id"], "scores": {{"All": {{"f": len(row["test"]) / 10}}}}}} for row in rows]
pathlib.Path(sys.argv[sys.argv.index("-out") + 1]).write_text(json.dumps(scores[::-1]))
"""
"""A program in Java's place that is called as SPICE's is, and answers in another order than it was asked."""


@pytest.fixture
def jars(monkeypatch, tmp_path):
    """The folder of Stanford's jars, empty, and nothing on the PATH but what a test puts into ``bin``."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    folder = tmp_path / "audiobench" / "spice"
    folder.mkdir(parents=True)
    return folder


def put_java(jars, program=JAVA):
    java = jars.parents[1] / "bin" / "java"
    java.write_text(program.format(python=sys.executable))
    java.chmod(0o755)


def test_spice_has_no_value_where_its_parts_are_not_here(jars):
    assert "stanford-corenlp-3.6.0.jar is not here: run audiobench setup-spice" in lacks_spice()
    with pytest.raises(UsageError, match="Stanford CoreNLP"):
        spice(["a dog"], [["a dog"]])
    (jars / "stanford-corenlp-3.6.0.jar").write_bytes(b"")
    assert "stanford-corenlp-3.6.0-models.jar is not here" in lacks_spice()
    (jars / "stanford-corenlp-3.6.0-models.jar").write_bytes(b"")
    assert "no java" in lacks_spice()
    with pytest.raises(UsageError, match="no java"):
        spice(["a dog"], [["a dog"]])
    put_java(jars)
    assert lacks_spice() == ""


def test_spice_takes_the_f_of_all_tuples_from_its_program(jars):
    put_java(jars)
    for name in STANFORD_JARS:
        (jars / name).write_bytes(b"")
    assert spice(["abc", "abcde"], [["a"], ["b"]]) == [0.3, 0.5]


def test_a_program_that_fails_gives_no_value(jars):
    put_java(jars, "#!{python}\nimport sys\nsys.exit('Error: out of memory')\n")
    for name in STANFORD_JARS:
        (jars / name).write_bytes(b"")
    with pytest.raises(FatalError, match=r"failed \(code 1\): Error: out of memory"):
        spice(["abc"], [["a"]])


def test_missing_libraries_are_one_sentence(monkeypatch):
    monkeypatch.setattr(captions.importlib.util, "find_spec", lambda name: None)
    assert captions.lacks_captions("pycocoevalcap", "nltk") == (
        "captions are scored with pycocoevalcap and nltk: pip install 'pytest-audiobench[captions]'"
    )
    assert "pytest-audiobench[captions]" in lacks_spice()
    assert "pytest-audiobench[captions]" in lacks_data("corpora/wordnet")
