"""Who says what is injected: which file or voice says which option, and what is refused."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile

from pytest_audiobench.audio import espeak as program
from pytest_audiobench.audio import utterances
from pytest_audiobench.audio.clip import ArraySource, Clip, FileSource
from pytest_audiobench.datasets.bundled import bundled
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.datasets.voices import Line, bundled_digits, espeak, first_available_voices, speech_files
from pytest_audiobench.errors import DataNotFound, UsageError

TONE = Clip(ArraySource.of(np.ones(160), 16_000))


def line(option: str, words: str | None = None, clip: Clip = TONE, id_: str = "a") -> Line:
    sample = Sample(id_, (clip,), "?", choices=(option, "other"), reference=option)
    return Line(sample, option, f"The answer is {option}." if words is None else words)


def folder(path: Path, *names: str, listed: str | None = None) -> Places:
    path.mkdir(exist_ok=True)
    for name in names:
        (path / name).parent.mkdir(exist_ok=True)
        soundfile.write(path / name, np.full(800, 0.1), 16_000)
    if listed is not None:
        (path / "speech.jsonl").write_text(listed)
    return Places(path, named={"injection": path})


def said(places: Places, *lines: Line) -> list[str]:
    found = [speech.clip.source for speech in speech_files()(places, lines)]
    return [source.path for source in found if isinstance(source, FileSource)]


def test_a_file_says_what_it_is_called(tmp_path: Path) -> None:
    places = folder(tmp_path, "Dog.wav", "a_large-cat.FLAC", "more/Zürich.ogg")
    assert said(places, line("dog"), line("A large (cat)!"), line("ZÜRICH")) == [
        "Dog.wav",
        "a_large-cat.FLAC",
        "more/Zürich.ogg",
    ]
    (speech,) = speech_files()(places, [line("dog")])
    assert speech.by == "injection"


def test_the_words_are_preferred_to_the_option_alone(tmp_path: Path) -> None:
    places = folder(tmp_path, "dog.wav", "the_answer_is_dog.wav")
    assert said(places, line("dog"), line("dog", "It is a dog")) == ["the_answer_is_dog.wav", "dog.wav"]


def test_a_manifest_says_which_file_says_which(tmp_path: Path) -> None:
    rows = [{"text": "C", "audio": "1.wav"}, {"text": "c#", "audio": "./sub/2.wav"}]
    places = folder(tmp_path, "1.wav", "sub/2.wav", "c.wav", listed="\n".join(map(json.dumps, rows)))
    assert said(places, line("C"), line("C#")) == ["1.wav", "sub/2.wav"]


@pytest.mark.parametrize(
    ("names", "listed", "options", "message"),
    [
        (["dog.wav"], None, ["dog", "cat", "cow"], r"has no speech for 2 of the options \('cat', 'cow'\)"),
        (["c.wav"], None, ["C", "C#"], "does not distinguish the options 'C' and 'C#'"),
        (["dog.wav", "Dog.flac"], None, ["dog"], "whose names say the same"),
        ([], None, ["dog"], "holds no audio file"),
        (["1.wav"], '{"text": "dog", "audio": "../1.wav"}', ["dog"], "line 1: the path '../1.wav' leaves its folder"),
        (["1.wav"], '{"text": "dog"}', ["dog"], "line 1 has no text and audio"),
        (["1.wav"], '{"text": "a", "audio": "1.wav"}\n{"text": " A", "audio": "1.wav"}', ["a"], "line 2 .* again"),
        (["1.wav"], "[]", ["dog"], "line 1 is JSON but no object"),
    ],
)
def test_what_a_folder_cannot_say_is_one_sentence(
    tmp_path: Path, names: list[str], listed: str | None, options: list[str], message: str
) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        speech_files()(folder(tmp_path, *names, listed=listed), [line(option) for option in options])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("listed", [None, ""])
def test_a_folder_of_other_options_is_passed_over(tmp_path: Path, listed: str | None) -> None:
    places = folder(tmp_path, "dog.wav", listed=listed)
    with pytest.raises(DataNotFound, match=r"has speech for none of the options \('four', 'six'\)"):
        speech_files()(places, [line("four"), line("six")])
    both = first_available_voices(speech_files(), bundled_digits())
    assert [one.by for one in both(places, [line("four")])] == ["bundled digits"]


def test_bundled_digits_say_a_digit_by_another_recording_than_the_samples_own() -> None:
    samples = bundled("digits").read(Places(Path()))
    lines = [Line(one, option, "") for one in samples for option in one.choices]
    found = bundled_digits()(Places(Path()), lines)
    by_source = {one.clips[0].source: one for one in samples}
    for wanted, speech in zip(lines, found, strict=True):
        lender = by_source[speech.clip.source]
        assert lender.reference == wanted.option
        assert lender.id != wanted.sample.id
    assert len({speech.clip for speech in found}) > 60
    assert bundled_digits()(Places(Path()), lines[::-1]) == list(found)[::-1]


def test_bundled_digits_say_nothing_but_digits() -> None:
    with pytest.raises(DataNotFound, match="the bundled digits do not say 'dog'"):
        bundled_digits()(Places(Path()), [line("four"), line("dog")])


def test_the_first_voices_that_can_say_all_of_it_are_taken(tmp_path: Path) -> None:
    both = first_available_voices(speech_files(), bundled_digits())
    assert [one.by for one in both(Places(tmp_path), [line("four")])] == ["bundled digits"]
    assert [one.by for one in both(folder(tmp_path, "four.wav"), [line("four")])] == ["injection"]


def test_where_nobody_can_say_it_all_remedies_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for known in (program._places, program.release):
        known.cache_clear()
    monkeypatch.setitem(sys.modules, "espeakng_loader", None)
    with pytest.raises(DataNotFound) as caught:
        first_available_voices(speech_files(), espeak())(Places(tmp_path), [line("dog")])
    assert "--ab-data=injection=FOLDER" in str(caught.value)
    assert "pip install 'pytest-audiobench[tts]'" in str(caught.value)


def test_a_text_that_cannot_be_spoken_is_told_with_its_sample(tmp_path: Path) -> None:
    pytest.importorskip("espeakng_loader", reason="espeak-ng is in the extra tts")
    with pytest.raises(UsageError, match=r"sample 'b': .* control character"):
        espeak()(Places(tmp_path), [line("dog"), line("d\x02g", id_="b")])


@pytest.mark.parametrize(
    ("option", "others", "is_clear"),
    [
        ("dog", ["♪", "犬"], True),
        ("♪", ["♫", "dog"], False),
        ("...", ["dog"], False),
        ("犬", ["猫", "dog"], False),
        ("犬", ["dog"], True),
        ("+", ["-", "dog"], True),
        ("C", ["C#"], True),
        ("Spätzle", ["Knödel"], True),
        ("dog", ["Dog."], True),  # one option twice
    ],
)
def test_an_option_that_is_not_heard_or_sounds_as_another_is_a_doubt(
    tmp_path: Path, option: str, others: list[str], is_clear: bool
) -> None:
    pytest.importorskip("espeakng_loader", reason="espeak-ng is in the extra tts")
    own = line(option)
    own = own._replace(sample=Sample("a", (TONE,), "?", choices=(option, *others), reference=option))
    told = [speech.doubt for speech in espeak()(Places(tmp_path, cache=tmp_path), [own, line("dog", id_="b")])]
    assert told[1] == ""
    assert (told[0] == "") == is_clear
    assert is_clear or "says the injected option as nothing, or as it says another" in told[0]


def test_what_espeak_says_is_kept_beside_the_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("espeakng_loader", reason="espeak-ng is in the extra tts")
    monkeypatch.setattr(utterances, "_FOLDERS", [])
    speeches = espeak()(Places(tmp_path, cache=tmp_path), [line("dog"), line("cat"), line("dog")])
    assert len(list((tmp_path / "speech").glob("*.wav"))) == 2
    assert speeches[0] == speeches[2] != speeches[1]
    assert speeches[0].by == "espeak-ng en-us"
