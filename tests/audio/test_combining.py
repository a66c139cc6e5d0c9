"""Clips made of clips: their keys, their lengths, the rates at which they meet."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import soundfile

from pytest_audiobench.audio import combining, edits
from pytest_audiobench.audio.clip import ArraySource, Clip, CombinedSource, DataRoot, FileSource
from pytest_audiobench.audio.decode import decode
from pytest_audiobench.audio.index import AudioIndex, ClipFacts
from pytest_audiobench.audio.signals import gaussian, rms
from pytest_audiobench.errors import AudioError, UsageError


def clip_of(duration_s: float, rate_hz: int = 16_000, name: str = "a") -> Clip:
    wave = 0.1 * gaussian(round(duration_s * rate_hz), name)
    return Clip(ArraySource.of(wave, rate_hz, name))


LONG, SHORT, SLOW = clip_of(2.0), clip_of(0.5, name="b"), clip_of(1.0, 8_000, name="c")


def key_of(clip: Clip) -> str:
    with AudioIndex(None) as index:
        (facts,) = index.facts_of([clip])
    assert isinstance(facts, ClipFacts)
    return clip.key_from(facts.digest)


def test_a_key_knows_all_that_can_be_heard() -> None:
    clips = [
        combining.mixture([LONG, SHORT], [0, 0]),
        combining.mixture([SHORT, LONG], [0, 0]),
        combining.mixture([LONG, SHORT], [0, -1]),
        combining.mixture([LONG, SHORT], [0, 0], length="shortest"),
        combining.mixture([LONG, SHORT], [0, 0], rate_hz=8_000),
        combining.mixture([LONG, SHORT.edited(edits.gain(1))], [0, 0]),
        combining.mixture([LONG, SHORT, SLOW], [0, 0, 0]),
        combining.with_noise(LONG, SHORT, 0, 1),
        combining.with_noise(LONG, SHORT, 0, 2),
        combining.with_noise(LONG, SHORT, 0, None),
        combining.with_noise(LONG, SHORT, 1, 1),
        combining.in_room(LONG, SHORT),
        combining.babble([LONG, SHORT], 1),
        combining.babble([LONG, SHORT], 2),
        combining.preceded(LONG, SHORT),
        combining.preceded(SHORT, LONG),
        combining.preceded(LONG, SHORT, 0.5),
        combining.preceded(LONG, SHORT, level_db=-6),
        combining.joined([LONG, SHORT]),
        combining.joined([SHORT, LONG]),
        combining.joined([LONG, SHORT], 0.5),
        combining.overlaid(LONG, SHORT),
        combining.overlaid(LONG, SHORT, 6),
        combining.summed([LONG, SHORT], [1, 1]),
        combining.summed([LONG, SHORT], [1, 0.5]),
        combining.summed([LONG, SHORT], [1, 1], length="shortest"),
    ]
    assert len({key_of(clip) for clip in clips}) == len(clips)
    assert key_of(combining.mixture([LONG, SHORT], [0, -3])) == key_of(combining.mixture((LONG, SHORT), (0.0, -3.0)))
    assert key_of(combining.babble([LONG, SHORT], 1)) == key_of(combining.babble([LONG, SHORT], "1"))


@pytest.mark.parametrize(
    ("clip", "duration_s"),
    [
        (combining.mixture([SHORT, LONG, SLOW], [0, 0, 0]), 2.0),
        (combining.mixture([SHORT, LONG, SLOW], [0, 0, 0], length="shortest"), 0.5),
        (combining.with_noise(LONG, SHORT, 0), 2.0),
        (combining.with_noise(SHORT, LONG, 0), 0.5),
        (combining.in_room(SLOW, LONG), 1.0),
        (combining.babble([SHORT, SLOW]), 1.0),
        (combining.babble([SHORT, SLOW]).edited(edits.pad(0, 1)), 2.0),
        (combining.preceded(SHORT, LONG), 2.75),
        (combining.preceded(SLOW, SHORT, 0), 1.5),
        (combining.overlaid(SHORT, LONG), 2.0),
        (combining.overlaid(SLOW, SHORT), 1.0),
        (combining.joined([SHORT, LONG, SHORT], 0.25), 3.5),
        (combining.summed([SHORT, LONG], [1, 1]), 2.0),
        (combining.summed([SHORT, LONG], [1, 1], length="shortest"), 0.5),
    ],
)
def test_what_the_index_says_of_a_length_is_what_is_played(clip: Clip, duration_s: float) -> None:
    with AudioIndex(None) as index:
        (facts,) = index.facts_of([clip])
    assert isinstance(facts, ClipFacts)
    assert facts.duration_s == decode(clip, 16_000, None).duration_s == duration_s


def test_clips_of_different_rates_meet_at_the_rules_own() -> None:
    slow, fast = clip_of(1.0, 8_000, "tone"), clip_of(1.0, 44_100, "other")
    mixed = decode(combining.mixture([slow, fast], [0, 0], rate_hz=22_050), 22_050, None)
    assert (mixed.source_rate_hz, mixed.frames) == (22_050, 22_050)
    alone = [decode(clip, 22_050, None).samples.astype(np.float64) for clip in (slow, fast)]
    total = alone[0] / rms(alone[0]) + alone[1] / rms(alone[1])
    assert np.allclose(mixed.samples, 0.95 * total / np.max(np.abs(total)), atol=1e-5)


def test_a_combination_is_combined_edited_and_cut_as_any_clip_is() -> None:
    inner = combining.mixture([LONG, SHORT], [0, 0]).edited(edits.gain(-20))
    outer = combining.with_noise(inner, combining.babble([LONG, SHORT], 1), 5, 1)
    whole, window = decode(outer, 16_000, None), decode(outer, 16_000, 0.25)
    assert np.array_equal(window.samples, whole.samples[:4000])
    assert window.truncated_s == 1.75


def test_clips_one_after_another_keep_their_levels_and_have_silence_between() -> None:
    loud = SHORT.edited(edits.gain(6))
    samples = decode(combining.joined([loud, SHORT], 0.1), 16_000, None).samples
    first, gap, second = samples[:8_000], samples[8_000:9_600], samples[9_600:]
    assert not gap.any()
    assert rms(first) == pytest.approx(rms(second) * 10 ** (6 / 20), rel=1e-4)
    with pytest.raises(UsageError, match="0 clips are joined"):
        combining.joined([])


def test_a_missing_or_empty_part_is_named(tmp_path: Path) -> None:
    root = DataRoot("mine", tmp_path)
    soundfile.write(tmp_path / "none.wav", np.zeros(0), 16_000)
    for name, said in (("dog.wav", r"mine:dog\.wav: no such file"), ("none.wav", r"mine:none\.wav: no sound in it")):
        with pytest.raises(AudioError, match=said):
            decode(combining.mixture([LONG, Clip(FileSource(root, name))], [0, 0]), 16_000, None)
    with AudioIndex(None) as index:
        (facts,) = index.facts_of([combining.mixture([LONG, Clip(FileSource(root, "dog.wav"))], [0, 0])])
    assert isinstance(facts, AudioError)


def test_an_unknown_rule_names_the_known_ones() -> None:
    with pytest.raises(UsageError, match="no rule is named 'duet' in version 1; there are alone version 1, babble"):
        decode(Clip(CombinedSource("duet", 1, 16_000, (LONG,))), 16_000, None)


@pytest.mark.parametrize("levels_db", ["", "0 loud", "0 nan", "0", "0 0 0"])
def test_a_mixture_made_by_hand_with_bad_levels_is_a_mistake(levels_db: str) -> None:
    mixture = CombinedSource("mixture", 1, 16_000, (LONG, SHORT), (("levels_db", levels_db),))
    with pytest.raises(UsageError, match="levels"):
        decode(Clip(mixture), 16_000, None)


def test_a_combination_of_many_names_the_first() -> None:
    assert str(combining.babble([LONG] * 9)).endswith("a (2.00 s), 4 more)")


def test_a_clip_at_another_rate_is_what_is_heard_at_that_rate_and_edits_follow_there() -> None:
    slow = Clip(ArraySource.of(0.1 * np.random.default_rng(1).standard_normal(8_000), 8_000))
    resampled = combining.at_rate(slow)
    assert np.array_equal(decode(resampled, 16_000, None).samples, decode(slow, 16_000, None).samples)
    hiss = decode(resampled.edited(edits.white_noise(0, "a")), 16_000, None).samples
    spectrum = np.abs(np.fft.rfft(hiss)) ** 2
    assert spectrum[len(spectrum) // 2 :].sum() > 0.1 * spectrum.sum()
