"""What the server of ``audiobench view`` answers, and to whom."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_audiobench.viewer.run_list import RunList, live_evals
from pytest_audiobench.viewer.server import Viewer
from tests.browser import wait_until
from tests.viewer.conftest import serving


def ask(viewer: Viewer, path: str, method: str = "GET", **headers: str) -> tuple[int, dict[str, str], str]:
    connection = http.client.HTTPConnection("127.0.0.1", viewer.server_port, timeout=60)
    connection.putrequest(method, path, skip_host="Host" in headers)
    for name, value in headers.items():
        connection.putheader(name.replace("_", "-"), value)
    connection.endheaders()
    reply = connection.getresponse()
    content = reply.read().decode()
    connection.close()
    return reply.status, dict(reply.getheaders()), content


def test_only_who_names_this_server_is_answered(viewer: Viewer) -> None:
    port = viewer.server_port
    for host in (f"127.0.0.1:{port}", f"localhost:{port}", f"LOCALHOST:{port}", f"[::1]:{port}"):
        assert ask(viewer, "/runs.json", Host=host)[0] == 200
    for host in (
        "",
        "evil.example",
        f"evil.example:{port}",
        "127.0.0.1",
        f"127.0.0.1:{port + 1}",
        f"127.0.0.1.evil:{port}",
    ):
        status, _, content = ask(viewer, "/runs.json", Host=host)
        assert (status, "good" in content) == (403, False)


def test_no_other_site_reads_anything(viewer: Viewer) -> None:
    for site in ("cross-site", "same-site"):
        assert ask(viewer, "/runs.json", Sec_Fetch_Site=site, Sec_Fetch_Mode="no-cors")[0] == 403
        assert ask(viewer, "/compare?run=good&run=poor", Sec_Fetch_Site=site, Sec_Fetch_Mode="cors")[0] == 403
    for path in ("/", "/runs.json", "/run/good/", "/nothing"):
        _, headers, _ = ask(viewer, path, Origin="https://evil.example")
        assert not [name for name in headers if name.lower().startswith("access-control")]
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_nothing_but_reading_is_understood(viewer: Viewer, method: str) -> None:
    assert ask(viewer, "/", method)[0] == 501


def test_head_is_get_without_the_content(viewer: Viewer) -> None:
    for path in ("/", "/runs.json", "/run/good/"):
        (_, head, nothing), (_, get, content) = ask(viewer, path, "HEAD"), ask(viewer, path)
        assert (nothing, head["Content-Length"]) == ("", get["Content-Length"])
        assert int(get["Content-Length"]) == len(content.encode())


def test_no_path_leads_out_of_the_folder(folder: Path) -> None:
    (folder.parent / "secret").mkdir()
    for file in (folder / "good").iterdir():
        (folder.parent / "secret" / file.name).write_text(file.read_text().replace("listener", "a-secret"))
    (folder / "linked").symlink_to(folder.parent / "secret")
    for name in ("report.html", "predictions.jsonl", "run.json"):
        (folder / f"poor-{name}").mkdir()
        for file in (folder / "poor").iterdir():
            (folder / f"poor-{name}" / file.name).write_bytes(file.read_bytes())
        (folder / f"poor-{name}" / name).unlink()
        (folder / f"poor-{name}" / name).symlink_to(folder.parent / "secret" / name)
    (folder / "piped").mkdir()
    os.mkfifo(folder / "piped" / "run.json")
    escapes = (
        "..",
        "../secret",
        "..%2fsecret",
        "%2e%2e%2fsecret",
        "%2e%2e/secret",
        "linked",
        "poor-report.html",
        "%00",
    )
    with serving(folder) as viewer:
        paths = [f"/run/{name}/" for name in (*escapes, "poor-predictions.jsonl", "poor-run.json", "piped")]
        paths += [f"/{name}/run.json" for name in escapes] + ["//etc/passwd", "/run//", "/run/good/run.json"]
        paths += [f"/compare?run=good&run={name}" for name in ("../secret", "linked", "poor-predictions.jsonl")]
        for path in paths:
            status, _, content = ask(viewer, path)
            assert (path, status in (404, 422), "a-secret" in content) == (path, True, False)
        rows = {row["name"]: row for row in json.loads(ask(viewer, "/runs.json")[2])["runs"]}
        assert "linked" not in rows
        assert "leads out of" in rows["poor-run.json"]["error"]
        assert "no plain file" in rows["piped"]["error"]


def test_a_report_of_a_stranger_reads_nothing_of_this_server(folder: Path, tab: Any) -> None:
    stolen = "fetch('/runs.json').then((reply) => reply.text()).then((text) => { document.title = text; })"
    late = "setTimeout(() => { document.title += 'ran'; }, 500)"
    (folder / "good" / "report.html").write_text(f"<title></title><script>{stolen}; {late}</script>")
    with serving(folder) as viewer:
        tab.goto(f"{viewer.address}run/good/")
        wait_until(tab, "document.title.endsWith('ran')")
        assert tab.title() == "ran"
        assert tab.evaluate("self.origin") == "null"


def test_a_list_that_has_not_changed_is_not_sent_again(viewer: Viewer) -> None:
    _, headers, _ = ask(viewer, "/runs.json")
    assert ask(viewer, "/runs.json", If_None_Match=headers["ETag"])[::2] == (304, "")


def test_a_run_is_read_again_where_its_file_has_changed_and_a_long_folder_piece_by_piece(folder: Path) -> None:
    runs = RunList(folder)
    begun = runs.rows(budget_s=0.0)
    assert (begun["all"], len(begun["runs"]), begun["unread"]) == (3, 0, 3)
    assert [row["word"] for row in runs.rows(budget_s=600.0)["runs"]] == ["measured"] * 3
    record = json.loads((folder / "good" / "run.json").read_text())
    (folder / "good" / "run.json").write_text(json.dumps({**record, "exit_status": 2}))
    assert [row["word"] for row in runs.rows(search="good", budget_s=600.0)["runs"]] == ["interrupted"]


def test_a_run_itself_is_shown_as_the_only_one(folder: Path) -> None:
    assert [row["name"] for row in RunList(folder / "good").rows(budget_s=600.0)["runs"]] == ["good"]


def test_the_verb_prints_its_address_and_ends_with_an_interrupt(folder: Path) -> None:
    command = [sys.executable, "-m", "pytest_audiobench.cli", "view", str(folder), "--port=0"]
    # Where the tests run in the background of a shell, interrupts are ignored, and children inherit that.
    heeded = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **heeded)
    try:
        address = process.stdout.readline().strip() if process.stdout else ""
        assert address.startswith("http://127.0.0.1:")
        port = int(address.rstrip("/").rpartition(":")[2])
        again = subprocess.run([*command[:-1], f"--port={port}"], capture_output=True, text=True, check=False)
        assert (again.returncode, "choose another with --port" in again.stderr) == (4, True), again.stderr
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=60) == ("", "Ctrl-C ends it\n")
        assert process.returncode == 0
    finally:
        process.kill()


def test_a_run_whose_parts_go_while_they_are_listed_has_none(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(path: Path, pattern: str) -> Iterator[Path]:
        raise FileNotFoundError(path)

    monkeypatch.setattr(Path, "glob", gone)
    assert live_evals(folder / "good") == []
