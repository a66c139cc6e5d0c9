"""Every scorer is held to reference cases that the libraries and the published code themselves computed."""

from pathlib import Path

import pytest

from .meetings import LACKING
from .table import cases, same

FOLDER = Path(__file__).parents[2].parent / "shared" / "conformance"
FILES = sorted(FOLDER.glob("*.json")) if FOLDER.is_dir() else []

# A file that holds no cases: a table that a test reads.
APART = ("timit_phone_maps",)


@pytest.mark.skipif(not FILES, reason="the reference cases are not on this machine (../shared/conformance)")
@pytest.mark.parametrize("path", [path for path in FILES if path.stem not in APART], ids=lambda path: path.stem)
def test_every_case_in_scope_agrees_or_is_explained(path):
    if path.stem == "multitalker" and LACKING:
        pytest.skip(LACKING)
    differing = [case for case in cases(path) if case.verdict == "differs"]
    assert not differing, "\n".join(f"{case.id}: {case.detail[:300]}" for case in differing[:10])


def test_numbers_are_compared_within_the_tolerance_and_nothing_else_is():
    assert same({"a": [1.0, "NaN"]}, {"a": [1.0 + 1e-10, float("nan")]}, 1e-9)
    assert not same(1.0, 1.1, 1e-9)
    assert not same(0.0, False, 1e-9)
    assert not same("NaN", 0.0, 1e-9)
    assert not same([1.0], [1.0, 2.0], 1e-9)
    assert not same(None, 0.0, 1e-9)
