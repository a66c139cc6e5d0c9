"""``audiobench packs`` and ``audiobench mix preview``, as a user calls them."""

import json
import zipfile

import numpy as np
import pytest
import soundfile

from pytest_audiobench.cli import main


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A folder of packs with one pack ``home``: two loud tones and a silent clip."""
    monkeypatch.chdir(tmp_path)
    times = np.arange(3200) / 16_000
    for label, wave in {
        "hum": 0.3 * np.sin(2 * np.pi * 300 * times),
        "beep": 0.1 * np.sin(2 * np.pi * 1000 * times),
        "hush": 0 * times,
    }.items():
        (tmp_path / "packs" / "home" / label).mkdir(parents=True)
        soundfile.write(tmp_path / "packs" / "home" / label / "1.wav", wave, 16_000)
    return tmp_path / "packs" / "home"


def said(capsys):
    shown = capsys.readouterr()
    return shown.out + shown.err


def test_packs_are_listed_with_those_that_are_skipped(home, capsys):
    (home.parent / "core.json").write_text('{"id": "core", "labels": ["dog"], "cache_subdir": "fsd50k"}')
    assert main(["packs", "--data", "packs=packs"]) == 0
    lines = said(capsys).splitlines()
    assert lines[1].split() == ["demo", "10", "80", "CC0-1.0", "bundled"]
    assert [line.split() for line in lines[2:5]] == [
        ["cabin", "8", "64", "CC0-1.0", "bundled"],
        ["health", "5", "40", "CC0-1.0", "bundled"],
        ["security", "5", "40", "CC0-1.0", "bundled"],
    ]
    assert lines[5].startswith("core                  -      -  skipped: the clips of the pack core are not on this")
    assert lines[6].split()[:3] == ["home", "3", "3"]


def test_a_users_pack_goes_before_the_computed_one_of_its_name(home, capsys):
    home.rename(home.with_name("cabin"))
    assert main(["packs", "--data", "packs=packs"]) == 0
    assert [line.split()[:3] for line in said(capsys).splitlines() if line.startswith("cabin")] == [["cabin", "3", "3"]]
    assert main(["packs", "cabin"]) == 0
    shown = said(capsys)
    assert "in place of FSD50K and UrbanSound8K" in shown
    assert "  traffic                      8     16.0  computed\n" in shown
    assert "  quad               12    48    24\n" in shown


def test_a_pack_is_shown_with_its_labels_probes_and_what_is_wrong(home, capsys):
    assert main(["packs", "home", "--data", "packs=packs"]) == 0
    shown = [" ".join(line.split()) for line in said(capsys).splitlines()]
    assert "beep 1 0.2 16000 Hz" in shown
    assert "solo 3 3 6" in shown
    assert "triple 1 3 0 no false alarms can be measured: no absent sound is asked about" in shown
    (home / "hum" / "1.wav").write_bytes(b"")
    soundfile.write(home / "beep" / "2.wav", np.zeros(80), 8000)
    assert main(["packs", "home", "--data", "home=packs/home"]) == 1
    shown = said(capsys)
    assert "its clips have different rates (1 of 8000 Hz, 2 of 16000 Hz); each is resampled to 16000 Hz" in shown
    assert "wrong: home:hum/1.wav: the file is empty (0 bytes); fetch it again" in shown


def test_a_pack_that_is_not_here_ends_with_1_and_one_that_is_wrong_with_4(home, capsys):
    assert main(["packs", "away"]) == 1
    assert "the pack away is not on this machine" in said(capsys)
    (home / "pack.json").write_text('{"id": "home", "labels": ["hum", "whistle"]}')
    assert main(["packs", "home", "--data", "packs=packs"]) == 4
    assert "has no clip of its label 'whistle'" in said(capsys)


def test_an_archive_is_unpacked_where_it_is_then_found(home, tmp_path, capsys):
    with zipfile.ZipFile(tmp_path / "field.zip", "w") as archive:
        archive.write(home / "hum" / "1.wav", "field/hum/1.wav")
    assert main(["packs", "--unpack", "field.zip", "--to", "packs"]) == 0
    assert main(["packs", "field", "--data", "packs=packs"]) == 0
    assert main(["packs", "--unpack", "field.zip"]) == 4
    assert "--unpack ARCHIVE and --to FOLDER go together" in said(capsys)
    assert main(["packs", "field", "--unpack", "field.zip", "--to", "packs"]) == 4
    assert "field cannot be shown while --unpack unpacks" in said(capsys)


@pytest.mark.parametrize("size", ["nan", "inf", "-1", "0"])
def test_a_size_that_is_none_is_refused_by_name(home, capsys, size):
    assert main(["packs", "--unpack", "field.zip", "--to", "packs", "--most-gb", size]) == 4
    assert f"--most-gb {float(size):g} is not a size" in said(capsys)


def test_a_preview_writes_what_an_eval_would_play(home, capsys):
    preview = ["mix", "preview", "--labels", "hum+beep@-6", "--pack", "home", "--data", "packs=packs"]
    assert main([*preview, "--output", "a.wav"]) == 0
    shown = said(capsys).splitlines()
    assert shown[0] == "hum+beep@-6, of the pack home"
    assert shown[2].split() == ["hum", "0.0", "dB", "0.20", "16000", "Hz", "home:hum/1.wav"]
    assert shown[3].split() == ["beep", "-6.0", "dB", "0.20", "16000", "Hz", "home:beep/1.wav"]
    assert "together 0.20 s at 16000 Hz, peak 0.950" in shown[4]
    wave, rate_hz = soundfile.read("a.wav")
    assert rate_hz == 16_000
    assert np.abs(wave).max() == pytest.approx(0.95, abs=1e-4)
    spectrum = np.abs(np.fft.rfft(wave))
    assert 20 * np.log10(spectrum[200] / spectrum[60]) == pytest.approx(-6, abs=0.05)
    assert main(preview) == 0
    assert soundfile.read("hum+beep@-6.wav")[0].tolist() == wave.tolist()


def test_one_of_several_recipes_is_named(home, capsys):
    recipes = {"mixtures": [{"name": "a b", "labels": ["siren"]}, {"name": "b", "labels": ["rain"]}]}
    (home.parent / "r.json").write_text(json.dumps(recipes))
    assert main(["mix", "preview", "--recipes", "packs/r.json"]) == 4
    assert "name one of the mixtures with --name: there are a b, b" in said(capsys)
    assert main(["mix", "preview", "--recipes", "packs/r.json", "--name", "a b"]) == 0
    assert "written to a-b.wav" in said(capsys)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--labels", "hum+hush"], "clip 2 of 2 is silent"),
        (["--labels", "hush"], "silent"),
        (["--labels", "hum+bep"], "the mixture 'hum+bep': the pack home has no label 'bep'; did you mean 'beep'?"),
        (["--labels", "hum@x"], "is not a label with a level in dB"),
        (["--recipes", "none.yaml"], "there is no file none.yaml; correct the path"),
    ],
)
def test_what_cannot_be_mixed_is_told_in_one_sentence(home, capsys, arguments, words):
    assert main(["mix", "preview", *arguments, "--pack", "home", "--data", "packs=packs"]) == 4
    shown = said(capsys)
    assert words in shown
    assert shown.count("\n") == 1


@pytest.mark.parametrize("name", ["a b", "demo"])
def test_an_archive_that_would_be_a_pack_that_cannot_be_used_is_not_unpacked(home, tmp_path, capsys, name):
    with zipfile.ZipFile(tmp_path / f"{name}.zip", "w") as archive:
        archive.write(home / "hum" / "1.wav", "field/hum/1.wav")
    assert main(["packs", "--unpack", f"{name}.zip", "--to", "packs"]) == 4
    assert not (tmp_path / "packs" / name).exists()
    assert name in said(capsys)


def test_a_folder_whose_name_no_pack_can_have_is_listed_with_the_reason(home, capsys):
    home.rename(home.with_name("my home"))
    assert main(["packs", "--data", "packs=packs"]) == 0
    assert "skipped: 'my home' is not a name of a pack" in said(capsys)
