"""SAKURA (Yang et al., 2025, arXiv 2505.13237): what is heard (single hop), and what follows from it (multi hop)."""

import pytest

from pytest_audiobench import dataset, multiple_choice


@pytest.mark.parametrize("hop", ["single", "multi"])
@pytest.mark.parametrize("track", ["animal", "emotion", "gender", "language"])
def test_sakura(evaluate, track, hop):
    """500 questions for each track and hop; published figures pool both hops of a track."""
    evaluate(dataset("sakura", track, hop), multiple_choice())
