"""``audiobench fetch`` of files and archives behind URLs, from a server on loopback that breaks as servers do."""

import hashlib
import io
import json
import os
import signal
import subprocess
import sys
import tarfile
import time
import zipfile

import pytest

ROWS = b"id,text\na,one\n"


def packed(*members, mode="w:gz"):
    """A tar archive of (name, content), or of ready members."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                archive.addfile(member)
            else:
                information = tarfile.TarInfo(member[0])
                information.size = len(member[1])
                archive.addfile(information, io.BytesIO(member[1]))
    return out.getvalue()


def zipped(*members):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in members:
            archive.writestr(name, content)
    return out.getvalue()


def fetched(root):
    folder = root / "words"
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_file_arrives_with_its_digest_in_the_record(files, declare, audiobench, root):
    files.files["/test.csv"] = ROWS
    code, out, err = audiobench("fetch", declare(f'url = "{files.url}/test.csv"'))
    assert (code, err, fetched(root)) == (0, "", {"test.csv": ROWS})
    (part,) = json.loads((root / "words.fetch.json").read_text())["parts"]
    assert part["files"] == [["test.csv", len(ROWS), hashlib.sha256(ROWS).hexdigest()]]
    assert (part["complete"], part["pinned"]) == (True, False)
    assert f"{len(ROWS)} B (not pinned" in out


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.tar.gz", packed(("Words/test.csv", ROWS), ("Words/audio/a.wav", b"a"))),
        ("a.tgz", packed(("Words/test.csv", ROWS), ("Words/audio/a.wav", b"a"))),
        ("a.tar", packed(("Words/test.csv", ROWS), ("Words/audio/a.wav", b"a"), mode="w")),
        ("a.tar.bz2", packed(("Words/test.csv", ROWS), ("Words/audio/a.wav", b"a"), mode="w:bz2")),
        ("a.tar.xz", packed(("Words/test.csv", ROWS), ("Words/audio/a.wav", b"a"), mode="w:xz")),
        ("a.zip", zipped(("Words/test.csv", ROWS), ("Words/audio/a.wav", b"a"))),
    ],
)
def test_archives_are_unpacked_as_they_are(files, declare, audiobench, root, name, content):
    files.files[f"/{name}"] = content
    code, _, err = audiobench("fetch", declare(f'url = "{files.url}/{name}"\ninto = "corpus"'))
    assert (code, err) == (0, "")
    assert fetched(root) == {"corpus/Words/test.csv": ROWS, "corpus/Words/audio/a.wav": b"a"}


def test_archives_in_an_archive_are_unpacked_where_they_lie(files, declare, audiobench, root):
    speakers = [(f"Words/wav/{name}.tar.gz", packed((f"test/{name}/a.wav", name.encode()))) for name in ("S1", "S2")]
    files.files["/a.tgz"] = packed(("Words/test.csv", ROWS), *speakers)
    code, _, err = audiobench("fetch", declare(f'url = "{files.url}/a.tgz"'))
    assert (code, err) == (0, "")
    assert fetched(root) == {
        "Words/test.csv": ROWS,
        "Words/wav/test/S1/a.wav": b"S1",
        "Words/wav/test/S2/a.wav": b"S2",
    }


def test_archives_in_an_archive_are_bounded_together(files, declare, audiobench, root):
    bombs = [(f"{name}.tar.gz", packed((f"{name}/zeros", bytes(600_000)))) for name in ("S1", "S2")]
    files.files["/a.tgz"] = packed(*bombs)
    code, _, err = audiobench("fetch", declare(f'url = "{files.url}/a.tgz"'), "--most-gb", "0.001")
    assert (code, err.count("\n")) == (1, 1)
    assert "S2.tar.gz unfolds to more than 0.0004 GB" in err
    assert not (root / "words").exists()


def test_an_archive_is_left_as_it_is_where_the_file_says_so(files, declare, audiobench, root):
    files.files["/a.zip"] = zipped(("test.csv", ROWS))
    assert audiobench("fetch", declare(f'url = "{files.url}/a.zip"\nunpack = false'))[0] == 0
    assert list(fetched(root)) == ["a.zip"]


def link(name, target, kind=tarfile.SYMTYPE):
    information = tarfile.TarInfo(name)
    information.type, information.linkname = kind, target
    return information


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (packed(("../out.csv", ROWS)), "leaves its folder"),
        (packed(("/etc/out.csv", ROWS)), "leaves its folder"),
        (packed(link("a.wav", "/etc/passwd")), "is a link or no ordinary file"),
        (packed(link("a.wav", "null", tarfile.CHRTYPE)), "is a link or no ordinary file"),
        (packed(("Audio/a", b"1"), ("audio/b", b"2")), "are one name on some disks"),
        (packed(("zeros", bytes(2_000_000))), "unfolds to more than 0.001 GB"),
        (packed(("test.csv", ROWS))[:-20], "cannot be unpacked"),
    ],
    ids=["parent", "absolute", "link", "device", "case", "bomb", "cut"],
)
def test_archives_that_nobody_should_trust_leave_nothing(files, declare, audiobench, root, content, says):
    files.files["/a.tar.gz"] = content
    code, _, err = audiobench("fetch", declare(f'url = "{files.url}/a.tar.gz"'), "--most-gb", "0.001")
    assert (code, err.count("\n")) == (1, 1)
    assert says in err
    assert not (root / "words").exists()
    assert not (root / "out.csv").exists()


def test_archives_of_one_set_may_share_files_and_the_first_one_s_stay(files, declare, audiobench, root):
    files.files["/clean.zip"] = zipped(("Words/README", b"of clean"), ("Words/clean.csv", ROWS))
    files.files["/other.zip"] = zipped(("Words/README", b"of other"), ("Words/other.csv", ROWS))
    name = declare(f'url = "{files.url}/clean.zip"', f'url = "{files.url}/other.zip"')
    code, out, err = audiobench("fetch", name)
    assert (code, err) == (0, "")
    assert fetched(root) == {"Words/README": b"of clean", "Words/clean.csv": ROWS, "Words/other.csv": ROWS}
    assert "1 file of that name was there from another part, and stays" in out
    assert audiobench("fetch", name, "--check")[0] == 0


def test_a_size_that_the_benchmark_s_file_says_is_compared(files, declare, audiobench, root):
    files.files["/test.csv"] = ROWS
    code, _, err = audiobench("fetch", declare(f'url = "{files.url}/test.csv"\nbytes = 13'))
    assert (code, err.count("\n")) == (1, 1)
    assert "has not the size that is pinned" in err
    assert audiobench("fetch", declare(f'url = "{files.url}/test.csv"\nbytes = {len(ROWS)}'))[0] == 0


@pytest.mark.parametrize("kind", ["sha256", "md5"])
def test_a_pinned_digest_is_compared(files, declare, audiobench, root, kind):
    files.files["/test.csv"] = ROWS
    right, wrong = hashlib.new(kind, ROWS).hexdigest(), hashlib.new(kind, b"other").hexdigest()
    code, _, err = audiobench("fetch", declare(f'url = "{files.url}/test.csv"\n{kind} = "{wrong}"'))
    assert (code, err.count("\n")) == (1, 1)
    assert f"has not the {kind} that is pinned" in err
    assert not (root / "words").exists()
    code, out, _ = audiobench("fetch", declare(f'url = "{files.url}/test.csv"\n{kind} = "{right}"'))
    assert (code, fetched(root)) == (0, {"test.csv": ROWS})
    assert "(pinned)" in out


def test_a_file_that_was_changed_at_its_place_is_refused_later(files, declare, audiobench, root):
    files.files["/test.csv"] = ROWS
    name = declare(f'url = "{files.url}/test.csv"')
    audiobench("fetch", name)
    files.files["/test.csv"] = b"id,text\na,two\n"
    (root / "words" / "test.csv").unlink()
    code, _, err = audiobench("fetch", name)
    assert (code, err.count("\n")) == (1, 1)
    assert "differs from the first fetch" in err
    assert fetched(root) == {}
    audiobench("fetch", name, "--remove")
    assert audiobench("fetch", name)[0] == 0
    assert fetched(root) == {"test.csv": b"id,text\na,two\n"}


def test_an_archive_that_was_changed_is_refused_later(files, declare, audiobench, root):
    files.files["/a.zip"] = zipped(("test.csv", ROWS))
    name = declare(f'url = "{files.url}/a.zip"')
    audiobench("fetch", name)
    files.files["/a.zip"] = zipped(("test.csv", b"other"))
    (root / "words" / "test.csv").unlink()
    code, _, err = audiobench("fetch", name)
    assert (code, err.count("\n")) == (1, 1)
    assert "a.zip differs from the first fetch" in err


@pytest.mark.parametrize(("status", "says"), [(404, "is not there any more"), (403, "may not be fetched by everybody")])
def test_a_reply_that_nothing_cures_is_one_sentence(files, declare, audiobench, status, says):
    files.files["/test.csv"] = ROWS
    files.status["/test.csv"] = status
    code, _, err = audiobench("fetch", declare(f'url = "{files.url}/test.csv"'))
    assert (code, err.count("\n")) == (1, 1)
    assert says in err


def test_a_download_is_taken_up_where_it_was_cut(files, declare, audiobench, root):
    content = bytes(range(256)) * 4000
    files.files["/a.bin"] = content
    files.cut["/a.bin"] = [400_000, 100_000]
    assert audiobench("fetch", declare(f'url = "{files.url}/a.bin"'))[0] == 0
    assert fetched(root) == {"a.bin": content}
    assert [wanted for method, _, wanted in files.asked if method == "GET"] == [None, "bytes=400000-", "bytes=500000-"]


def test_a_file_that_changes_between_two_tries_is_fetched_anew(files, declare, audiobench, root):
    files.files["/a.bin"] = b"a" * 1_000_000
    files.cut["/a.bin"] = [100_000] * 4
    name = declare(f'url = "{files.url}/a.bin"')
    assert audiobench("fetch", name)[0] == 1
    files.cut.clear()
    files.files["/a.bin"] = b"b" * 900_000
    assert audiobench("fetch", name)[0] == 0
    assert fetched(root) == {"a.bin": b"b" * 900_000}


def test_two_versions_of_a_file_are_not_joined_where_a_server_ignores_if_range(files, declare, audiobench, root):
    files.files["/a.bin"] = b"a" * 1_000_000
    files.cut["/a.bin"] = [100_000] * 4
    files.careless = True
    name = declare(f'url = "{files.url}/a.bin"')
    assert audiobench("fetch", name)[0] == 1
    files.cut.clear()
    files.files["/a.bin"] = b"b" * 900_000
    assert audiobench("fetch", name)[0] == 0
    content = fetched(root)["a.bin"]
    assert (len(content), set(content)) == (900_000, {ord("b")})


def test_a_url_may_hold_any_letters(files, declare, audiobench, root):
    files.files["/%C3%A9t%C3%A9.csv"] = ROWS
    code, _, err = audiobench("fetch", declare(f'url = "{files.url}/été.csv"'))
    assert (code, err, fetched(root)) == (0, "", {"été.csv": ROWS})


@pytest.mark.skipif(sys.platform != "linux", reason="a file that cannot be read to its end is Linux's own")
def test_a_read_that_breaks_is_not_called_a_folder_that_cannot_be_written(declare, audiobench):
    code, _, err = audiobench("fetch", declare('url = "file:///proc/self/mem"'))
    assert (code, err.count("\n")) == (1, 1)
    assert "the connection to file:///proc/self/mem broke (OSError), 4 times in a row" in err


def test_a_killed_fetch_is_taken_up_and_nothing_half_is_taken_for_whole(files, declare, audiobench, root, tmp_path):
    content = bytes(range(256)) * 8000
    files.files["/a.bin"], files.files["/test.csv"] = content, ROWS
    name = declare(f'url = "{files.url}/test.csv"', f'url = "{files.url}/slow/a.bin"')
    files.files["/slow/a.bin"] = content
    files.cut["/slow/a.bin"] = Stalling(700_000)
    command = [sys.executable, "-m", "pytest_audiobench.cli", "fetch", name]
    fetch = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    part = wait_for(lambda: next(iter(root.glob(".words.part/*/arrived/a.bin.part")), None))
    wait_for(lambda: part.stat().st_size)
    os.kill(fetch.pid, signal.SIGKILL)
    fetch.communicate()
    assert fetched(root) == {}
    files.cut.clear()
    files.asked.clear()
    assert audiobench("fetch", name)[0] == 0
    assert fetched(root) == {"a.bin": content, "test.csv": ROWS}
    # Of the killed one a last request may come late.
    ranges = [wanted for method, path, wanted in files.asked if (method, path) == ("GET", "/slow/a.bin")]
    assert ranges
    assert None not in ranges


class Stalling:
    """A cut that lets so many bytes pass, and then nothing until the other side has gone."""

    def __init__(self, count):
        self._count = count

    def pop(self, _):
        count, self._count = self._count, 0
        if not count:
            time.sleep(30)
        return count


def wait_for(condition):
    for _ in range(600):
        if value := condition():
            return value
        time.sleep(0.05)
    raise AssertionError("it did not happen within 30 s")


def test_what_does_not_fit_is_refused_with_figures(files, declare, audiobench, root):
    files.files["/test.csv"] = ROWS
    files.status["/test.csv"] = 405
    code, _, err = audiobench("fetch", declare(f'url = "{files.url}/test.csv"\nbytes = 10000000000000000'))
    assert (code, err.count("\n")) == (1, 1)
    assert "takes 10000 TB, and" in err
    assert "make room there" in err


def test_a_disk_that_is_full_is_one_sentence(files, declare, tmp_path, root):
    files.files["/a.bin"] = bytes(3_000_000)
    address = f"{files.url}/a.bin"
    name = declare(f'url = "{address}"')
    limited = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1000000, 1000000))"
    code = f"{limited}; from pytest_audiobench.cli import main; raise SystemExit(main(['fetch', {name!r}]))"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
    assert "make room there and run this again, which continues where it ended" in done.stderr
    assert not (root / "words").exists()


def test_two_fetches_of_one_set_do_not_mix(files, declare, audiobench, root):
    import fcntl

    files.files["/test.csv"] = ROWS
    root.mkdir(parents=True)
    with (root / ".words.lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        code, _, err = audiobench("fetch", declare(f'url = "{files.url}/test.csv"'))
    assert (code, err.count("\n")) == (1, 1)
    assert "is being fetched into" in err
    assert audiobench("fetch", "words.audiobench.toml")[0] == 0


def test_a_symbolic_link_in_the_data_root_is_not_written_through(files, declare, audiobench, root, tmp_path):
    files.files["/test.csv"] = ROWS
    (tmp_path / "elsewhere").mkdir()
    root.mkdir(parents=True)
    (root / "words").symlink_to(tmp_path / "elsewhere")
    code, _, err = audiobench("fetch", declare(f'url = "{files.url}/test.csv"'))
    assert (code, err.count("\n")) == (1, 1)
    assert "is a symbolic link" in err
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_link_below_the_data_set_is_not_written_through(files, declare, audiobench, root, tmp_path):
    files.files["/test.csv"], files.files["/a.wav"] = ROWS, b"a"
    name = declare(f'url = "{files.url}/test.csv"')
    audiobench("fetch", name)
    (tmp_path / "elsewhere").mkdir()
    (root / "words" / "audio").symlink_to(tmp_path / "elsewhere")
    declare(f'url = "{files.url}/test.csv"', f'url = "{files.url}/a.wav"\ninto = "audio"')
    code, _, err = audiobench("fetch", name)
    assert (code, err.count("\n")) == (1, 1)
    assert "is a symbolic link" in err
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_what_lies_there_and_was_not_fetched_is_left_alone(files, declare, audiobench, root):
    files.files["/test.csv"] = ROWS
    (root / "words").mkdir(parents=True)
    (root / "words" / "test.csv").write_text("mine")
    name = declare(f'url = "{files.url}/test.csv"')
    code, _, err = audiobench("fetch", name)
    assert (code, err.count("\n")) == (1, 1)
    assert "was not fetched by audiobench" in err
    assert audiobench("fetch", name, "--remove")[0] == 4
    assert fetched(root) == {"test.csv": b"mine"}


def test_check_reads_every_file_again(files, declare, audiobench, root):
    files.files["/a.zip"] = zipped(("test.csv", ROWS), ("audio/a.wav", b"sound"))
    name = declare(f'url = "{files.url}/a.zip"')
    audiobench("fetch", name)
    assert audiobench("fetch", name, "--check")[0] == 0
    (root / "words" / "audio" / "a.wav").write_bytes(b"SOUND")
    (root / "words" / "test.csv").unlink()
    code, _, err = audiobench("fetch", "--all", "--check")
    assert (code, err.count("\n")) == (1, 2)
    assert "a.wav is not what was fetched" in err
    assert "test.csv is not there" in err


def test_remove_leaves_nothing(files, declare, audiobench, root):
    files.files["/test.csv"] = ROWS
    name = declare(f'url = "{files.url}/test.csv"')
    audiobench("fetch", name)
    code, out, _ = audiobench("fetch", name, "--remove")
    assert (code, list(root.iterdir())) == (0, [])
    assert "removed, 14 B" in out


def test_remove_leaves_what_no_fetch_brought(files, declare, audiobench, root):
    files.files["/a.zip"] = zipped(("test.csv", ROWS), ("audio/a.wav", b"a"), ("notes/b.txt", b"b"))
    name = declare(f'url = "{files.url}/a.zip"')
    audiobench("fetch", name)
    (root / "words" / "notes" / "mine.txt").write_bytes(b"mine")
    code, out, _ = audiobench("fetch", name, "--remove")
    assert (code, fetched(root)) == (0, {"notes/mine.txt": b"mine"})
    assert f"what no fetch brought stays in {root / 'words'}" in out
    assert sorted(path.name for path in root.iterdir()) == ["words"]


def test_remove_follows_no_path_out_of_the_folder(files, declare, audiobench, root):
    files.files["/test.csv"] = ROWS
    name = declare(f'url = "{files.url}/test.csv"')
    audiobench("fetch", name)
    (root / "mine.csv").write_bytes(b"mine")
    record = root / "words.fetch.json"
    record.write_text(record.read_text().replace('"test.csv"', '"../mine.csv"'))
    audiobench("fetch", name, "--remove")
    assert (root / "mine.csv").exists()


def test_remove_after_a_fetch_that_brought_nothing_leaves_what_was_put_there(declare, audiobench, root):
    name = declare('url = "https://nowhere.invalid/test.csv"')
    (root / ".words.part").mkdir(parents=True)
    (root / "words").mkdir()
    (root / "words" / "test.csv").write_bytes(b"mine")
    assert audiobench("fetch", name, "--remove")[0] == 0
    assert fetched(root) == {"test.csv": b"mine"}
    assert not (root / ".words.part").exists()


def test_a_fetch_that_is_refused_leaves_no_lock(files, declare, audiobench, root):
    assert audiobench("fetch", declare(f'url = "{files.url}/gone.csv"'))[0] == 1
    assert list(root.iterdir()) == []


def test_a_digest_that_is_pinned_later_is_compared_with_what_is_here(files, declare, audiobench, root):
    files.files["/test.csv"] = ROWS
    audiobench("fetch", declare(f'url = "{files.url}/test.csv"'))
    name = declare(f'url = "{files.url}/test.csv"\nsha256 = "{hashlib.sha256(ROWS).hexdigest()}"')
    assert audiobench("fetch", name)[0] == 0
    name = declare(f'url = "{files.url}/test.csv"\nsha256 = "{hashlib.sha256(b"another").hexdigest()}"')
    code, _, err = audiobench("fetch", name)
    assert (code, err.count("\n")) == (1, 1)
    assert "than is pinned now: remove it with audiobench fetch words.audiobench.toml --remove" in err


def test_a_data_set_s_folder_is_a_name_and_no_path(files, declare, audiobench, tmp_path):
    files.files["/test.csv"] = ROWS
    name = declare(f'url = "{files.url}/test.csv"')
    file = tmp_path / name
    file.write_text(file.read_text().replace("[data]", '[data]\nroot = "../../out"'))
    code, _, err = audiobench("fetch", name)
    assert code == 4
    assert "'../../out' is not a folder's name" in err


def test_a_url_s_name_leads_out_of_no_folder_that_stands_for_it(declare, audiobench, root, tmp_path):
    (tmp_path / "usb").mkdir()
    (tmp_path / "out.csv").write_bytes(ROWS)
    code, _, err = audiobench(
        "fetch", declare('url = "https://nowhere.invalid/..%2Fout.csv"'), "--from", tmp_path / "usb"
    )
    assert (code, err.count("\n")) == (1, 1)
    assert "leaves its folder" in err


def test_names_that_differ_in_how_an_accent_is_written_are_refused(files, declare, audiobench):
    files.files["/a.zip"] = zipped(("\u00e9.wav", b"1"), ("e\u0301.wav", b"2"))
    code, _, err = audiobench("fetch", declare(f'url = "{files.url}/a.zip"'))
    assert (code, err.count("\n")) == (1, 1)
    assert "are one name on some disks" in err


def test_files_are_taken_from_a_folder_instead_of_the_network(declare, audiobench, root, tmp_path):
    (tmp_path / "usb").mkdir()
    (tmp_path / "usb" / "words.zip").write_bytes(zipped(("test.csv", ROWS)))
    code, _, err = audiobench("fetch", declare('url = "https://nowhere.invalid/words.zip"'), "--from", tmp_path / "usb")
    assert (code, err, fetched(root)) == (0, "", {"test.csv": ROWS})
    assert audiobench("fetch", "words.audiobench.toml")[0] == 0


def test_what_is_handed_out_otherwise_says_how_and_is_taken_over_from_a_folder(declare, audiobench, root, tmp_path):
    name = declare(source='obtain = "sign the form at https://example.org/words and unpack words.zip"')
    code, _, err = audiobench("fetch", name)
    assert (code, err.count("\n")) == (1, 1)
    assert "sign the form at https://example.org/words and unpack words.zip; then --ab-data=words=FOLDER" in err
    (tmp_path / "handed").mkdir()
    (tmp_path / "handed" / "test.csv").write_bytes(ROWS)
    assert audiobench("fetch", name, "--from", tmp_path / "handed")[0] == 0
    assert fetched(root) == {"test.csv": ROWS}


def test_what_lies_in_the_folder_of_another_benchmark_is_taken_over_by_that_name(audiobench):
    code, _, err = audiobench("fetch", "salmonn/sv")
    assert code == 1
    assert err.startswith("audiobench: voxceleb1: voxceleb1 cannot be fetched: ")
    assert "audiobench fetch voxceleb1 --from FOLDER takes it over" in err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["librispech"], "no benchmark is called 'librispech'"),
        ([], "name what to fetch, or give --all: audiobench list benchmarks says what there is"),
        (["gone.audiobench.toml"], "there is no file"),
        (["librispeech", "--only", "spit=test-clean"], "has no parameter of that name"),
        (["librispeech", "--only", "split=test-dirty"], "has no such value"),
        (["librispeech", "--check", "--remove"], "give one of them"),
        (["librispeech[test-clean]", "--remove"], "name the benchmark without [ID]"),
    ],
)
def test_a_mistake_in_the_arguments_is_one_sentence(audiobench, arguments, says):
    code, _, err = audiobench("fetch", *arguments)
    assert (code, err.count("\n")) == (4, 1)
    assert says in err
