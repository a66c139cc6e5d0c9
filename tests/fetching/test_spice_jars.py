"""Stanford's jars for SPICE: fetched once, held to those digests, taken from a file, refused where they are none."""

import io
import json
import zipfile

import pytest

from pytest_audiobench.fetching import spice_jars

CODE, MODELS = "stanford-corenlp-3.6.0.jar", "stanford-corenlp-3.6.0-models.jar"


def jar(content):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(zipfile.ZipInfo("class"), content)  # without the time, or two of a content differ
    return buffer.getvalue()


@pytest.fixture
def served(files, monkeypatch):
    """A server that has both jars."""
    monkeypatch.setattr(spice_jars, "MAVEN", f"{files.url}/maven")
    files.files |= {f"/maven/{CODE}": jar("code"), f"/maven/{MODELS}": jar("models" * 1000)}
    return files


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "cache" / "audiobench" / "spice"


def test_both_jars_are_fetched_and_their_digests_recorded(served, folder, audiobench):
    code, said, _ = audiobench("setup-spice")
    assert (code, said.splitlines()[0]) == (0, f"into {folder}")
    assert (folder / CODE).read_bytes() == served.files[f"/maven/{CODE}"]
    record = json.loads((folder / "jars.json").read_text())
    assert record[MODELS]["bytes"] == len(served.files[f"/maven/{MODELS}"])
    assert record[MODELS]["from"] == f"{served.url}/maven/{MODELS}"
    assert sorted(path.name for path in folder.iterdir()) == sorted(["jars.json", CODE, MODELS])


def test_jars_that_lie_there_are_checked_and_not_fetched(served, folder, audiobench):
    audiobench("setup-spice")
    served.asked.clear()
    code, said, _ = audiobench("setup-spice")
    assert (code, served.asked) == (0, [])
    assert said.count("as at its first fetch") == 2
    (folder / CODE).write_bytes(jar("something else"))
    code, _, complaint = audiobench("setup-spice")
    assert code == 1
    assert f"is not the {CODE} of the first fetch" in complaint


def test_force_fetches_again_and_holds_to_the_first_digests(served, folder, audiobench):
    audiobench("setup-spice")
    served.asked.clear()
    assert audiobench("setup-spice", "--force")[0] == 0
    assert [path for method, path, _ in served.asked if method == "GET"] == [f"/maven/{CODE}", f"/maven/{MODELS}"]
    before = (folder / MODELS).read_bytes()
    served.files[f"/maven/{MODELS}"] = jar("other models")
    code, _, complaint = audiobench("setup-spice", "--force")
    assert code == 1
    assert f"is not the {MODELS} of the first fetch" in complaint
    assert "jars.json" in complaint
    assert (folder / MODELS).read_bytes() == before


def test_a_fetch_that_broke_off_is_taken_up(served, folder, audiobench):
    path = f"/maven/{MODELS}"
    served.cut[path] = [50]
    assert audiobench("setup-spice")[0] == 0
    assert [wanted for method, asked, wanted in served.asked if (method, asked) == ("GET", path)] == [None, "bytes=50-"]
    assert (folder / MODELS).read_bytes() == served.files[path]


@pytest.mark.parametrize("zipped", [True, False])
def test_jars_are_taken_from_a_file_without_any_network(zipped, served, folder, audiobench, tmp_path):
    given = tmp_path / "given"
    given.mkdir()
    (given / CODE).write_bytes(jar("code"))
    (given / MODELS).write_bytes(jar("models"))
    if zipped:
        with zipfile.ZipFile(tmp_path / "corenlp.zip", "w") as archive:
            for name in (CODE, MODELS):
                archive.write(given / name, f"stanford-corenlp-full-2015-12-09/{name}")
        given = tmp_path / "corenlp.zip"
    assert audiobench("setup-spice", "--from", given)[0] == 0
    assert (folder / MODELS).read_bytes() == jar("models")
    assert served.asked == []


def test_what_is_no_jar_is_refused(served, folder, audiobench):
    served.files[f"/maven/{CODE}"] = b"<html>Log in to this network</html>"
    code, _, complaint = audiobench("setup-spice")
    assert code == 1
    assert "is not a jar" in complaint
    assert not (folder / CODE).exists()
    assert not (folder / "jars.json").exists()


@pytest.mark.parametrize(("name", "complaint"), [("empty", "holds no stanford"), ("no.zip", "cannot be read as a zip")])
def test_a_file_without_the_jars_is_one_sentence(name, complaint, folder, audiobench, tmp_path):
    given = tmp_path / name
    given.mkdir() if name == "empty" else given.write_bytes(b"no zip")
    code, _, said = audiobench("setup-spice", "--from", given)
    assert code == 4
    assert complaint in said


def test_a_record_that_was_damaged_is_one_sentence(served, folder, audiobench):
    folder.mkdir(parents=True)
    (folder / "jars.json").write_text("[]")
    code, _, said = audiobench("setup-spice")
    assert code == 1
    assert "is not a record of jars" in said
