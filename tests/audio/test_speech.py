"""Speech by espeak-ng: the same samples in any order and process, said once, named by all that it depends on."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from pytest_audiobench.audio import combining, espeak, espeak_process, signals, synthesis, utterances
from pytest_audiobench.audio.clip import Clip, FileSource, SynthesisSource
from pytest_audiobench.audio.clip_record import clip_of, recipe_of
from pytest_audiobench.audio.decode import decode
from pytest_audiobench.audio.index import AudioIndex, ClipFacts
from pytest_audiobench.errors import AudioError, DataNotFound, FatalError, UsageError

pytest.importorskip("espeakng_loader", reason="espeak-ng is in the extra tts")

TEXTS = ["The answer is dog.", "The answer is four.", "kitchen", "zero"]
SPEAKER = """
import hashlib, json, sys
from pathlib import Path
from pytest_audiobench.audio import synthesis, utterances
from pytest_audiobench.audio.clip import Clip
from pytest_audiobench.audio.decode import decode

utterances.store_in(Path(sys.argv[1]))
said = {one.parameters[2][1]: decode(Clip(one), 16_000, None).pcm_digest for one in synthesis.speech(sys.argv[2:])}
print(json.dumps(said))
"""


@pytest.fixture(autouse=True)
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Its own folder for what is said in a test."""
    monkeypatch.setattr(utterances, "_FOLDERS", [])
    utterances.store_in(tmp_path / "speech")
    return tmp_path / "speech"


def in_a_process(folder: Path, texts: list[str]) -> dict[str, str]:
    environment = {**os.environ, "PYTHONHASHSEED": "random", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", SPEAKER, str(folder), *texts]
    printed = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    said: dict[str, str] = json.loads(printed)
    return said


def test_a_text_sounds_the_same_in_any_order_and_in_any_process(tmp_path: Path) -> None:
    orders = [TEXTS, TEXTS[::-1], TEXTS[2:] + TEXTS[:2]]
    with ThreadPoolExecutor() as pool:
        found = list(pool.map(in_a_process, [tmp_path / "a", tmp_path / "b", tmp_path / "b"], orders))
    assert len(found[0]) == 4
    assert found[0] == found[1] == found[2]


def test_what_was_said_is_not_said_again(kept: Path) -> None:
    synthesis.speech(TEXTS)
    files = {path: path.stat().st_mtime_ns for path in kept.glob("*.wav")}
    synthesis.speech([*TEXTS, "one more"])
    again = {path: path.stat().st_mtime_ns for path in kept.glob("*.wav")}
    assert len(files) == 4
    assert len(again) == 5
    assert files.items() <= again.items()


def test_a_damaged_file_is_said_again_and_one_that_vanished_too(kept: Path) -> None:
    (source,) = synthesis.speech(["dog"])
    whole = decode(Clip(source), 16_000, None).pcm_digest
    (path,) = kept.glob("*.wav")
    path.write_bytes(path.read_bytes()[:1000])
    assert synthesis.speech(["dog"]) == [source]
    assert synthesis.render(source, 16_000).any()
    path.unlink()
    assert decode(Clip(source), 16_000, None).pcm_digest == whole


def test_speech_that_does_not_fit_on_the_disk_is_one_sentence_and_leaves_nothing(kept: Path) -> None:
    espeak.release()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
        with pytest.raises(FatalError, match=r"what espeak-ng says cannot be stored in .*; make room there"):
            synthesis.speech(["dog"])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    assert [path.name for path in kept.iterdir()] == [".lock"]


def test_a_speaker_that_is_killed_is_no_speaker_that_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    espeak.release()
    with monkeypatch.context() as patched:
        patched.setattr(espeak_process, "__file__", str(tmp_path / "killed.py"))
        Path(espeak_process.__file__).write_text("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n")
        with pytest.raises(FatalError, match="espeak-ng was ended by signal 9 while it spoke; run again"):
            synthesis.speech(["dog"])


def test_without_a_folder_that_can_be_written_speech_lasts_as_long_as_the_process(tmp_path: Path) -> None:
    utterances._FOLDERS.clear()
    (tmp_path / "file").touch()
    utterances.store_in(tmp_path / "file" / "speech")
    (source,) = synthesis.speech(["dog"])
    assert synthesis.render(source, 16_000).any()


def test_a_key_names_text_voice_rate_level_and_release() -> None:
    sources = [
        *synthesis.speech(["dog", "cat"]),
        *synthesis.speech(["dog"], voice="de"),
        *synthesis.speech(["dog"], voice="en-us+f4"),
        *synthesis.speech(["dog"], rate_wpm=200),
        *synthesis.speech(["dog"], level_db=-20),
    ]
    assert len({source.digest for source in sources}) == 6
    own = dict(sources[0].parameters)
    assert (own["text"], own["voice"], own["rate_wpm"]) == ("dog", "en-us", "165")
    assert own["espeak_ng"] == espeak.release()
    assert synthesis.speech([" dog\n"]) == sources[:1]


@pytest.mark.parametrize("rate_hz", [8_000, 16_000, 22_050, 44_100])
def test_speech_has_its_length_and_level_at_every_rate(rate_hz: int) -> None:
    (source,) = synthesis.speech(["The answer is a dog."], level_db=-30)
    with AudioIndex(None) as index:
        (facts,) = index.facts_of([Clip(source)])
    assert isinstance(facts, ClipFacts)
    heard = decode(Clip(source), rate_hz, None)
    assert facts.duration_s is not None
    assert 1.0 < facts.duration_s < 1.3
    assert len(heard.samples) == round(facts.duration_s * rate_hz)
    assert 20 * np.log10(signals.rms(heard.samples)) == pytest.approx(-30, abs=0.001)


def test_speech_is_put_before_a_clip_as_any_clip_is() -> None:
    tone, (said,) = Clip(synthesis.tone(440, 1.0)), synthesis.speech(["dog"])
    together = decode(combining.preceded(tone, Clip(said), gap_s=0.5), 16_000, None)
    alone = decode(Clip(said), 16_000, None)
    assert len(together.samples) == len(alone.samples) + 8_000 + 16_000


def test_a_recorded_recipe_gives_the_clip_again_without_speaking() -> None:
    (said,) = synthesis.speech(['he said: "(a) dog", NAME:path'])
    clip = combining.overlaid(Clip(synthesis.tone(440, 1.0)), Clip(said))
    assert clip_of(json.loads(json.dumps(recipe_of(clip))), FileSource) == clip  # type: ignore[arg-type]


def test_speech_of_another_release_is_not_imitated() -> None:
    (here,) = synthesis.speech(["dog"])
    there = SynthesisSource("speech", 1, tuple((k, "1.40" if k == "espeak_ng" else v) for k, v in here.parameters))
    with pytest.raises(AudioError, match=r"espeak-ng 1\.40 is not on this machine, which has 1\."):
        decode(Clip(there), 16_000, None)


def test_speech_that_takes_another_time_here_is_an_error() -> None:
    (here,) = synthesis.speech(["dog"])
    longer = SynthesisSource("speech", 1, (("duration_s", "3"), *here.parameters[1:]))
    with pytest.raises(AudioError, match="which is not the recipe's"):
        decode(Clip(longer), 16_000, None)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "an empty text cannot be spoken"),
        ("x" * 5001, "has 5001 characters, and 5000 is the most"),
        ("a\x01b", "holds a control character"),
        ("a\ud800b", "holds a control character"),
        ("...", "nothing is heard when espeak-ng says"),
        ("1 " * 2500, "takes more than 600 s to say"),
    ],
)
def test_a_text_that_cannot_be_spoken_is_one_sentence(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        synthesis.speech([text], rate_wpm=80)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("voice", ["nobody", "en-us+nobody", "../en-us", "en-us+../f4", "", "en us"])
def test_a_voice_that_is_not_there_is_not_replaced_by_another(voice: str) -> None:
    with pytest.raises(UsageError, match="espeak-ng has no voice named"):
        synthesis.speech(["dog"], voice=voice)


@pytest.mark.parametrize("rate_wpm", [0, 79, 451])
def test_a_rate_that_espeak_would_change_is_refused(rate_wpm: int) -> None:
    with pytest.raises(UsageError, match="give 80 to 450"):
        synthesis.speech(["dog"], rate_wpm=rate_wpm)


def test_markup_and_phonemes_in_a_text_are_read_as_text() -> None:
    plain, marked = synthesis.speech(["a b", "a <break time='9s'/> b"])
    assert float(dict(marked.parameters)["duration_s"]) < 9
    assert plain != marked


def test_without_the_extra_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for known in (espeak._places, espeak.release):
        known.cache_clear()
    monkeypatch.setitem(sys.modules, "espeakng_loader", None)
    with pytest.raises(DataNotFound, match=r"espeak-ng is not installed: pip install 'pytest-audiobench\[tts\]'"):
        synthesis.speech(["dog"])
