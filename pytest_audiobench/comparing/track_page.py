"""A track as a page."""

from pathlib import Path

from pytest_audiobench.comparing.track import Track


def write_page(path: Path, one: Track) -> None:
    raise NotImplementedError
