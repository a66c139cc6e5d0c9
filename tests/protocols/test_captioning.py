"""How captions are asked for, read and scored, by our default and by the published rules."""

import math
import sys
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_audiobench.audio.clip import ArraySource, Clip
from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError
from pytest_audiobench.metrics.definitions.captions import cider_d
from pytest_audiobench.metrics.meteor import NoSynonyms
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.models.messages import Response
from pytest_audiobench.protocols.captioning import task, words
from pytest_audiobench.protocols.captioning.published_scorers import character_bleu
from pytest_audiobench.protocols.captioning.task import captioning
from pytest_audiobench.protocols.protocol import Answer

CLIP = Clip(ArraySource.of([0.0, 0.1], 16_000))
DOG = ("A dog's barking, loudly!", ("a dog barks loudly", "loud barking of a dog"))
RAIN = ("Heavy rain.", ("rain falls on a roof", "it is raining hard"))


def sample(truths):
    return Sample("a", (CLIP,), "", reference=truths[0], references=truths if len(truths) > 1 else ())


def scored(scorer, pairs, finish="stop"):
    """The whole statistics of (answer, references) pairs, None where the scorer leaves one out."""
    rows = []
    for text, truths in pairs:
        one = sample(truths)
        answer = scorer.parse(one, {"answer": Response.of(text, finish)})
        rows.append((one, answer, scorer.score(one, answer)))
    kept = [(one, answer) for one, answer, row in rows if row is not None]
    more = iter(scorer.together(kept) if scorer.together else [{}] * len(kept))
    return [None if row is None else {**row, **next(more)} for *_, row in rows]


def values(scorer, pairs, **options):
    kept = [row for row in scored(scorer, pairs, **options) if row is not None]
    return {name: metric_kind(name).estimate(kept, None).value for name in scorer.metrics}


def named(name):
    """The scorer as it is now: what is on the machine, and what the environment names, may have changed."""
    return captioning().available[name]


def test_a_caption_is_asked_for_unless_the_sample_has_its_own_question():
    (stage,) = captioning().stages
    assert stage.task == "open"
    assert stage.render(sample(("x",)), {})[0].parts[1] == "Describe what you hear in one sentence."
    asked = Sample("a", (CLIP,), "What instrument?", reference="x")
    assert stage.render(asked, {})[0].parts[1] == "What instrument?"


def test_the_default_compares_words_with_all_references():
    (scorer,) = captioning().scorers
    assert (scorer.name, scorer.metrics) == ("captions", ("cider_d", "rouge_l", "meteor_nosyn"))
    found = values(scorer, [DOG, RAIN])
    assert found["rouge_l"] > 0.3
    said = ["a dog 's barking loudly", "heavy rain"]
    assert found["cider_d"] == pytest.approx(np.mean(cider_d(said, [list(DOG[1]), list(RAIN[1])])))
    assert "cider:set" in scorer.signature


def test_an_empty_answer_scores_nothing_and_is_kept():
    empty, full = scored(named("captions"), [("", DOG[1]), RAIN])
    assert (empty["cider_d"], empty["rouge_l"], empty["meteor_nosyn"]) == (0.0, 0.0, 0.0)
    assert full["cider_set"] == 2


def test_every_scorer_has_its_own_name_and_signature():
    available = captioning().available
    for name, scorer in available.items():
        assert scorer.name == name
        assert set(scorer.companions) <= set(available)
    assert len({scorer.signature for scorer in available.values()}) == len(available)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("spider", "Stanford CoreNLP"),
        ("meteor", "wordnet"),
        ("audiobench", "nltk"),
        ("cmi-bench-meteor", "wordnet"),
        ("salmonn-repro", "nltk"),
        ("bertscore", "bert_score"),
    ],
)
def test_what_lacks_its_parts_is_refused_by_name_and_left_out_of_all(name, sentence):
    if not named(name).missing_parts():
        pytest.skip(f"the parts of {name} are on this machine")
    with pytest.raises(UsageError, match=f"{name} cannot be used here: .*{sentence}"):
        captioning(name)
    assert name not in [scorer.name for scorer in captioning("all").scorers]


def test_spider_is_the_mean_of_both_and_never_of_one(monkeypatch):
    monkeypatch.setattr(words, "spice", lambda said, true: [0.2 for _ in said])
    found = scored(named("spider"), [DOG, RAIN])
    for row in found:
        assert row["spider"] == pytest.approx((row["cider_d"] + 0.2) / 2)
    monkeypatch.undo()
    if named("spider").missing_parts():
        with pytest.raises(UsageError, match="SPICE"):
            scored(named("spider"), [DOG, RAIN])


@pytest.mark.parametrize(
    ("name", "said", "equal"),
    [
        ("meteor", "A dog barks, loudly!", True),
        ("audiobench", "a dog barks loudly", True),
        ("audiobench", "loud barking of a dog", False),
        ("cmi-bench-meteor", "a dog barks loudly", True),
        ("salmonn-repro", "loud barking of a dog", True),
    ],
)
def test_meteor_of_each_project_has_its_own_words_and_references(name, said, equal, monkeypatch):
    import nltk
    import nltk.corpus

    monkeypatch.setattr(nltk, "word_tokenize", str.split)
    monkeypatch.setattr(nltk.corpus, "wordnet", NoSynonyms())
    scorer, one = named(name), sample(DOG[1])
    best = scorer.score(one, Answer("parsed", DOG[1][0]))["meteor"]
    found = scorer.score(one, Answer("parsed", said))["meteor"]
    assert (found > 0.98 * best) is equal
    assert scorer.score(one, Answer("empty"))["meteor"] == 0.0


def nltk_bleu(said, true, weights):
    """Papineni's formula over characters, for texts where every weighted order matches."""
    logs = 0.0
    for n, weight in enumerate(weights, start=1):
        if not weight:
            continue
        grams = [[text[i : i + n] for i in range(len(text) - n + 1)] for text in (said, true)]
        matched = sum(min(grams[0].count(gram), grams[1].count(gram)) for gram in set(grams[0]))
        logs += weight * math.log(matched / len(grams[0]))
    return min(1.0, math.exp(1 - len(true) / len(said))) * math.exp(logs)


@pytest.mark.parametrize("weights", [(0.25,) * 4, (0.0, 0.0, 0.0, 1.0)])
def test_cmi_benchs_bleu_is_of_characters(weights):
    said, true = "a dog is barking", "a dog barks loudly"
    assert character_bleu(said, true, weights) == pytest.approx(nltk_bleu(said, true, weights))
    assert character_bleu("", true, weights) == character_bleu(said, "", weights) == 0.0
    assert character_bleu("xyz", true, weights) == pytest.approx(0.0, abs=1e-60)


def test_cmi_benchs_rouge_is_a_recall_that_length_does_not_hurt():
    short, long = "a dog barks", "a dog barks and then very many other things are heard for a long while"
    found = [row["rouge_l_recall"] for row in scored(named("cmi-bench"), [(short, (short,)), (long, (short,))])]
    assert found == [1.0, 1.0]


def test_notas_spider_is_a_cider_of_raw_words_and_one_reference():
    found = scored(named("nota"), [("A dog barks.", ("a dog barks.", "x")), ("rain falls", ("rain falls", "y"))])
    assert [row["cider_d"] for row in found] == cider_d(
        ["A dog barks.", "rain falls"], [["a dog barks."], ["rain falls"]]
    )
    assert named("nota").metrics == ("cider_d",)


def test_ultraevals_set_without_java():
    found = values(named("ultraeval"), [("a dog barks loudly", DOG[1]), ("rain falls on a roof", RAIN[1])])
    assert found["coco_bleu4"] == pytest.approx(1.0, abs=1e-6)
    assert found["rouge_l"] == pytest.approx(1.0)


def test_the_music_reproduction_leaves_out_what_did_not_end_and_shows_the_keeping_one():
    protocol = captioning("salmonn-repro-music")
    assert [scorer.name for scorer in protocol.scorers] == ["salmonn-repro-music", "salmonn-repro-music-keep"]
    skipping, keeping = protocol.scorers
    assert scored(skipping, [DOG], finish="length") == [None]
    assert scored(skipping, [("</s>", DOG[1])])[0] is not None
    assert scored(keeping, [DOG], finish="length")[0] is not None
    said = [("A Dog Barks, Loudly", ("a dog barks loudly",))]
    assert values(named("salmonn-repro-music-nopunct"), said)["bleu"] == pytest.approx(100.0)
    assert values(skipping, said)["bleu"] < 100.0


def test_bertscore_takes_the_users_folder_and_layer(monkeypatch, tmp_path):
    asked = {}

    def score(said, true, **options):
        asked.update(options, said=said, true=true)
        return None, None, np.array([0.5] * len(said))

    fake = ModuleType("bert_score")
    fake.score = score
    fake.__spec__ = task.importlib.util.spec_from_loader("bert_score", None)
    monkeypatch.setitem(sys.modules, "bert_score", fake)
    assert "FOLDER#LAYER" in named("bertscore").missing_parts()
    (tmp_path / "config.json").write_text("{}")
    monkeypatch.setenv("AUDIOBENCH_BERTSCORE", f"{tmp_path}#17")
    scorer = named("bertscore")
    assert scorer.missing_parts() == ""
    assert f"model:{tmp_path.name}|layer:17" in scorer.signature
    assert [row["bertscore"] for row in scored(scorer, [DOG, ("", RAIN[1])])] == [0.5, 0.0]
    assert asked == {"model_type": str(tmp_path), "num_layers": 17, "said": [DOG[0]], "true": [list(DOG[1])]}


AVAILABLE = captioning().available
HERE = [name for name, scorer in AVAILABLE.items() if not scorer.missing_parts()]


@pytest.mark.parametrize("name", HERE)
@given(st.lists(st.tuples(st.text(max_size=25), st.tuples(st.text(max_size=25), st.text(max_size=9))), max_size=4))
@settings(max_examples=20, deadline=None)
def test_no_text_crashes_a_scorer(name, pairs):
    for text, truths in [*pairs, ("\ud800", ("\0", "a")), ("", ("", ""))]:
        for row in scored(AVAILABLE[name], [(text, truths), DOG]):
            assert row is None or all(math.isfinite(value) for value in row.values())


@pytest.mark.parametrize("name", HERE)
def test_the_order_of_samples_changes_no_value(name):
    pairs = [DOG, RAIN, ("a man speaks", ("a man is speaking", "speech"))]
    assert values(named(name), pairs) == pytest.approx(values(named(name), pairs[::-1]))


def test_a_refused_caption_keeps_its_words():
    one = sample(DOG[1])
    assert named("captions").parse(one, {"answer": Response.of("I'm sorry.", "refusal")}) == Answer(
        "refused", "I'm sorry."
    )


def test_one_caption_in_several_epochs_is_a_set_of_one():
    scorer = captioning().scorers[0]
    sample = Sample("a", (), "", reference="a dog barks")
    answer = scorer.parse(sample, {"answer": Response.of("a dog barks")})
    assert scorer.together is not None
    found = scorer.together([(sample, answer)] * 3)
    assert metric_kind("cider_d").estimate(found, None).value == 0.0
