"""Mixtures with probes as a data set."""

import hashlib
import json

import numpy as np
import pytest

from pytest_audiobench.audio.combining import mixture
from pytest_audiobench.audio.decode import decode
from pytest_audiobench.datasets.catalogue import dataset
from pytest_audiobench.datasets.packs.discovery import find_pack, pack_from_labels
from pytest_audiobench.datasets.packs.sound_id import sound_id
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.errors import DataNotFound, UsageError


def test_a_sample_asks_for_one_label_of_a_mixture(places):
    dataset = sound_id("home", "pair", mixtures=2)
    assert (dataset.name, dataset.cluster) == ("sound_id/home/pair", "mixture")
    assert dataset.groups == ("pack", "condition", "label")
    samples = dataset.read(places)
    assert [sample.reference for sample in samples] == ["yes", "yes", "no", "no"] * 2
    assert {sample.metadata["mixture"] for sample in samples} == {"home-pair-001", "home-pair-002"}
    asked = next(sample for sample in samples if sample.metadata["label"] == "dog bark")
    assert asked.id == f"{asked.metadata['mixture']}/dog_bark"
    assert (asked.question, asked.choices) == ("", ())
    assert {**asked.metadata, "mixture": ""} == {
        "label": "dog bark",
        "pack": "home",
        "condition": "pair",
        "mixture": "",
        "sources": 2,
    }
    assert len({sample.clips[0] for sample in samples}) == 2
    assert len(samples[0].clips[0].source.clips) == 2


def test_a_mixture_sounds_as_the_rule_of_mixtures_says(places):
    sample = sound_id("home", "quad", mixtures=1).read(places)[0]
    heard = decode(sample.clips[0], 16_000, None)
    assert np.abs(heard.samples).max() == pytest.approx(0.95, abs=1e-4)
    peaks = np.argsort(np.abs(np.fft.rfft(heard.samples)))[-4:] * 16_000 / len(heard.samples)
    assert sorted(int(peak) // 100 for peak in peaks) == [3, 4, 5, 6]


def test_another_seed_is_another_data_set_with_other_ids(places):
    first, second = (sound_id("home", "pair", seed=seed) for seed in (0, 7))
    assert second.name == "sound_id/home/pair-seed7"
    assert not {one.id for one in first.read(places)} & {one.id for one in second.read(places)}


def test_a_pack_without_clips_for_more_gives_fewer_mixtures(places):
    assert len({one.metadata["mixture"] for one in sound_id("home", "solo").read(places)}) == 8


def test_recipes_are_the_condition_custom(places, tmp_path):
    recipe = {"name": "wet", "labels": ["rain", "tap"], "label_levels": {"tap": -6}, "pin": {"rain": "1.wav"}}
    (tmp_path / "mine.json").write_text(json.dumps({"mixtures": [recipe, {"labels": ["siren"], "pack": "demo"}]}))
    dataset = sound_id("home", recipes="mine.json")
    assert dataset.name == "sound_id/home/custom"
    samples = dataset.read(places)
    assert [(one.id, one.reference) for one in samples[:2]] == [("wet/rain", "yes"), ("wet/tap", "yes")]
    assert [one.metadata["pack"] for one in samples] == ["home"] * 4 + ["demo"] * 3
    pack = find_pack("home", places)
    tap = samples[0].clips[0].source.clips[1]
    assert samples[0].clips[0] == mixture([pack.clips["rain"][1], tap], [0, -6])
    (tmp_path / "mine.json").write_text(json.dumps({"mixtures": [{"labels": ["cat"]}, recipe]}))
    again = [one for one in dataset.read(places) if one.metadata["mixture"] == "wet"]
    assert again == samples[:4], "what else a file asks for changes no mixture"


def test_a_pin_that_names_no_file_stands_for_a_clip_by_its_sha256(places, tmp_path):
    (tmp_path / "a.json").write_text(json.dumps({"mixtures": [{"labels": ["cat"], "pin": {"cat": "loud one"}}]}))
    number = int(hashlib.sha256(b"loud one").hexdigest()[:8], 16) % 2
    sample = sound_id("home", recipes="a.json").read(places)[0]
    assert sample.clips[0].source.clips[0] == find_pack("home", places).clips["cat"][number]


@pytest.mark.parametrize(
    ("recipe", "said"),
    [
        ({"labels": ["cat", "dig bark"]}, "the pack home has no label 'dig_bark'; did you mean 'dog_bark'"),
        ({"labels": ["cat"], "pin": {"cat": "9.wav"}}, "its 'pin' of cat is '9.wav', not one of its clips"),
    ],
)
def test_a_recipe_that_the_pack_cannot_serve_is_told_in_one_sentence(places, tmp_path, recipe, said):
    (tmp_path / "a.json").write_text(json.dumps({"mixtures": [recipe]}))
    with pytest.raises(UsageError, match=said):
        sound_id("home", recipes="a.json").read(places)


def test_all_that_the_pack_cannot_serve_is_named_at_once(places, tmp_path):
    mixtures = [{"labels": ["kat", "rian"]}, {"labels": ["cat"]}, {"labels": ["cat", "tap"], "pin": {"tap": "9.wav"}}]
    (tmp_path / "a.json").write_text(json.dumps({"mixtures": mixtures}))
    with pytest.raises(UsageError) as refused:
        sound_id("home", recipes="a.json").read(places)
    where = f"{tmp_path / 'a.json'}, mixture 'recipe-"
    assert [sentence.removeprefix(where) for sentence in str(refused.value).splitlines()] == [
        "1': the pack home has no label 'kat'; did you mean 'cat'?",
        "1': the pack home has no label 'rian'; did you mean 'rain'?",
        "3': its 'pin' of tap is '9.wav', not one of its clips; did you mean '1.wav' or '0.wav'?",
    ]


def test_what_is_asked_for_and_cannot_be_is_told(places):
    with pytest.raises(UsageError, match="there is no condition 'duo'; there are solo, pair, triple, quad and custom"):
        sound_id("demo", "duo")
    with pytest.raises(UsageError, match="recipes are mixtures of their own"):
        sound_id("demo", "pair", recipes="a.yaml")
    with pytest.raises(DataNotFound, match="no --ab-mix given"):
        sound_id("demo", "custom").read(places)
    with pytest.raises(DataNotFound, match="the pack gone is not on this machine"):
        sound_id("gone", "pair").read(places)


def test_a_pack_with_too_few_labels_for_a_condition_is_skipped(places, manifest):
    manifest(labels=["cat", "tap"])
    with pytest.raises(DataNotFound, match="has 2 labels, and a triple is made of 3"):
        sound_id("home", "triple").read(places)


def test_sakuras_animals_are_mixed_and_heard(shared):
    places = Places(shared, {"sakura": shared / "sakura"})
    samples = sound_id(pack_from_labels(dataset("sakura", "animal", "single"), by="label"), "triple", mixtures=2).read(
        places
    )
    assert [sample.reference for sample in samples] == ["yes", "yes", "yes", "no", "no"] * 2
    assert decode(samples[0].clips[0], 16_000, None).duration_s == pytest.approx(5.0, abs=0.01)


@pytest.mark.parametrize("mixtures", [0, -1, 2.5, True, 10**9])
def test_a_number_of_mixtures_that_cannot_be_drawn_is_refused_at_once(mixtures):
    with pytest.raises(UsageError, match="cannot be drawn; ask for a whole number from 1 to 10,000"):
        sound_id("demo", "pair", mixtures=mixtures)
