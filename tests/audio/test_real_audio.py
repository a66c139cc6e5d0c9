"""Real recordings, where they are at hand, decode to what their headers say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pytest_audiobench.audio.clip import Clip, DataRoot, FileSource
from pytest_audiobench.audio.decode import decode
from pytest_audiobench.audio.index import AudioIndex, ClipFacts


@pytest.mark.parametrize("folder", ["sakura", "speech", "noise", "esc50", "separation"])
def test_every_recording_decodes_as_its_header_says(shared: Path, folder: str) -> None:
    root = DataRoot(folder, shared / folder)
    if not root.folder.is_dir():
        pytest.skip(f"{root.folder} is not on this machine")
    files = sorted(root.folder.rglob("*.wav"))
    clips = [Clip(FileSource(root, file.relative_to(root.folder).as_posix())) for file in files]
    with AudioIndex(None) as index:
        facts = index.facts_of(clips)
    assert clips
    for clip, fact in list(zip(clips, facts, strict=True))[::5]:
        assert isinstance(fact, ClipFacts)
        assert fact.duration_s
        heard = decode(clip, 16_000, None)
        assert heard.duration_s == pytest.approx(fact.duration_s, abs=1e-3)
        assert 0 < np.max(np.abs(heard.samples)) < 2
        cut = decode(clip, 16_000, fact.duration_s / 2)
        assert cut.truncated_s == pytest.approx(fact.duration_s / 2, abs=1e-3)
