"""What pytest's cache keeps of declarative files: what nobody selects is not read again, and nothing is stale."""

import json
import os
import time

import pytest

from pytest_audiobench.plugin import declaration_index

LISTING = """
import sys
from pathlib import Path

OPENED = set()

def listen(event, args):
    if event == "open" and str(args[0]).endswith(".audiobench.toml"):
        OPENED.add(Path(args[0]).name.split(".")[0])

sys.addaudithook(listen)

def pytest_unconfigure():
    Path("opened.txt").write_text(" ".join(sorted(OPENED)))
"""
DECLARATION = """
[parameters]
half = ["low", "high"]
[data]
rows = "{half}.jsonl"
[sample]
id = "{id}"
audio = "{file}"
answer = "{label}"
"""


class Catalogue:
    """Declarations, collected or run with pytest's cache."""

    def __init__(self, suite):
        self.suite, self.path = suite, suite.path
        self.cache = self.path / ".pytest_cache" / "v" / "audiobench" / "declarations"
        with (self.path / "conftest.py").open("a") as lab:
            lab.write(LISTING)

    def write(self, name, text=DECLARATION):
        """The file, last written an hour ago."""
        file = self.path / f"{name}.audiobench.toml"
        file.write_text(text)
        hour_ago = int(file.stat().st_ctime) - 3600
        os.utime(file, (hour_ago, hour_ago))

    def run(self, *args, model="tone:one"):
        return self.suite.pytest("-p", "no:hypothesispytest", f"--ab-model={model}", *args)

    def collect(self, *args):
        """The evals' ids."""
        result = self.run("--collect-only", "-q", *args)
        assert result.ret == pytest.ExitCode.OK
        return [line.partition("::test_")[2] for line in result.outlines if "::" in line]

    @property
    def opened(self):
        return (self.path / "opened.txt").read_text().split()


@pytest.fixture
def catalogue(suite):
    catalogue = Catalogue(suite)
    catalogue.write("birds")
    catalogue.write("frogs")
    return catalogue


BOTH = ["birds[low]", "birds[high]", "frogs[low]", "frogs[high]"]


def test_a_file_that_is_not_run_is_read_once(catalogue):
    assert (catalogue.collect(), catalogue.opened) == (BOTH, ["birds", "frogs"])
    assert (catalogue.collect(), catalogue.opened) == (BOTH, [])
    catalogue.run("-k", "frogs").assert_outcomes(skipped=1, deselected=3)
    assert catalogue.opened == ["frogs"]


def test_workers_read_what_one_of_them_remembers(catalogue):
    catalogue.run("-n2").assert_outcomes(skipped=2)
    catalogue.run("-n2", "-k", "frogs").assert_outcomes(skipped=1)
    assert catalogue.collect() == BOTH
    assert catalogue.opened == []


def test_without_pytest_s_cache_files_are_read_each_time(catalogue):
    for _ in range(2):
        assert (catalogue.collect("-p", "no:cacheprovider"), catalogue.opened) == (BOTH, ["birds", "frogs"])


def test_a_file_that_was_just_written_is_not_remembered(catalogue):
    assert declaration_index._SETTLED_NS >= 1e9
    # However long collecting takes, it is young; birds is older by a day.
    conftest = catalogue.path / "conftest.py"
    settled = "from pytest_audiobench.plugin import declaration_index\ndeclaration_index._SETTLED_NS = 3600 * 10**9\n"
    conftest.write_text(conftest.read_text() + settled)
    yesterday = time.time() - 86_400
    os.utime(catalogue.path / "birds.audiobench.toml", (yesterday, yesterday))
    (catalogue.path / "frogs.audiobench.toml").touch()
    catalogue.collect()
    catalogue.collect()
    assert catalogue.opened == ["frogs"]


def test_words_and_grids_of_a_file_that_is_not_read_are_its_own(catalogue):
    words = '[source]\ntask = "croaking"\ndomain = ["ponds", "brooks"]\n'
    catalogue.write("frogs", 'perturbations = ["clean"]\n' + DECLARATION + words)
    evals = ["frogs[low-clean]", "frogs[high-clean]"]
    for opened in (["birds", "frogs"], []):
        assert (catalogue.collect("--strict-markers", "-m", "ponds and croaking"), catalogue.opened) == (evals, opened)
    assert catalogue.collect("-k", "brooks and high") == evals[1:]


@pytest.mark.parametrize("edit", ["longer", "as long", "as long, its date set back", "another file in its place"])
def test_a_file_that_was_changed_is_read(catalogue, edit):
    catalogue.collect()
    file = catalogue.path / "frogs.audiobench.toml"
    date = file.stat().st_mtime_ns
    text = DECLARATION.replace('"low"', '"lower"' if edit == "longer" else '"LOW"')
    if edit == "another file in its place":
        catalogue.write("toads", text)
        (catalogue.path / "toads.audiobench.toml").replace(file)
    else:
        file.write_text(text)
    if edit != "as long":
        os.utime(file, ns=(date, date))
    assert catalogue.collect()[2] == ("frogs[lower]" if edit == "longer" else "frogs[LOW]")
    assert catalogue.opened == ["frogs"]


@pytest.mark.parametrize("before", [DECLARATION, "colour = 'green'"], ids=["that was right", "that was never right"])
def test_a_mistake_in_a_file_that_nothing_selects_is_said(catalogue, before):
    catalogue.write("frogs", before)
    catalogue.run("--collect-only")
    catalogue.write("frogs", DECLARATION.replace("{label}", "{label"))
    for _ in range(2):
        result = catalogue.run("-k", "birds")
        assert result.ret == pytest.ExitCode.INTERRUPTED
        result.stdout.fnmatch_lines(["*frogs.audiobench.toml, [[]sample], answer, '{label': it has a brace*"])


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"package": "", "files": {"a": 3}}', "3", '"\ud83d'])
def test_a_damaged_index_is_ignored(catalogue, damage):
    catalogue.collect()
    catalogue.cache.write_bytes(damage.encode("utf-8", "surrogatepass"))
    assert (catalogue.collect(), catalogue.opened) == (BOTH, ["birds", "frogs"])
    assert (catalogue.collect(), catalogue.opened) == (BOTH, [])


def test_an_index_of_another_version_of_this_package_is_ignored(catalogue):
    catalogue.collect()
    index = json.loads(catalogue.cache.read_text())
    catalogue.cache.write_text(json.dumps({**index, "package": "another"}))
    assert (catalogue.collect(), catalogue.opened) == (BOTH, ["birds", "frogs"])


def test_no_eval_runs_that_its_file_does_not_declare(catalogue):
    catalogue.collect()
    catalogue.cache.write_text(catalogue.cache.read_text().replace('"low"', '"middle"'))
    result = catalogue.run("-k", "frogs")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*frogs.audiobench.toml was changed while its evals were collected; run them again"])


def test_files_that_are_right_by_what_a_conftest_adds_are_read_each_time(catalogue):
    lab = catalogue.path / "conftest.py"
    lab.write_text(
        "from pytest_audiobench import multiple_choice\n"
        "from pytest_audiobench.metrics.estimates import not_of_samples\n"
        "from pytest_audiobench.metrics.metric import MetricKind\n"
        "def croaks():\n    return multiple_choice()\n"
        "def pytest_audiobench_register(registration):\n"
        "    registration.protocol(croaks, 'Which frog croaks')\n"
        "    registration.metric(MetricKind('leaps', 'higher', '', not_of_samples))\n"
    )
    catalogue.write("frogs", 'protocol = "croaks"\n' + DECLARATION)
    catalogue.write("toads", 'require = ["leaps >= 0.5"]\n' + DECLARATION)
    collect = ("--collect-only", "-k", "birds")
    assert catalogue.run(*collect, model="baseline:chance").ret == pytest.ExitCode.OK
    lab.write_text("")
    result = catalogue.run(*collect, model="baseline:chance")
    result.stdout.fnmatch_lines(["*frogs.audiobench.toml: unknown protocol 'croaks'*", "*no metric is called 'leaps'*"])


def test_garbage_is_searched_as_the_user_wants_it_once_evals_are_collected(catalogue):
    with (catalogue.path / "conftest.py").open("a") as lab:
        lab.write(
            "import gc\n"
            "BEFORE, FROZEN = gc.get_threshold(), gc.get_freeze_count()\n"
            "def pytest_sessionfinish():\n"
            "    Path('garbage.txt').write_text(f'{gc.get_threshold() == BEFORE} {gc.get_freeze_count() - FROZEN}')\n"
        )
    catalogue.suite.write(test_plain="def test_plain(): pass")
    catalogue.run("--collect-only", "-q")
    restored, lasting = (catalogue.path / "garbage.txt").read_text().split()
    assert restored == "True"
    assert int(lasting) > 1_000
    for file in catalogue.path.glob("*.audiobench.toml"):
        file.unlink()
    catalogue.run("--collect-only", "-q")  # the tests of others are left as they are
    restored, lasting = (catalogue.path / "garbage.txt").read_text().split()
    assert restored == "True"
    assert int(lasting) <= 0
