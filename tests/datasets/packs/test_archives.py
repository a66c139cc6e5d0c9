"""Packs in archives: unpacked with bounds; whatever would leave the folder, or fill the disk, is refused."""

import io
import os
import stat
import tarfile
import zipfile

import pytest

from pytest_audiobench.datasets.packs import archives
from pytest_audiobench.datasets.packs.archives import unpack
from pytest_audiobench.datasets.packs.discovery import find_pack
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.errors import UsageError


def packed(path, members):
    """An archive of (name, bytes | TarInfo) pairs, or (ZipInfo, bytes)."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in members:
                archive.writestr(name, data)
        return path
    with tarfile.open(path, f"w:{path.suffix[1:]}" if path.suffix != ".tar" else "w") as archive:
        for name, data in members:
            if isinstance(data, tarfile.TarInfo):
                archive.addfile(data)
            else:
                info = tarfile.TarInfo(name)
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))
    return path


@pytest.mark.parametrize("ending", [".zip", ".tar", ".tar.gz", ".tar.bz2", ".tar.xz"])
@pytest.mark.parametrize("top", ["", "field/"])
def test_an_archive_becomes_a_pack(tmp_path, tone, ending, top):
    tone(tmp_path / "dog.wav")
    sound = (tmp_path / "dog.wav").read_bytes()
    archive = packed(tmp_path / f"field{ending}", [(f"{top}dog/1.wav", sound), (f"{top}cat/1.wav", sound)])
    folder = unpack(archive, tmp_path / "packs")
    assert folder == tmp_path / "packs" / "field"
    assert list(find_pack("field", Places(tmp_path, {"packs": tmp_path / "packs"})).clips) == ["cat", "dog"]
    assert os.listdir(tmp_path / "packs") == ["field"]


def test_what_macos_adds_and_a_folder_for_the_root_are_left_out(tmp_path, tone):
    tone(tmp_path / "dog.wav")
    sound = (tmp_path / "dog.wav").read_bytes()
    members = [("__MACOSX/field/dog/._1.wav", b"x"), ("field/dog/1.wav", sound)]
    folder = unpack(packed(tmp_path / "field.zip", members), tmp_path / "packs")
    assert [path.name for path in folder.iterdir()] == ["dog"]
    root = tarfile.TarInfo("./")
    root.type = tarfile.DIRTYPE
    folder = unpack(packed(tmp_path / "yard.tar", [("", root), ("./dog/1.wav", sound)]), tmp_path / "packs")
    assert [path.name for path in folder.iterdir()] == ["dog"], "a label's folder is not taken for the pack's"


def link(name, to, kind=tarfile.SYMTYPE):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, to
    return info


def zip_link():
    info = zipfile.ZipInfo("dog.wav")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return info


@pytest.mark.parametrize(
    ("name", "members", "said"),
    [
        ("a.tar", [("../out.wav", b"x")], "has a member that cannot be unpacked: the path '../out.wav'"),
        ("a.zip", [("../out.wav", b"x")], "has a member that cannot be unpacked: the path '../out.wav'"),
        ("a.tar", [("/out.wav", b"x")], "has a member that cannot be unpacked"),
        ("a.zip", [("a\\..\\..\\out.wav", b"x")], "holds a backslash"),
        ("a.tar", [("", link("dog.wav", "/etc/passwd"))], "'dog.wav' is a link or no ordinary file"),
        ("a.tar", [("", link("dog.wav", "cat.wav", tarfile.LNKTYPE))], "'dog.wav' is a link or no ordinary file"),
        ("a.tar", [("", link("dog.wav", "", tarfile.CHRTYPE))], "'dog.wav' is a link or no ordinary file"),
        ("a.tar", [("", link("dog.wav", "", tarfile.FIFOTYPE))], "'dog.wav' is a link or no ordinary file"),
        ("a.zip", [(zip_link(), b"/etc/passwd")], "'dog.wav' is a link or no ordinary file"),
        ("a.tar", [("a.wav", b"x"), ("a.wav", b"y")], "two members of one name"),
        ("a.zip", [("zeros.wav", bytes(2_000_000))], "unfolds to more than 0.001 GB"),
        ("a.tar.gz", [("zeros.wav", bytes(2_000_000))], "unfolds to more than 0.001 GB"),
        ("a.zip", [(f"{'n/' * 25}dog.wav", b"x")], "has a member more than 20 folders deep"),
        ("a.tar", [(f"{'n' * 90}/" * 13_000, b"x")], "has a header of .* bytes; do not trust it"),
    ],
)
def test_a_hostile_archive_is_refused_and_leaves_nothing(tmp_path, name, members, said):
    archive = packed(tmp_path / name, members)
    with pytest.raises(UsageError, match=said) as refused:
        unpack(archive, tmp_path / "packs", most_bytes=1_000_000)
    assert str(refused.value).startswith(str(archive))
    assert os.listdir(tmp_path / "packs") == []
    assert not (tmp_path / "out.wav").exists()


def test_a_zip_that_lies_about_its_sizes_is_stopped_while_it_is_written(tmp_path):
    archive = packed(tmp_path / "a.zip", [("zeros.wav", bytes(2_000_000))])
    data = archive.read_bytes()
    archive.write_bytes(data.replace((2_000_000).to_bytes(4, "little"), (10).to_bytes(4, "little")))
    with pytest.raises(UsageError, match=r"a.zip"):
        unpack(archive, tmp_path / "packs", most_bytes=1_000_000)
    assert os.listdir(tmp_path / "packs") == []


@pytest.mark.parametrize("name", ["a.zip", "a.tar.gz"])
def test_an_archive_without_a_file_is_refused(tmp_path, name):
    with pytest.raises(UsageError, match="holds no file; pack the sounds into it"):
        unpack(packed(tmp_path / name, []), tmp_path / "packs")
    assert os.listdir(tmp_path / "packs") == []


def test_headers_without_end_are_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr(archives, "MOST_MEMBERS", 3)
    archive = packed(tmp_path / "a.tar.xz", [("n" * 200_000, b"x")] * 6)
    with pytest.raises(UsageError, match=r"unfolds to more than 0.0001 GB"):
        unpack(archive, tmp_path / "packs", most_bytes=100_000)


@pytest.mark.parametrize(("name", "content"), [("a.zip", b"PK"), ("a.tar.gz", b"\x1f\x8b\x08"), ("a.tar", b"?" * 600)])
def test_a_damaged_archive_is_told_in_one_sentence(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UsageError, match=r"cannot be unpacked \(.*\); fetch it again"):
        unpack(tmp_path / name, tmp_path / "packs")


def test_more_members_than_are_trusted_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(archives, "MOST_MEMBERS", 3)
    archive = packed(tmp_path / "a.tar", [(f"{n}.wav", b"x") for n in range(4)])
    with pytest.raises(UsageError, match="has more than 3 members"):
        unpack(archive, tmp_path / "packs")


@pytest.mark.parametrize("name", ["a.tar", "a.tar.gz", "a.zip"])
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_members_are_counted_before_any_of_them_is_written(tmp_path, monkeypatch, name):
    monkeypatch.setattr(archives, "MOST_MEMBERS", 3)
    # Writing would stop at the second member, which has the name of the first.
    archive = packed(tmp_path / name, [(sound, b"x") for sound in ("1.wav", "1.wav", "2.wav", "3.wav")])
    with pytest.raises(UsageError, match="has more than 3 members"):
        unpack(archive, tmp_path / "packs")


def test_long_names_and_folders_are_no_reason_to_refuse(tmp_path, monkeypatch):
    monkeypatch.setattr(archives, "MOST_MEMBERS", 3)
    folder = tarfile.TarInfo("dog")
    folder.type, folder.size = tarfile.DIRTYPE, 700
    long = f"dog/{'n' * 200}.wav"
    archive = packed(tmp_path / "a.tar", [("", folder), (long, b"x" * 700), ("dog/2.wav", b"y")])
    assert len(list(unpack(archive, tmp_path / "packs").rglob("*.wav"))) == 2


def test_what_is_there_is_not_written_over(tmp_path):
    archive = packed(tmp_path / "a.zip", [("dog/1.wav", b"x")])
    unpack(archive, tmp_path / "packs")
    with pytest.raises(UsageError, match=r"already exists; remove it, or unpack a.zip elsewhere"):
        unpack(archive, tmp_path / "packs")
    with pytest.raises(UsageError, match="is not an archive by its name"):
        unpack(tmp_path / "a.rar", tmp_path / "packs")
    with pytest.raises(UsageError, match="there is no archive"):
        unpack(tmp_path / "b.zip", tmp_path / "packs")
