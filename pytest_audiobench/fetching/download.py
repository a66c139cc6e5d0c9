"""One file over HTTP: taken up where it was broken off, tried again where that may help, and whole or not at all.

:class:`UrlFile` asks for it by the standard library.
"""

from __future__ import annotations

import http.client
import os
import socket
import ssl
import string
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from urllib.parse import quote, unquote, urlsplit

from pytest_audiobench.datasets.declaration import Fetch
from pytest_audiobench.errors import FatalError, InfrastructureError
from pytest_audiobench.fetching.place import Count, Listing, PlaceFile, check_paths, shown

T = TypeVar("T")

PART, TAG = ".part", ".tag"
"""What the name of an unfinished file ends with, and that of the entity tag it is of."""
_TRIES, _TRIES_TO_REACH = 4, 2
_FIRST_WAIT_S = 1.0
_MOST_WAIT_S = 120.0
_PARTIAL, NO_SUCH_RANGE = 206, 416
PASSING = (408, 425, 429, 500, 502, 503, 504)
"""Replies that another try may cure."""


class Passing(Exception):
    """A failure that another try may cure, as the begin of a sentence; ``wait_s`` is the pause that was asked for."""

    def __init__(self, says: str, wait_s: float | None = None) -> None:
        super().__init__(says)
        self.wait_s = wait_s


class Unreachable(Passing):
    """No connection: the name is not known, or no server answers."""


class Reply(NamedTuple):
    """A server's reply to a request for a file from some byte on."""

    status: int
    headers: Mapping[str, str]
    """By names in lower case."""
    blocks: Iterator[bytes]


Opener = Callable[[Mapping[str, str]], AbstractContextManager[Reply]]
"""Sends a request with these headers; raises :class:`Passing` and FatalError for what is no reply with content."""


def tried(call: Callable[[], T], *, first: bool = False) -> T:
    """What ``call`` returns, after up to four tries. Raises InfrastructureError after these.

    ``first`` is of a place that was not asked before: one that cannot be reached then is tried twice alone, since many
    places wait for it, and without a network none of them is there.
    """
    tries = _TRIES
    for number in range(_TRIES):
        try:
            return call()
        except Passing as error:
            failure = error
            tries = _TRIES_TO_REACH if first and isinstance(error, Unreachable) else _TRIES
        if number + 1 >= tries:
            break
        if failure.wait_s is not None and failure.wait_s > _MOST_WAIT_S:
            raise InfrastructureError(f"{failure}, and asks to be left alone for {failure.wait_s:.0f} s: try later")
        time.sleep(_FIRST_WAIT_S * 2**number if failure.wait_s is None else failure.wait_s)
    raise InfrastructureError(
        f"{failure}, {number + 1} times in a row: try again later (what has arrived is kept), or bring "
        "the files from another machine and give their folder by --from FOLDER"
    )


def download(file: Path, where: str, opener: Opener, count: Count) -> None:
    """Make ``file`` hold what ``opener`` opens. What another process began is taken up where the server can.

    ``where`` names it in messages.
    """
    if file.exists():
        count(file.stat().st_size)
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    part, tag = file.with_name(file.name + PART), file.with_name(file.name + TAG)
    counted = 0

    def attempt() -> None:
        nonlocal counted
        start, known = (part.stat().st_size if part.exists() else 0), _text(tag)
        # Without a tag it is not known whether it is still the same file.
        start = start if known else 0
        resuming = {"Range": f"bytes={start}-", "If-Range": known} if start else {}
        with opener({"Accept-Encoding": "identity", **resuming}) as reply:
            if reply.status == NO_SUCH_RANGE:
                part.unlink(missing_ok=True)
                raise Passing(f"{where} has become shorter")
            entity, begin = reply.headers.get("etag", ""), start if reply.status == _PARTIAL else 0
            # Not every server that gives ranges looks at If-Range.
            if begin and (entity not in ("", known) or not _begins_at(reply, begin)):
                part.unlink(missing_ok=True)
                raise Passing(f"{where} was changed while it was fetched")
            with part.open("r+b" if begin else "wb") as content:
                content.seek(begin)
                content.truncate()
                # Not before: the tag of one file before the begin of another would join the two.
                tag.write_text("" if entity.startswith("W/") else entity, encoding="utf-8")
                count(begin - counted)
                counted = begin
                for block in reply.blocks:
                    content.write(block)
                    count(len(block))
                    counted += len(block)
            if (size := _size(reply, begin)) is not None and size != counted:
                raise Passing(f"{where} came to {counted:,} of {size:,} bytes")

    tried(attempt)
    os.replace(part, file)
    tag.unlink(missing_ok=True)


def _size(reply: Reply, begin: int) -> int | None:
    """How large the whole file is; a part may end early, and says so in its range alone."""
    whole = reply.headers.get("content-range", "").rpartition("/")[2]
    if reply.status == _PARTIAL and whole.isdecimal():
        return int(whole)
    length = reply.headers.get("content-length", "")
    return begin + int(length) if length.isdecimal() else None


def _begins_at(reply: Reply, start: int) -> bool:
    return reply.headers.get("content-range", "").startswith(f"bytes {start}-")


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return ""


def refusal(status: int, where: str, gated: str = "") -> FatalError:
    """What a reply of this status means, as a sentence; ``gated`` is what to do where the place must be asked."""
    if status in (401, 403):
        return FatalError(f"{where} may not be fetched by everybody (reply {status}): {gated or 'ask its publisher'}")
    if status in (404, 410):
        return FatalError(
            f"{where} is not there any more (reply {status}): look for it at its publisher's, correct [[fetch]] in the "
            "file, or take it from a folder with --from FOLDER"
        )
    return FatalError(f"{where} cannot be fetched (reply {status}): look at it in a browser")


TIMEOUT_S = 60.0
"""How long nothing may arrive."""
_BLOCK_BYTES = 1 << 20
_AS_WRITTEN = string.punctuation
"""Characters of a URL that are sent as they are; all but ASCII is encoded."""
_NO_HEAD = (400, 403, 405, 501)
"""What servers reply that have the file and know no HEAD."""


class UrlFile:
    """What is behind one URL: https, http and ftp as they are, or a file of this machine."""

    def __init__(self, fetch: Fetch) -> None:
        assert fetch.url is not None
        self._url, self._fetch = fetch.url, fetch
        self.address = shown(fetch.url)
        self._name = unquote(urlsplit(fetch.url).path.rpartition("/")[2])
        check_paths([self._name], self.address)

    def listing(self, revision: str | None) -> Listing:
        """The size and entity tag, where the server says them; ``revision`` is that of hub and git alone."""

        def ask() -> tuple[str, int | None]:
            with _opened(self._url, self.address, {"Accept-Encoding": "identity"}, "HEAD") as reply:
                if reply.status in _NO_HEAD:
                    return "", None
                length = reply.headers.get("content-length", "")
                return reply.headers.get("etag", ""), int(length) if length.isdecimal() else None

        etag, size = tried(ask, first=True)
        file = PlaceFile(self._name, size or self._fetch.bytes, self._fetch.sha256, self._fetch.md5)
        return Listing(etag, [file])

    def downloads(self, listing: Listing, into: Path, count: Count) -> Iterator[Callable[[], None]]:
        opener = partial(_opened, self._url, self.address)
        yield partial(download, into / self._name, self.address, opener, count)


def _blocks(response: Any, where: str) -> Iterator[bytes]:
    try:
        while block := response.read1(_BLOCK_BYTES):
            yield block
    except OSError as error:  # of TLS and of routes there are some that are not ConnectionError
        raise Passing(f"the connection to {where} broke ({type(error).__name__})") from None


@contextmanager
def _opened(url: str, where: str, headers: Mapping[str, str], method: str = "GET") -> Iterator[Reply]:
    request = urllib.request.Request(
        quote(url, _AS_WRITTEN), headers={"User-Agent": "pytest-audiobench", **headers}, method=method
    )
    try:
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S) as response:
                said = {name.lower(): value for name, value in response.headers.items()}
                yield Reply(response.status or 200, said, _blocks(response, where))
        except urllib.error.HTTPError as error:
            if (method == "HEAD" and error.code in _NO_HEAD) or error.code == NO_SUCH_RANGE:
                yield Reply(error.code, {}, iter(()))
                return
            if error.code in PASSING:
                wait = error.headers.get("Retry-After", "")
                why = f"{where} cannot be had now (reply {error.code})"
                raise Passing(why, float(wait) if wait.isdecimal() and len(wait) < 10 else None) from None
            raise refusal(error.code, where) from None
    except urllib.error.URLError as error:
        if isinstance(error.reason, ssl.SSLCertVerificationError):
            raise FatalError(f"{where} has an untrusted certificate: do not use it") from None
        if isinstance(error.reason, FileNotFoundError):
            raise refusal(404, where) from None
        gone = Unreachable if isinstance(error.reason, socket.gaierror | ConnectionRefusedError) else Passing
        raise gone(f"the connection to {where} failed ({error.reason})") from None
    except (http.client.HTTPException, TimeoutError, ConnectionError) as error:
        raise Passing(f"the connection to {where} broke ({type(error).__name__})") from None
