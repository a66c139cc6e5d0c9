"""What is drawn of a pack: evenly, never a label twice, never a distractor that is there, the same everywhere."""

import json
import os
import subprocess
import sys
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from pytest_audiobench.datasets.packs.draws import Draws

PACKS = st.dictionaries(st.text("abcdefghij_", min_size=1, max_size=6), st.integers(1, 6), min_size=1, max_size=8)


@given(PACKS, st.integers(1, 4), st.integers(0, 4), st.integers(0, 25), st.integers(0, 2**70))
def test_a_mixture_holds_each_label_once_and_asks_for_others_that_are_not_in_it(sizes, sources, distractors, n, seed):
    if sources > len(sizes):
        return
    drawn = Draws("p", sizes, seed).mixtures([f"m{i}" for i in range(n)], sources, distractors)
    contents = [frozenset(zip(one.labels, one.clips, strict=True)) for one in drawn]
    assert len(set(contents)) == len(contents) <= n
    for one in drawn:
        assert len(set(one.labels)) == len(one.labels) == sources
        assert len(set(one.absent)) == len(one.absent) == min(distractors, len(sizes) - sources)
        assert not set(one.absent) & set(one.labels)
        assert set(one.absent) | set(one.labels) <= set(sizes)
        assert all(0 <= clip < sizes[label] for label, clip in zip(one.labels, one.clips, strict=True))


@given(st.integers(4, 9), st.integers(1, 4), st.integers(1, 12), st.integers(0, 9))
def test_labels_are_present_equally_often_where_there_are_clips_enough(labels, sources, n, seed):
    sizes = {f"l{i}": 50 for i in range(labels)}
    drawn = Draws("p", sizes, seed).mixtures([f"m{i}" for i in range(n)], sources, 2)
    present = Counter(label for one in drawn for label in one.labels)
    assert len(drawn) == n
    assert max(present.values()) - min(present.get(label, 0) for label in sizes) <= 1
    clips = Counter((label, clip) for one in drawn for label, clip in zip(one.labels, one.clips, strict=True))
    assert max(clips.values()) == 1


@given(st.integers(1, 20), st.integers(1, 20), st.integers(0, 5))
def test_further_mixtures_change_no_earlier_one(fewer, more, seed):
    sizes = dict.fromkeys("abcdef", 4)
    names = [f"m{i}" for i in range(fewer + more)]
    assert (
        Draws("p", sizes, seed).mixtures(names[:fewer], 2, 2) == Draws("p", sizes, seed).mixtures(names, 2, 2)[:fewer]
    )


def test_another_seed_and_another_pack_draw_otherwise():
    sizes = dict.fromkeys("abcdefghij", 8)
    names = [f"m{i}" for i in range(10)]
    first = Draws("p", sizes, 0).mixtures(names, 2, 2)
    assert Draws("p", sizes, 1).mixtures(names, 2, 2) != first
    assert Draws("q", sizes, 0).mixtures(names, 2, 2) != first


ASKED = """
import json
from pathlib import Path
from pytest_audiobench.datasets.packs.sound_id import sound_id
from pytest_audiobench.audio.index import AudioIndex
from pytest_audiobench.datasets.places import Places

found = []
with AudioIndex(None) as index:
    for condition in ("solo", "pair", "triple", "quad", "custom"):
        samples = sound_id("demo", condition).read(Places(Path(), mixes=("siren+rain@-6",)))
        facts = index.facts_of([sample.clips[0] for sample in samples])
        found += [[sample.id, sample.reference, fact.digest] for sample, fact in zip(samples, facts)]
print(json.dumps(found))
"""


def test_every_process_asks_the_same_of_the_same_audio_under_any_hash_seed():
    def asked(hash_seed):
        done = subprocess.run(
            [sys.executable, "-c", ASKED],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            check=True,
            capture_output=True,
            text=True,
        )
        return json.loads(done.stdout)

    first, second = asked("1"), asked("random")
    assert first == second
    assert len(first) == 364
    assert len({id_ for id_, _, _ in first}) == 364
