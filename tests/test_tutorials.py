"""The tutorials: each command that they show is run, and prints what they show."""

import pytest

from tests.tutorials import FOLDER, THEN, TUTORIALS, run, workplace

CHECKPOINTS = ("checkpoint", "gate")


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Where answers are kept, so that what one tutorial asked is not asked by the next."""
    return tmp_path_factory.mktemp("store") / "store.sqlite"


@pytest.mark.parametrize("name", TUTORIALS)
def test_a_tutorial_prints_what_it_shows(name, tmp_path, store, request):
    forks = request.getfixturevalue("forks_with_torch" if name in CHECKPOINTS else "forks")
    workplace(name, tmp_path)
    for page in (name, *THEN.get(name, ())):
        printed = run(page, tmp_path, forks, store)
        present = (FOLDER / f"{page}.md").read_text(encoding="utf-8")
        assert printed == present, f"look at the difference, then print it anew: python -m tests.tutorials {name}"


def test_every_tutorial_is_run():
    assert sorted(path.stem for path in FOLDER.glob("*.md")) == sorted(TUTORIALS)
