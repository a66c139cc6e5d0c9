"""The server of ``audiobench view``: on this machine alone, and it changes nothing.

What a page of it may read is its own: a request has to name this server, none from another site is answered, and a
report, which may be untrusted, is shown without an origin.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from pytest_audiobench.errors import AudiobenchError, UsageError
from pytest_audiobench.evaluation.garbage_collection import collector_paused
from pytest_audiobench.identity import digest
from pytest_audiobench.records.lines import COMPARED_FILE, LINE_FILES
from pytest_audiobench.report.page.frame import Layout, encode, encoded, whole_page
from pytest_audiobench.report.page.html import PAGE
from pytest_audiobench.report.run_writer import RECORD
from pytest_audiobench.viewer.run_list import RunList, live_page

HOST = "127.0.0.1"
MOST_COMPARED = 12
_STYLES = ("base.css", "numbers.css", "samples.css", "runs.css")
_ALLOWS = "connect-src 'self'"
_LIST = Layout("runs.html", _STYLES, ("elements.js", "theme.js", "runs.js"), _ALLOWS)
_LIVE = Layout("live.html", _STYLES, ("elements.js", "theme.js", "live.js"), _ALLOWS)
_ERROR = Layout("live.html", _STYLES, ("elements.js", "theme.js", "not_shown.js"))
_HTML, _JSON, _TEXT = "text/html; charset=utf-8", "application/json", "text/plain; charset=utf-8"
_FRAMED = "frame-ancestors 'none'"
_OF_FILE = (
    "sandbox allow-scripts allow-downloads allow-modals; default-src 'none'; script-src 'unsafe-inline'; "
    "style-src 'unsafe-inline'; media-src blob: data:; img-src blob: data:; base-uri 'none'; form-action 'none'; "
    + _FRAMED
)
"""A report in the folder is shown as its file is, and may be anybody's: it reads nothing of this server."""


class Viewer(ThreadingHTTPServer):
    """Serves the runs of ``folder``; ``port`` 0 takes a free one. Close it, which removes what it had to draw."""

    daemon_threads = True
    _drawn: tempfile.TemporaryDirectory[str] | None = None

    def __init__(self, folder: Path, port: int) -> None:
        super().__init__((HOST, port), _Handler)
        self.runs = RunList(folder)
        self.names = {f"{host}:{self.server_port}" for host in (HOST, "localhost", "[::1]")}
        self.lock = threading.Lock()
        """Of what reads samples: two comparisons at once would only take twice the memory."""

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Nothing: a browser that went away is no news."""

    @property
    def address(self) -> str:
        return f"http://{HOST}:{self.server_port}/"

    def server_close(self) -> None:
        super().server_close()
        if self._drawn is not None:
            self._drawn.cleanup()

    def report(self, folder: Path) -> Path:
        """The page of a finished run; where its folder has none, it is drawn elsewhere."""
        if (folder / PAGE).is_file():
            return folder / PAGE
        from pytest_audiobench.report.page.html import write_page
        from pytest_audiobench.report.run_reader import load_run

        self._drawn = self._drawn or tempfile.TemporaryDirectory(prefix="audiobench-view-")
        found = (folder / RECORD).stat()
        place = Path(self._drawn.name) / digest([str(folder), str(found.st_mtime_ns), found.st_size])[:32]
        if not (place / PAGE).is_file():
            place.mkdir(exist_ok=True)
            for name in (*LINE_FILES.values(), COMPARED_FILE):
                if (folder / name).is_file():
                    with suppress(FileExistsError):
                        (place / name).symlink_to(folder / name)
            write_page(place, load_run(folder).record)
        return place / PAGE

    def compared(self, names: Sequence[str], model: str, evals: str) -> list[bytes]:
        """The page of ``audiobench compare``. Raises UsageError where they cannot be compared."""
        from pytest_audiobench.comparison.comparison import Rules, compare
        from pytest_audiobench.comparison.comparison_lines import Selection
        from pytest_audiobench.comparison.comparison_page import page
        from pytest_audiobench.comparison.contenders import contenders

        if len(names) > MOST_COMPARED:
            raise UsageError(f"{len(names)} runs are too many for a page: choose {MOST_COMPARED} at most")
        folders = [str(self.runs.find(name)) for name in dict.fromkeys(names)]
        with collector_paused():
            named = contenders(folders, self.runs.folder, model, evals)
            by_name = [replace(each, source=each.folder.name) if each.folder else each for each in named]
            return page(compare(by_name, Selection(), Rules()))

    def tracked(self, names: Sequence[str], model: str, evals: str, order: str) -> list[bytes]:
        """The page of ``audiobench track`` over the runs ``names``, or over all. Raises UsageError as that does."""
        from pytest_audiobench.comparison.comparison_lines import Selection
        from pytest_audiobench.comparison.run_series import Order, by_words, ordered_points
        from pytest_audiobench.comparison.track import TrackOptions, track
        from pytest_audiobench.comparison.track_page import page
        from pytest_audiobench.gate.thresholds import ALPHA, MARGIN

        folders = [self.runs.find(name) for name in names] or self.runs.finished()
        by: Order = "time" if order == "time" else "step"
        with collector_paused():
            points, model, notes = ordered_points(folders, model, by_words, by, named=bool(names))
            return page(track(model, points, TrackOptions(Selection(), evals, ALPHA, MARGIN), notes))


class _Handler(BaseHTTPRequestHandler):
    server: Viewer
    server_version, sys_version = "audiobench", ""
    timeout = 60
    _begun = False
    """Whether an answer is under way, behind whose beginning no other can be sent."""

    def do_GET(self) -> None:
        """Answer, or say in a sentence why not."""
        try:
            if self._is_refused():
                self._send(HTTPStatus.FORBIDDEN, _TEXT, [b"This server answers its own pages alone.\n"])
            else:
                self._answer()
        except (ConnectionError, TimeoutError):
            self.close_connection = True
        except (AudiobenchError, OSError, ValueError) as error:
            self._sentence(HTTPStatus.UNPROCESSABLE_ENTITY, str(error))
        # A run may be untrusted, or change while it is read.
        except Exception as error:
            self._sentence(HTTPStatus.INTERNAL_SERVER_ERROR, f"{type(error).__name__}: {error}")

    do_HEAD = do_GET

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the terminal has the address alone."""

    def _is_refused(self) -> bool:
        # A name that another server resolves to this machine is not one of ours.
        if self.headers.get("Host", "").lower() not in self.server.names:
            return True
        elsewhere = self.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin")
        return elsewhere and self.headers.get("Sec-Fetch-Mode") != "navigate"

    def _answer(self) -> None:
        url = urlsplit(self.path)
        query = parse_qs(url.query, max_num_fields=100)

        def value(name: str, otherwise: str) -> str:
            return query.get(name, [""])[0].strip() or otherwise

        steps = [unquote(step) for step in url.path.split("/")[1:]]
        if steps == [""]:
            self._page(_LIST, "Runs", self.server.runs.rows(value("search", "")))
        elif steps == ["runs.json"]:
            self._data(self.server.runs.rows(value("search", "")))
        elif steps == ["compare"]:
            with self.server.lock:
                chunks = self.server.compared(query.get("run", []), value("model", "*"), value("eval", "*"))
            self._send(HTTPStatus.OK, _HTML, chunks)
        elif steps == ["track"]:
            with self.server.lock:
                chunks = self.server.tracked(
                    query.get("run", []), value("model", ""), value("eval", "*"), value("order", "step")
                )
            self._send(HTTPStatus.OK, _HTML, chunks)
        elif len(steps) == 3 and steps[0] == "run" and steps[2] in ("", "live.json"):
            self._run(steps[1], is_data=bool(steps[2]))
        else:
            self._sentence(HTTPStatus.NOT_FOUND, "There is no such page.")

    def _run(self, name: str, is_data: bool) -> None:
        folder = self.server.runs.find(name)
        if (folder / RECORD).exists():
            if is_data:
                self._data({"state": "finished"})
            else:
                with self.server.lock:
                    path = self.server.report(folder)
                self._file(path)
        elif is_data:
            self._data(live_page(name, folder))
        else:
            self._page(_LIVE, name, live_page(name, folder))

    def _page(self, layout: Layout, title: str, content: dict[str, Any], status: HTTPStatus = HTTPStatus.OK) -> None:
        self._send(status, _HTML, [*whole_page(title, content, layout)])

    def _sentence(self, status: HTTPStatus, sentence: str) -> None:
        if self._begun:
            self.close_connection = True
            return
        self._page(_ERROR, "Not shown", {"error": sentence}, status)

    def _data(self, content: dict[str, Any]) -> None:
        body = encoded(encode(content))
        tag = f'"{digest([body.decode()])[:32]}"'
        if self.headers.get("If-None-Match") == tag:
            self._send(HTTPStatus.NOT_MODIFIED, _JSON, [], tag)
        else:
            self._send(HTTPStatus.OK, _JSON, [body], tag)

    def _file(self, path: Path) -> None:
        with path.open("rb") as file:
            size = path.stat().st_size
            self._head(HTTPStatus.OK, _HTML, size, _OF_FILE)
            if self.command == "GET":
                shutil.copyfileobj(file, self.wfile)

    def _send(self, status: HTTPStatus, kind: str, chunks: Sequence[bytes], tag: str = "") -> None:
        self._head(status, kind, sum(map(len, chunks)), _FRAMED, tag)
        if self.command == "GET":
            self.wfile.writelines(chunks)

    def _head(self, status: HTTPStatus, kind: str, size: int, policy: str, tag: str = "") -> None:
        self._begun = True
        self.send_response(status)
        headers = {
            "Content-Type": kind,
            "Content-Length": str(size),
            "Content-Security-Policy": policy,
            "Cross-Origin-Resource-Policy": "same-origin",
            "Cross-Origin-Opener-Policy": "same-origin",
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Cache-Control": "no-cache",
            **({"ETag": tag} if tag else {}),
        }
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
