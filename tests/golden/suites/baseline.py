"""The same questions four times over, so that a baseline is held against several lines."""

import pytest

from pytest_audiobench import manifest, multiple_choice


@pytest.mark.parametrize("half", ["all", "odd"])
def test_tones(evaluate, half):
    evaluate(manifest(f"data/{half}.jsonl", groups=("parity",), cluster="pair"), multiple_choice())
