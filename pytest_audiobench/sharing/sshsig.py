"""Signatures of messages by SSH keys, as ``ssh-keygen -Y sign`` makes them and ``ssh-keygen -Y verify`` reads them.

The format is OpenSSH's PROTOCOL.sshsig, version 1: what is signed is not the message but its digest together with a
namespace, so that a signature made for another purpose is none here. Ed25519, ECDSA and RSA (with SHA-2) are read and
made; keys on security tokens and certificates are not.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import textwrap
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

    PrivateKey: TypeAlias = ed25519.Ed25519PrivateKey | ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey
    PublicKey: TypeAlias = ed25519.Ed25519PublicKey | ec.EllipticCurvePublicKey | rsa.RSAPublicKey

NAMESPACE = "pytest-audiobench"
"""What every signature of ours is made for."""

_MAGIC, _VERSION = b"SSHSIG", 1
_BEGIN, _END = "-----BEGIN SSH SIGNATURE-----", "-----END SSH SIGNATURE-----"
_LONGEST = 20_000
"""Characters of an armored signature; one by an RSA key of 16,384 bits has under 6,000."""
_DIGESTS = ("sha512", "sha256")
_KINDS = ("ssh-ed25519", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521", "ssh-rsa")
FEWEST_RSA_BITS = 2048


class UnreadableSignature(ValueError):
    """What was given is not a signature that can be checked; the message says why."""


class Signed(NamedTuple):
    """A signature taken apart; ``key`` is the public key as SSH writes it, ``value`` what was made by ``algorithm``."""

    key: bytes
    namespace: str
    reserved: bytes
    digest: str
    algorithm: str
    value: bytes

    @property
    def kind(self) -> str:
        """The key's type, such as ``ssh-ed25519``."""
        return _kind(self.key)

    @property
    def fingerprint(self) -> str:
        """The key's fingerprint, as ssh-keygen -l shows it."""
        return fingerprint(self.key)


def sign(message: bytes, key: PrivateKey, namespace: str = NAMESPACE) -> str:
    """The armored signature of ``message``."""
    public = wire(key)
    algorithm = "rsa-sha2-512" if _kind(public) == "ssh-rsa" else _kind(public)
    bare = Signed(public, namespace, b"", _DIGESTS[0], algorithm, b"")
    value = _string(algorithm) + _string(_signature_value(bare, key, message))
    parts = (public, namespace.encode(), b"", bare.digest.encode(), value)
    blob = _MAGIC + _VERSION.to_bytes(4, "big") + b"".join(map(_string, parts))
    return "\n".join([_BEGIN, *textwrap.wrap(base64.b64encode(blob).decode(), 70), _END, ""])


def parsed_signature(armored: str) -> Signed:
    """The signature in its armor, not yet checked. Raises UnreadableSignature for anything else."""
    text = armored.strip()
    if len(armored) > _LONGEST or not (text.startswith(_BEGIN) and text.endswith(_END)):
        raise UnreadableSignature(f"it does not stand between {_BEGIN} and {_END}")
    try:
        blob = base64.b64decode("".join(text[len(_BEGIN) : -len(_END)].split()), validate=True)
    except (binascii.Error, ValueError):
        raise UnreadableSignature("what is in its armor is not base64") from None
    if not blob.startswith(_MAGIC) or blob[6:10] != _VERSION.to_bytes(4, "big"):
        raise UnreadableSignature(f"it is not an SSH signature of version {_VERSION}")
    key, namespace, reserved, digest, signature = _strings(blob[10:], 5)
    algorithm, value = _strings(signature, 2)
    try:
        return Signed(key, namespace.decode(), reserved, digest.decode("ascii"), algorithm.decode("ascii"), value)
    except UnicodeDecodeError:
        raise UnreadableSignature("its namespace or an algorithm's name is not text") from None


def holds(signed: Signed, message: bytes) -> bool:
    """Whether ``signed`` is its key's signature of ``message`` for its namespace; who the key belongs to is not asked.

    Raises UnreadableSignature for a kind of key or an algorithm that is not read here.
    """
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
    from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

    if signed.digest not in _DIGESTS:
        raise UnreadableSignature(f"it is over a digest by {signed.digest[:40]!r}; {' and '.join(_DIGESTS)} are read")
    key, body = _public(signed.key), _body(signed, message)
    try:
        if isinstance(key, ed25519.Ed25519PublicKey) and signed.algorithm == "ssh-ed25519":
            key.verify(signed.value, body)
        elif isinstance(key, rsa.RSAPublicKey) and signed.algorithm in ("rsa-sha2-512", "rsa-sha2-256"):
            digest = hashes.SHA512() if signed.algorithm.endswith("512") else hashes.SHA256()
            key.verify(signed.value, body, padding.PKCS1v15(), digest)
        elif isinstance(key, ec.EllipticCurvePublicKey) and signed.algorithm == signed.kind:
            r, s = (int.from_bytes(part, "big", signed=True) for part in _strings(signed.value, 2))
            key.verify(encode_dss_signature(max(r, 0), max(s, 0)), body, ec.ECDSA(_hash_of(signed.kind)))
        else:
            raise UnreadableSignature(f"a key of type {signed.kind} does not sign by {signed.algorithm[:40]!r}")
    except InvalidSignature:
        return False
    return True


def wire(key: PrivateKey) -> bytes:
    """The public half of ``key`` as SSH writes it."""
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    return base64.b64decode(key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).split()[1])


def fingerprint(key: bytes) -> str:
    """``SHA256:…`` of a public key as SSH writes it."""
    return "SHA256:" + base64.b64encode(hashlib.sha256(key).digest()).decode().rstrip("=")


def _signature_value(bare: Signed, key: PrivateKey, message: bytes) -> bytes:
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
    from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

    body = _body(bare, message)
    if isinstance(key, rsa.RSAPrivateKey):
        return key.sign(body, padding.PKCS1v15(), hashes.SHA512())
    if isinstance(key, ec.EllipticCurvePrivateKey):
        # An mpint has a leading zero where its first bit is set, or it would be negative (RFC 4251).
        numbers = decode_dss_signature(key.sign(body, ec.ECDSA(_hash_of(bare.algorithm))))
        return b"".join(_string(number.to_bytes(number.bit_length() // 8 + 1, "big")) for number in numbers)
    return key.sign(body)


def _body(signed: Signed, message: bytes) -> bytes:
    digest = hashlib.new(signed.digest, message).digest()
    return _MAGIC + b"".join(map(_string, (signed.namespace.encode(), signed.reserved, signed.digest.encode(), digest)))


def _public(blob: bytes) -> PublicKey:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
    from cryptography.hazmat.primitives.serialization import load_ssh_public_key

    if (kind := _kind(blob)) not in _KINDS:
        raise UnreadableSignature(f"it is by a key of type {kind[:60]!r}; Ed25519, ECDSA and RSA keys are read")
    try:
        key = load_ssh_public_key(kind.encode() + b" " + base64.b64encode(blob))
    except (ValueError, UnsupportedAlgorithm):
        raise UnreadableSignature(f"the {kind} key in it is malformed") from None
    if isinstance(key, rsa.RSAPublicKey) and key.key_size < FEWEST_RSA_BITS:
        raise UnreadableSignature(
            f"it is by an RSA key of {key.key_size} bits; {FEWEST_RSA_BITS} are the fewest that count"
        )
    assert isinstance(key, (ed25519.Ed25519PublicKey, ec.EllipticCurvePublicKey, rsa.RSAPublicKey))
    return key


def _hash_of(kind: str) -> hashes.HashAlgorithm:
    from cryptography.hazmat.primitives import hashes

    by_curve: dict[str, type[hashes.SHA256 | hashes.SHA384 | hashes.SHA512]]
    by_curve = {"nistp256": hashes.SHA256, "nistp384": hashes.SHA384, "nistp521": hashes.SHA512}
    return by_curve[kind.rpartition("-")[2]]()


def _kind(blob: bytes) -> str:
    return blob[4 : 4 + min(int.from_bytes(blob[:4], "big"), 100)].decode("ascii", "replace")


def _string(value: bytes | str) -> bytes:
    value = value.encode() if isinstance(value, str) else value
    return len(value).to_bytes(4, "big") + value


def _strings(blob: bytes, count: int) -> list[bytes]:
    """Exactly ``count`` strings, each behind its length, and nothing else."""
    strings, at = [], 0
    for _ in range(count):
        length = int.from_bytes(blob[at : at + 4], "big")
        if at + 4 + length > len(blob):
            raise UnreadableSignature("it ends too early")
        strings.append(blob[at + 4 : at + 4 + length])
        at += 4 + length
    if at < len(blob):
        raise UnreadableSignature("something stands behind its end")
    return strings
