"""The catalogue of perturbations: names that can be selected, doses that are what they say, draws that hold."""

import re

import numpy as np
import pytest
import soundfile

from pytest_audiobench.audio import signals
from pytest_audiobench.audio.clip import ArraySource, Clip, CombinedSource
from pytest_audiobench.audio.decode import decode
from pytest_audiobench.audio.index import AudioIndex
from pytest_audiobench.datasets.bundled import bundled, bundled_folder
from pytest_audiobench.datasets.dataset import Dataset, perturb
from pytest_audiobench.datasets.manifest import manifest
from pytest_audiobench.datasets.perturbations.catalogue import (
    AUDIOBENCH_PERTURBATIONS,
    PERTURBATION_CATALOGUE,
    SNRS_DB,
    ladder,
    named_perturbations,
)
from pytest_audiobench.datasets.perturbations.perturbation import Perturbation
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import DataNotFound, UsageError

HERE = Places(here=bundled_folder())
SPEECH = bundled("transcription").read(HERE)[:3]
RATE_HZ = 16_000
WITHOUT_FILES = ("white", "pink", "cafe", "babble")


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    """Folders of noise, room responses and voices."""
    root = tmp_path_factory.mktemp("recordings")
    random = np.random.default_rng(1)
    for name in ("noise", "voices"):
        (root / name).mkdir()
        for place in range(9):
            soundfile.write(root / name / f"{place}.wav", 0.1 * random.standard_normal(30_000), RATE_HZ)
    (root / "rirs").mkdir()
    for place in range(5):
        echoes = random.standard_normal(4000) * np.exp(-np.arange(4000) / 800) * 0.1
        echoes[20] = 0.9
        soundfile.write(root / "rirs" / f"{place}.wav", echoes, RATE_HZ)
    return Places(here=root, shelves=[root])


def heard(clip, rate_hz=RATE_HZ):
    return decode(clip, rate_hz, None).samples.astype(np.float64)


def changed(perturbation, sample, places=HERE):
    (one,) = perturb(Dataset("test", lambda places: [sample]), perturbation).read(places)
    return one.clips[0]


def snr_db(clean, noisy):
    """Whatever the sum was scaled by: the noise is what is left of it beside the clean clip."""
    scale = np.dot(noisy, clean) / np.dot(clean, clean)
    return 20 * np.log10(signals.rms(clean * scale) / signals.rms(noisy - clean * scale))


# Names and doses


def test_every_name_can_be_selected_by_k():
    for name, perturbation in PERTURBATION_CATALOGUE.items():
        assert name == str(perturbation) == perturbation.name
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9.]+)*(dB)?", name), name
    assert len({(one.family, one.dose) for one in PERTURBATION_CATALOGUE.values() if one.dose is not None}) == sum(
        one.dose is not None for one in PERTURBATION_CATALOGUE.values()
    )


def test_the_published_five_are_there_in_their_order():
    assert [str(one) for one in AUDIOBENCH_PERTURBATIONS] == ["clean", "cafe-10dB", "pink-5dB", "band-8k", "reverb"]


@pytest.mark.parametrize("family", [*WITHOUT_FILES, "voices", "recorded"])
def test_a_ladder_of_noise_goes_from_20_to_minus_20_db(family):
    rungs = ladder(family)
    assert [one.dose for one in rungs] == list(SNRS_DB)
    assert [str(one) for one in rungs][:1] + [str(one) for one in rungs][-2:] == [
        f"{family}-20dB",
        f"{family}-m10dB",
        f"{family}-m20dB",
    ]
    assert {(one.family, one.unit, one.harder) for one in rungs} == {(family, "dB SNR", "lower")}


def test_a_ladder_may_have_doses_of_ones_own():
    assert [(str(one), one.dose) for one in ladder("pink", 12.5, -3)] == [("pink-12.5dB", 12.5), ("pink-m3dB", -3.0)]
    assert ladder("white", 0) == named_perturbations("white-0dB")
    assert [str(one) for one in ladder("speed", 0.95)] == ["speed-0.95"]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: ladder("brown"), "no perturbations are named 'brown'; there are white, pink"),
        (lambda: ladder("clean"), "no perturbations are named 'clean'"),
        (lambda: ladder("codec", 3), "codecs have no dose"),
        (
            lambda: named_perturbations("clean", "white-1dB"),
            "no perturbation is named 'white-1dB'; did you mean 'white-10dB'",
        ),
    ],
)
def test_a_perturbation_that_is_not_there_is_refused_with_those_that_are(make, said):
    with pytest.raises(UsageError, match=said):
        make()


def test_codecs_stand_alone():
    assert all(one.dose is None and one.family == "codec" for one in ladder("codec"))
    assert {"codec-opus", "codec-gsm", "codec-ima-adpcm"} <= {str(one) for one in ladder("codec")}


# What is heard


@pytest.mark.parametrize("family", [*WITHOUT_FILES, "voices", "recorded"])
@pytest.mark.parametrize("dose", [20, 5, -10])
def test_the_noise_is_at_the_ratio_named(places, family, dose):
    for sample in SPEECH:
        (perturbation,) = ladder(family, dose)
        noisy = heard(changed(perturbation, sample, places))
        clean = heard(sample.clips[0])
        # What the noise shares with the clip by chance moves the estimate, the less the longer the clip.
        assert snr_db(clean, noisy) == pytest.approx(dose, abs=0.5)


@pytest.mark.parametrize("rate_hz", [8_000, 22_050, 48_000])
@pytest.mark.parametrize("family", WITHOUT_FILES)
def test_a_dose_means_the_same_for_a_recording_of_another_rate(family, rate_hz):
    random = np.random.default_rng(3)
    tone = 0.2 * np.sin(2 * np.pi * 700 * np.arange(2 * rate_hz) / rate_hz) + 1e-3 * random.standard_normal(2 * rate_hz)
    sample = Sample("one", (Clip(ArraySource.of(tone, rate_hz)),), "")
    (perturbation,) = ladder(family, 0)
    noisy, clean = heard(changed(perturbation, sample)), heard(sample.clips[0])
    assert snr_db(clean, noisy) == pytest.approx(0, abs=0.5)


@pytest.mark.parametrize("family", [*WITHOUT_FILES, "voices", "recorded"])
def test_the_rungs_of_a_ladder_differ_in_the_dose_alone(places, family):
    sample = SPEECH[0]
    clean = heard(sample.clips[0])
    softer, louder = (heard(changed(one, sample, places)) - clean for one in ladder(family, 20, 10))
    assert np.allclose(louder, softer * 10**0.5, atol=1e-4)


OF_ANY_CLIP = [
    each.name
    for each in PERTURBATION_CATALOGUE.values()
    if each.family not in {"speed", "control", "order", "fragment", "window", "options"}
    and not each.family.startswith(("without-speech", "without-sounds"))
]


@pytest.mark.parametrize("name", OF_ANY_CLIP)
def test_a_perturbation_keeps_the_length_and_what_16_bits_hold(places, name):
    clip = changed(PERTURBATION_CATALOGUE[name], SPEECH[0], places)
    samples = heard(clip)
    assert len(samples) == len(heard(SPEECH[0].clips[0]))
    assert np.abs(samples).max() <= 1
    assert signals.rms(samples) > 0


def test_speed_changes_the_length():
    clean = len(heard(SPEECH[0].clips[0]))
    assert len(heard(changed(PERTURBATION_CATALOGUE["speed-0.7"], SPEECH[0]))) == pytest.approx(clean / 0.7, abs=2)
    assert len(heard(changed(PERTURBATION_CATALOGUE["speed-1.5"], SPEECH[0]))) == pytest.approx(clean / 1.5, abs=2)


def test_no_gain_passes_full_scale_whatever_the_rate_of_the_file():
    random = np.random.default_rng(3)
    clip = Clip(ArraySource.of(0.3 * random.standard_normal(44_100), 44_100, "hiss"))
    sample = Sample(id="s", clips=(clip,), question="", reference="", metadata={})
    loud = heard(changed(PERTURBATION_CATALOGUE["gain-20dB"], sample))
    assert np.max(loud) == 32767 / 32768
    assert np.min(loud) == -1


def test_gain_is_what_a_recording_of_16_bits_holds():
    sample = Sample("one", (Clip(ArraySource.of(np.linspace(-0.5, 0.5, 3001), RATE_HZ)),), "")
    loud = heard(changed(PERTURBATION_CATALOGUE["gain-20dB"], sample))
    assert (loud.min(), loud.max()) == (-1, 32767 / 32768)
    quiet = heard(changed(PERTURBATION_CATALOGUE["gain-m40dB"], sample)) * 32768
    assert np.array_equal(quiet, np.rint(quiet))
    assert quiet.max() == round(0.005 * 32768)


def test_a_band_of_8_khz_holds_nothing_above_4():
    sample = Sample("one", (Clip(ArraySource.of(np.random.default_rng(5).standard_normal(32_000) * 0.1, RATE_HZ)),), "")
    power = np.abs(np.fft.rfft(heard(changed(PERTURBATION_CATALOGUE["band-8k"], sample)))) ** 2
    assert power[len(power) // 2 + 200 :].sum() < 1e-4 * power.sum()


# Draws


def test_samples_have_noise_of_their_own():
    sounds = [
        heard(changed(PERTURBATION_CATALOGUE["white-0dB"], Sample(id_, SPEECH[0].clips, ""))) for id_ in ("a", "b", "a")
    ]
    assert np.array_equal(sounds[0], sounds[2])
    assert not np.allclose(sounds[0], sounds[1], atol=0.01)


def test_clips_of_one_sample_have_noise_of_their_own():
    twice = Sample("a", SPEECH[0].clips * 2, "")
    (one,) = perturb(Dataset("test", lambda places: [twice]), PERTURBATION_CATALOGUE["white-0dB"]).read(HERE)
    assert one.clips[0] == changed(PERTURBATION_CATALOGUE["white-0dB"], Sample("a", SPEECH[0].clips, ""))
    assert one.clips[0] != one.clips[1]


@pytest.mark.parametrize("name", ["recorded-0dB", "voices-0dB", "room"])
def test_recordings_are_drawn_by_the_sample_and_not_by_where_they_lie(places, tmp_path, name):
    folder = {"recorded-0dB": "noise", "voices-0dB": "voices", "room": "rirs"}[name]
    for file in sorted((places.here / folder).iterdir(), reverse=True):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    moved = Places(here=tmp_path, named={folder: tmp_path})
    samples = [Sample(f"sample-{place}", SPEECH[0].clips, "") for place in range(40)]
    first, second = (
        [changed(PERTURBATION_CATALOGUE[name], one, where) for one in samples] for where in (places, moved)
    )
    assert first == second
    assert keys(first) == keys(second)
    assert len({clip.source.clips[1] for clip in first if isinstance(clip.source, CombinedSource)}) > 4


def keys(clips):
    with AudioIndex(None) as index:
        return [clip.key_from(facts.digest) for clip, facts in zip(clips, index.facts_of(clips), strict=True)]


def test_babble_is_made_of_no_utterance_that_is_asked_about():
    asked = {str(clip.source).rpartition("/")[2] for one in bundled("transcription").read(HERE) for clip in one.clips}
    babble = changed(PERTURBATION_CATALOGUE["babble-0dB"], SPEECH[0]).source.clips[1]
    voices = {str(clip.source).rpartition("/")[2] for clip in babble.source.clips}
    assert len(voices) == 8
    assert not voices & asked


@pytest.mark.parametrize(("name", "folder"), [("recorded-10dB", "noise"), ("room", "rirs"), ("voices-10dB", "voices")])
def test_recordings_that_are_not_here_are_told_by_name(tmp_path, name, folder):
    with pytest.raises(DataNotFound, match=f"--ab-data={folder}=FOLDER"):
        changed(PERTURBATION_CATALOGUE[name], SPEECH[0], Places(here=tmp_path))


def test_too_few_voices_are_no_babble(tmp_path):
    soundfile.write(tmp_path / "one.wav", np.full(100, 0.1), RATE_HZ)
    with pytest.raises(UsageError, match="needs 8 recordings beside its own, and there are 1; add more"):
        changed(PERTURBATION_CATALOGUE["voices-0dB"], SPEECH[0], Places(here=tmp_path, named={"voices": tmp_path}))


# Data sets


@pytest.mark.parametrize("name", ["clean", "white-0dB", "babble-5dB", "codec-gsm", "speed-1.3", "gain-20dB", "reverb"])
def test_nothing_is_decoded_before_it_is_played(tmp_path, name):
    (tmp_path / "own.jsonl").write_text('{"id": "a", "audio": "not there.wav", "answer": "words"}\n')
    dataset = perturb(manifest(tmp_path / "own.jsonl"), PERTURBATION_CATALOGUE[name])
    (sample,) = dataset.read(Places(here=tmp_path))
    assert (dataset.name, dataset.perturbation, sample.id) == (f"own+{name}", PERTURBATION_CATALOGUE[name], "a")


def test_a_perturbation_looks_at_its_folder_once_for_all_samples(places, monkeypatch):
    from pytest_audiobench.datasets.perturbations import catalogue

    looked = []
    listing = catalogue.recordings
    monkeypatch.setattr(catalogue, "recordings", lambda *args: looked.append(args) or listing(*args))
    perturb(bundled("transcription"), PERTURBATION_CATALOGUE["room"]).read(places)
    assert len(looked) == 1


@pytest.mark.parametrize("dose", [float("nan"), float("inf"), "5", None, 10**400, 1e200, 1e-200])
def test_a_dose_that_is_no_finite_number_is_a_mistake(dose):
    with pytest.raises(UsageError, match="is not a number to draw a curve over"):
        ladder("white", dose)


def test_a_dose_given_twice_is_a_mistake():
    for doses in ((5, 5.0), (1.23456789, 1.23456788)):
        with pytest.raises(UsageError, match="has a dose twice"):
            ladder("white", *doses)


def test_a_dose_of_any_kind_of_number_is_a_float():
    assert [type(Perturbation("x", "f", None, dose=one).dose) for one in (1, np.float32(1), np.int64(1))] == [float] * 3


@pytest.mark.parametrize(
    ("about", "wrong"),
    [
        ({"name": ""}, "the name '' of a perturbation"),
        ({"name": "sur\udc80"}, "the name"),
        ({"family": "\x1b[31m"}, "the family"),
        ({"unit": "dB\n"}, "the unit"),
        ({"dose": float("nan")}, "the dose nan of x is not a number"),
        ({"harder": "up"}, "harder='up' of the perturbation x"),
    ],
)
def test_a_perturbation_that_no_record_could_hold_is_refused_where_it_is_made(about, wrong):
    with pytest.raises(UsageError, match=re.escape(wrong)):
        Perturbation(**{"name": "x", "family": "f", "prepare": None, **about})


def test_a_clip_never_lies_beneath_itself():
    asked = bundled("language").read(HERE)
    beneath = [one.clips[0].source.clips for one in perturb(bundled("language"), ladder("babble", 0)[0]).read(HERE)]
    for sample, (clip, voices) in zip(asked, beneath, strict=True):
        assert clip == sample.clips[0]
        assert clip not in voices.source.clips
