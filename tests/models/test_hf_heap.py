"""Freed memory is kept where the C library can be told so, and nothing happens elsewhere."""

import ctypes
import types

import pytest

from pytest_audiobench.models.hf.engine import keep_freed_memory


@pytest.fixture
def library(monkeypatch):
    """Puts the given functions in the place of the C library."""

    def having(**functions):
        monkeypatch.setattr(ctypes, "CDLL", lambda name: types.SimpleNamespace(**functions))

    return having


def test_glibc_is_told_to_keep_freed_memory(library, monkeypatch):
    monkeypatch.setattr("sys.platform", "linux")
    told = {}
    library(mallopt=told.__setitem__)
    keep_freed_memory()
    assert told == {-1: 256 << 20, -3: 32 << 20}


@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
def test_other_libraries_are_left_alone(library, monkeypatch, platform):
    monkeypatch.setattr("sys.platform", platform)
    library()
    keep_freed_memory()
