"""Private keys in files: read, with their passphrase where they have one."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from getpass import getpass
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_audiobench.errors import UsageError, install_command
from pytest_audiobench.models.remote.api_keys import read_private
from pytest_audiobench.sharing.sshsig import FEWEST_RSA_BITS

if TYPE_CHECKING:
    from pytest_audiobench.sharing.sshsig import PrivateKey

PASSPHRASE = "AUDIOBENCH_KEY_PASSPHRASE"
"""The environment variable that holds a key's passphrase where no one can be asked."""

_OPENSSH = "-----BEGIN OPENSSH PRIVATE KEY-----"


def load_key(path: Path, environ: Mapping[str, str] = os.environ) -> PrivateKey:
    """The private key in ``path``: Ed25519, ECDSA or RSA, in OpenSSH's format or as PEM.

    A passphrase comes from ``environ`` or is asked for on the terminal. Raises UsageError, never with the passphrase in
    it, for a file that is not one of these, that others can read, or whose passphrase is wrong or nowhere to be had.
    """
    try:
        from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
    except ImportError:
        raise UsageError(f"signatures need cryptography: {install_command('push')}") from None
    text = read_private(path) if path.suffix != ".pub" else ""
    if "PRIVATE KEY-----" not in text:
        raise UsageError(
            f"{path} is not a private key: name the file beside it without .pub, such as ~/.ssh/id_ed25519 (a key that "
            "only an agent or a security token holds cannot sign here; ssh-keygen -t ed25519 -f FILE makes one)"
        )
    key = _loaded(path, text.encode(), environ)
    if not isinstance(key, (ed25519.Ed25519PrivateKey, ec.EllipticCurvePrivateKey, rsa.RSAPrivateKey)):
        raise UsageError(f"{path} is neither an Ed25519, ECDSA nor RSA key: make one by ssh-keygen -t ed25519")
    if isinstance(key, rsa.RSAPrivateKey) and key.key_size < FEWEST_RSA_BITS:
        raise UsageError(f"{path} is an RSA key of {key.key_size} bits: take one of {FEWEST_RSA_BITS} or more")
    return key


def _loaded(path: Path, content: bytes, environ: Mapping[str, str]) -> object:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_ssh_private_key

    load: Callable[[bytes, bytes | None], object] = (
        load_ssh_private_key if content.lstrip().startswith(_OPENSSH.encode()) else load_pem_private_key
    )
    try:
        try:
            return load(content, None)
        except TypeError:
            passphrase = _passphrase(path, environ)
        try:
            return load(content, passphrase)
        except ValueError:
            source = PASSPHRASE if environ.get(PASSPHRASE) else "the terminal"
            raise UsageError(f"the passphrase of {path} is another than that from {source}") from None
    except UnsupportedAlgorithm as error:
        if "bcrypt" in str(error):
            raise UsageError(f"{path} has a passphrase, which needs bcrypt: pip install 'cryptography[ssh]'") from None
        raise UsageError(f"{path} cannot be read ({error}): make a key by ssh-keygen -t ed25519") from None
    except ValueError:
        raise UsageError(f"{path} is not a private key that can be read: it was cut or edited") from None


def _passphrase(path: Path, environ: Mapping[str, str]) -> bytes:
    if given := environ.get(PASSPHRASE):
        return given.encode()
    if not sys.stdin.isatty():
        raise UsageError(f"{path} has a passphrase, and it cannot be asked for here: set {PASSPHRASE}")
    return getpass(f"passphrase of {path}: ").encode()
