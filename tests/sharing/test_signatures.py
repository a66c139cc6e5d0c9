"""Signatures: made here and read by ssh-keygen, made by ssh-keygen and read here, and by whom."""

import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_audiobench.errors import UsageError
from pytest_audiobench.sharing.private_keys import PASSPHRASE, load_key
from pytest_audiobench.sharing.signers import read_signers
from pytest_audiobench.sharing.sshsig import NAMESPACE, UnreadableSignature, holds, parsed_signature, sign

pytest.importorskip("cryptography")
pytestmark = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="there is no ssh-keygen to compare with")

MESSAGE = b'{"model":"listener"}'
AT = 1_795_000_000.0  # 2026-11-18T10:26:40Z
KINDS = {"ed25519": ["-t", "ed25519"], "ecdsa": ["-t", "ecdsa", "-b", "521"], "rsa": ["-t", "rsa", "-b", "2048"]}


def keygen(*arguments, **options):
    return subprocess.run(["ssh-keygen", *map(str, arguments)], capture_output=True, check=False, **options)


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    """A private key of each kind, with its public half beside it."""
    folder = tmp_path_factory.mktemp("keys")
    for name, kind in KINDS.items():
        assert keygen("-q", *kind, "-N", "", "-C", name, "-f", folder / name).returncode == 0
    return folder


@pytest.fixture
def signers(keys, tmp_path):
    """Writes a file of allowed signers with these lines, {ed25519} standing for a key."""

    def write(*lines):
        public = {name: (keys / f"{name}.pub").read_text().strip() for name in KINDS}
        path = tmp_path / "signers"
        path.write_text("\n".join(line.format(**public) for line in lines) + "\n")
        return read_signers(path)

    return write


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_signed_here_verifies_with_ssh_keygen(kind, keys, tmp_path):
    (tmp_path / "sig").write_text(sign(MESSAGE, load_key(keys / kind)))
    (tmp_path / "allowed").write_text(f"me {(keys / f'{kind}.pub').read_text()}")
    check = ["-Y", "verify", "-f", tmp_path / "allowed", "-I", "me", "-n", NAMESPACE, "-s", tmp_path / "sig"]
    assert b"Good" in keygen(*check, input=MESSAGE).stdout
    assert keygen(*check, input=MESSAGE + b" ").returncode != 0


@pytest.mark.parametrize("kind", KINDS)
def test_what_ssh_keygen_signs_verifies_here(kind, keys):
    for digest in ("sha512", "sha256"):
        arguments = ["-Y", "sign", "-f", keys / kind, "-n", NAMESPACE, "-O", f"hashalg={digest}"]
        signed = parsed_signature(keygen(*arguments, input=MESSAGE).stdout.decode())
        assert signed.namespace == NAMESPACE
        assert holds(signed, MESSAGE)
        assert not holds(signed, MESSAGE + b" ")
        shown = keygen("-l", "-f", keys / f"{kind}.pub").stdout.decode()
        assert signed.fingerprint in shown


def test_a_signature_for_another_namespace_is_told(keys, signers):
    signed = parsed_signature(sign(MESSAGE, load_key(keys / "ed25519"), "git"))
    assert holds(signed, MESSAGE)
    who, why = signers('ada@example.org namespaces="pytest-audio*" {ed25519}').who(signed, AT, AT)
    assert who is None
    assert "signs for pytest-audio* only, not for git" in why


@given(at=st.integers(0, 10_000), bit=st.integers(0, 7))
def test_no_changed_byte_of_a_signature_verifies(at, bit, keys):
    blob = bytearray(sign(MESSAGE, load_key(keys / "ed25519")).encode())
    blob[at % len(blob)] ^= 1 << bit
    try:
        signed = parsed_signature(blob.decode("latin-1"))
        good = parsed_signature(sign(MESSAGE, load_key(keys / "ed25519")))
        # White space in the armor is not one of the signature.
        assert signed == good or not holds(signed, MESSAGE)
    except UnreadableSignature:
        pass


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "does not stand between"),
        ("-----BEGIN SSH SIGNATURE-----\n???\n-----END SSH SIGNATURE-----", "not base64"),
        ("-----BEGIN SSH SIGNATURE-----\nAAAA\n-----END SSH SIGNATURE-----", "not an SSH signature of version 1"),
        ("-----BEGIN SSH SIGNATURE-----\nU1NIU0lHAAAAAf////8=\n-----END SSH SIGNATURE-----", "ends too early"),
        ("-----BEGIN SSH SIGNATURE-----" + "A" * 30_000 + "-----END SSH SIGNATURE-----", "does not stand between"),
    ],
)
def test_what_is_no_signature_says_why(text, why):
    with pytest.raises(UnreadableSignature, match=why):
        parsed_signature(text)


@pytest.mark.parametrize(("lines", "who"), [(["ada@example.org {ed25519}"], "ada@example.org"), (["x {rsa}"], None)])
def test_a_key_tells_whose_it_is(lines, who, keys, signers):
    found = signers(*lines).who(parsed_signature(sign(MESSAGE, load_key(keys / "ed25519"))), AT, AT)
    assert found[0] == who
    assert who or "is not in" in found[1]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ('valid-before="20261117Z"', "had expired: it was valid until 2026-11-17T00:00:00Z"),
        ("valid-after=20261119Z", "not yet valid"),
        ("valid-after=20261118Z,valid-before=20261119Z", ""),
        ('namespaces="file,pytest-audiobench"', ""),
        ('namespaces="*,!pytest-audiobench"', "signs for"),
        ('VALID-BEFORE="202611181026Z"', "had expired"),
    ],
)
def test_the_options_of_a_line_count(options, why, keys, signers):
    who, found = signers(f"ada@example.org {options} {{ed25519}} a comment").who(
        parsed_signature(sign(MESSAGE, load_key(keys / "ed25519"))), AT, AT
    )
    assert (who is None) == bool(why)
    assert why in found


def test_of_several_lines_with_a_key_one_is_enough(keys, signers):
    signed = parsed_signature(sign(MESSAGE, load_key(keys / "ed25519")))
    found = signers("# us", "", "old@x valid-before=20200101 {ed25519}", '"new one@x" {ed25519}').who(signed, AT, AT)
    assert found == ("new one@x", "")


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("ada@example.org", "no key behind"),
        ("ada@example.org ssh-ed25519 ???", "not base64"),
        ("ada@example.org ssh-rsa AAAAC3NzaC1lZDI1NTE5", "not of the type ssh-rsa"),
        ("ada@example.org valid-after=soon {ed25519}", "'soon' is no time"),
        ("ada@example.org valid-after=20261399 {ed25519}", "20261399"),
        ("ada@example.org colour=red {ed25519}", "'colour=red' is not one of"),
        ("ada@example.org namespaces=a,namespaces=b {ed25519}", "twice"),
        ("ada@example.org cert-authority {ed25519}", "lists no signer"),
    ],
)
def test_a_line_that_is_none_is_named(line, why, signers):
    with pytest.raises(UsageError, match=why):
        signers(line)


def test_a_file_of_signers_that_is_not_there_is_named(tmp_path):
    with pytest.raises(UsageError, match="there is no file"):
        read_signers(tmp_path / "nobody")


@pytest.mark.parametrize("form", ["PEM", "PKCS8", "RFC4716"])
def test_a_passphrase_comes_from_the_environment(form, tmp_path):
    if form == "RFC4716":
        pytest.importorskip("bcrypt", reason="OpenSSH's own format with a passphrase needs bcrypt")
    kind = ["-t", "ecdsa"] if form == "PKCS8" else ["-t", "rsa", "-b", "2048"]
    keygen("-q", *kind, "-m", form, "-N", "open sesame", "-f", tmp_path / "key")
    assert sign(MESSAGE, load_key(tmp_path / "key", {PASSPHRASE: "open sesame"}))
    with pytest.raises(UsageError, match="is another than that from") as wrong:
        load_key(tmp_path / "key", {PASSPHRASE: "open barley"})
    assert "barley" not in str(wrong.value)
    with pytest.raises(UsageError, match=f"it cannot be asked for here: set {PASSPHRASE}"):
        load_key(tmp_path / "key", {})


def test_keys_that_cannot_sign_are_refused_with_a_way_out(keys, tmp_path):
    with pytest.raises(UsageError, match=r"without \.pub"):
        load_key(keys / "ed25519.pub")
    open_to_all = tmp_path / "open"
    shutil.copy(keys / "ed25519", open_to_all)
    open_to_all.chmod(0o644)
    with pytest.raises(UsageError, match="can be read by others"):
        load_key(open_to_all)
    cut = tmp_path / "cut"
    cut.write_text((keys / "ed25519").read_text()[:200])
    cut.chmod(0o600)
    with pytest.raises(UsageError, match="cut or edited"):
        load_key(cut)
    keygen("-q", "-t", "rsa", "-b", "1024", "-N", "", "-f", tmp_path / "short")
    with pytest.raises(UsageError, match="1024 bits"):
        load_key(tmp_path / "short")
    with pytest.raises(UsageError, match="cannot be read"):
        load_key(tmp_path / "nothing")
