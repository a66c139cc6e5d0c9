"""Audio that arrives over HTTP, or is fetched from the hosts that a server may fetch from, decoded for a model."""

from __future__ import annotations

import binascii
import http.client
import ipaddress
import os
import socket
import time
from collections.abc import Collection, Sequence
from urllib.parse import urlsplit

from pytest_audiobench.audio.clip import Clip, DataRoot, FileSource, PlayedAudio
from pytest_audiobench.audio.decode import decode, decode_bytes
from pytest_audiobench.errors import AudioError, FileUnreachable, SampleError
from pytest_audiobench.models.model import Limits
from pytest_audiobench.serving.deadline_connection import connected
from pytest_audiobench.serving.options import ServeOptions
from pytest_audiobench.serving.questions import PayloadType, Question, Sound

LONGEST_CALL_S = 7200.0
"""Audio that one call may hold once decoded: a kilobyte of compressed silence can promise hours."""

_VALUES_A_SECOND = 2 * 48_000
"""What one second may hold, in the mean over a call: a clip may have a higher rate, or more channels, for less time."""

_LONGEST_S = 30.0

_OUTSIDE = ipaddress.ip_network("2000::/3")
_BY_IPV4 = (ipaddress.ip_network("::ffff:0:0/96"), ipaddress.ip_network("64:ff9b::/96"))
"""Where an IPv6 address leads to the IPv4 address at its end."""


class AudioIn:
    """Decodes one call's audio: clips are cut at the model's window for their task, and all together are bounded.

    ``until`` is when fetching must have ended, on the monotonic clock.
    """

    def __init__(self, limits: Limits, options: ServeOptions, until: float) -> None:
        self._limits, self._options, self._until = limits, options, until
        self._left_s = LONGEST_CALL_S

    def play(self, question: Question) -> tuple[PlayedAudio, ...]:
        """The question's clips. Raises SampleError, naming the clip by its place."""
        if len(question.sounds) > self._limits.max_clips:
            raise SampleError(f"{len(question.sounds)} clips, and the model takes {self._limits.max_clips} at most")
        if len(question.sounds) < self._limits.min_clips:
            raise SampleError(f"{len(question.sounds)} clips, and the model needs {self._limits.min_clips} at least")
        return tuple(self._play(f"audio {i}", sound, question) for i, sound in enumerate(question.sounds))

    def _play(self, name: str, sound: Sound, question: Question) -> PlayedAudio:
        windows_s = (self._limits.window_s(question.task), question.longest_s, self._left_s)
        window_s = min(window for window in windows_s if window is not None)
        played = self._decode(name, sound, window_s)
        if played.truncated_s and window_s == self._left_s:
            raise SampleError(
                f"{name}: the call holds more than {LONGEST_CALL_S:g} s of audio; send it in several calls"
            )
        self._left_s = max(0.001, self._left_s - played.duration_s)
        return played

    def _decode(self, name: str, sound: Sound, window_s: float) -> PlayedAudio:
        # Somewhat more than what is left, so that a clip which is only too long is refused for its length.
        rate_hz, most_values = self._limits.rate_hz, round((self._left_s + 2) * _VALUES_A_SECOND)
        if isinstance(sound.data, bytes):
            return decode_bytes(name, sound.data, rate_hz, window_s, most_values)
        if sound.kind == "base64_wav":
            return decode_bytes(name, unpacked(name, sound.data), rate_hz, window_s, most_values)
        if sound.kind == "file_url":
            if not self._options.url_hosts:
                raise AudioError(f"{name}: this server fetches no URLs; send base64_wav")
            data = fetch(sound.data, self._options.url_hosts, self._options.max_body_bytes, self._until)
            return decode_bytes(name, data, rate_hz, window_s, most_values)
        try:
            return decode(Clip(self._file(name, sound.data)), rate_hz, window_s, most_values)
        except FileUnreachable:  # its message tells where the folder lies, and what is next to it
            raise AudioError(
                f"{name}: no readable audio file of that name in the folder that this server reads"
            ) from None

    def _file(self, name: str, path: str) -> FileSource:
        if (folder := self._options.files) is None:
            raise AudioError(f"{name}: this server reads no files; send base64_wav")
        root = folder.resolve()
        relative = path
        if os.path.isabs(path):
            homes = (f"{home}{os.sep}" for home in (os.path.abspath(folder), str(root)))
            relative = next((path.removeprefix(home) for home in homes if path.startswith(home)), path)
        return FileSource(DataRoot("files", root), relative)


def unpacked(name: str, data: str) -> bytes:
    """The bytes that base64 text stands for. Raises AudioError."""
    try:
        return binascii.a2b_base64(data, strict_mode=True)
    except ValueError as error:
        raise AudioError(
            f"{name}: not base64 ({error}); send the bytes of a WAV file as base64, without a prefix"
        ) from None


def payload_types(options: ServeOptions) -> list[PayloadType]:
    """The ways in which a server with these options takes audio."""
    kinds: list[PayloadType] = ["base64_wav"]
    if options.files is not None:
        kinds.append("file_path")
    if options.url_hosts:
        kinds.append("file_url")
    return kinds


def fetch(url: str, hosts: Collection[str], most_bytes: int, until: float) -> bytes:
    """The body behind an http or https URL, at most ``most_bytes`` long, before ``until`` (monotonic clock).

    ``hosts`` holds names and addresses, or these with ports. A name is resolved once, and an address inside this
    machine or its network is asked only where that address is in ``hosts`` itself. No redirect is followed, since it
    could lead to any host. Raises AudioError.
    """
    try:
        parts = urlsplit(url)
        is_secure = parts.scheme == "https"
        port = parts.port or (443 if is_secure else 80)
    except ValueError:
        raise AudioError("the URL of the audio cannot be read") from None
    host = (parts.hostname or "").lower()
    is_known = parts.scheme in ("http", "https") and _is_named(host, port, hosts)
    if not is_known or parts.username is not None or not url.isprintable():
        raise AudioError(
            f"this server may not fetch from {host[:80]!r}; send base64_wav, or allow the host when it is started"
        )
    until = min(until, time.monotonic() + _LONGEST_S)
    connection = (_SecureConnection if is_secure else _Connection)(host, port)
    try:
        connection.addresses = _addresses(host, port, hosts)
        with connected(connection, until):
            connection.request("GET", f"{parts.path or '/'}{'?' + parts.query if parts.query else ''}")
            data = _body(connection.getresponse(), host, most_bytes)
    except (OSError, http.client.HTTPException, UnicodeError, ValueError) as error:
        if time.monotonic() < until:
            raise AudioError(f"the audio cannot be fetched from {host}: {type(error).__name__}") from None
    if time.monotonic() >= until:  # what was cut off then looks like a whole answer
        raise AudioError(f"{host} sends its audio too slowly")
    return data


class _Connection(http.client.HTTPConnection):
    """A connection to ``addresses``, tried in turn: a name that is resolved again may lead elsewhere than it did when
    it was checked. The name is what the server is asked by, and what its certificate must be for.
    """

    addresses: Sequence[str] = ()

    def connect(self) -> None:
        assert self.timeout is not None
        for left in range(len(self.addresses), 0, -1):
            try:
                self.sock = socket.create_connection((self.addresses[-left], self.port), self.timeout / left)
            except OSError:
                if left == 1:
                    raise
            else:
                self.sock.settimeout(self.timeout)
                return


class _SecureConnection(http.client.HTTPSConnection, _Connection):
    """The same with TLS, which HTTPSConnection puts around what :class:`_Connection` connects."""


def _is_named(host: str, port: int, hosts: Collection[str]) -> bool:
    return host in hosts or f"{host}:{port}" in hosts


def _addresses(host: str, port: int, hosts: Collection[str]) -> list[str]:
    """The addresses of ``host`` that may be asked. Raises AudioError where there is none, OSError for no such host."""
    resolved = [str(entry[4][0]) for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
    allowed = [
        address
        for address in dict.fromkeys(resolved)
        if _is_outside(address)
        or _is_named(address, port, hosts)
        or (host == "localhost" and ipaddress.ip_address(address).is_loopback)
    ]
    if not allowed:
        raise AudioError(
            f"{host} lies inside this server's own machine or network, and its name alone does not allow that; send "
            "base64_wav, or allow its address too when the server is started"
        )
    return allowed


def _is_outside(address: str) -> bool:
    """Whether everybody can reach ``address``; not what is of one machine or network, reserved, or many machines'."""
    ip = ipaddress.ip_address(address)
    if isinstance(ip, ipaddress.IPv6Address):
        if not any(ip in network for network in _BY_IPV4):
            return ip in _OUTSIDE and ip.is_global and ip.sixtofour is None
        ip = ipaddress.IPv4Address(ip.packed[-4:])
    return ip.is_global and not ip.is_multicast


def _body(answer: http.client.HTTPResponse, host: str, most_bytes: int) -> bytes:
    if answer.status != 200:
        raise AudioError(f"{host} answers {answer.status} instead of the audio")
    data = answer.read(most_bytes + 1)
    if len(data) > most_bytes:
        raise AudioError(f"{host} sends more than {most_bytes} bytes of audio")
    if answer.length:
        raise AudioError(f"{host} sends {answer.length} bytes less than it promises")
    return data
