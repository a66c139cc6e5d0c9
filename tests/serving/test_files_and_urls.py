"""Audio by path or URL: only where it was allowed, and nowhere else."""

import os
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from pytest_audiobench.errors import AudioError
from pytest_audiobench.serving.audio_in import _addresses, fetch


@pytest.fixture(scope="module")
def web(wav):
    """A web server with a clip, a redirect, answers that are endless, cut off or dripped; it counts its visitors."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            seen.append(self.path)
            if self.path == "/elsewhere":
                self.send_response(302)
                self.send_header("Location", "/clip.wav")
                self.end_headers()
                return
            if self.path == "/slow-head":
                self.wfile.write(b"HTTP/1.1 200 OK\r\n")
                drip(self.wfile)
                return
            self.send_response(404 if self.path == "/none.wav" else 200)
            if self.path == "/cut":
                self.send_header("Content-Length", "100000")
            self.end_headers()
            if self.path == "/slow-body":
                drip(self.wfile)
                return
            try:
                if self.path == "/endless":
                    while True:
                        self.wfile.write(bytes(1 << 20))
                self.wfile.write(wav(duration_s=0.25))
            except OSError:
                pass

        def log_message(self, *args):
            """Say nothing."""

    def drip(file):
        until = time.monotonic() + 60
        while time.monotonic() < until:
            try:
                file.write(b"x")
            except OSError:
                return
            time.sleep(0.02)

    seen = []

    class Server(ThreadingHTTPServer):
        def handle_error(self, request, client_address):
            """Say nothing: a client that has seen enough resets its connection."""

    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    server.seen = seen
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory, wav):
    """A folder that a server may read, beside a secret that it may not."""
    top = tmp_path_factory.mktemp("top")
    inside = top / "audio"
    (inside / "deep").mkdir(parents=True)
    (inside / "deep" / "clip.wav").write_bytes(wav(duration_s=0.25))
    (top / "secret.wav").write_bytes(wav())
    (inside / "out.wav").symlink_to(top / "secret.wav")
    (inside / "folder-out").symlink_to(top)
    (inside / "in.wav").symlink_to("deep/clip.wav")
    (inside / "note.txt").write_text("no audio, but a secret")
    os.mkfifo(inside / "pipe.wav")
    return inside


@pytest.fixture(scope="module")
def server(start, folder, web):
    return start(
        "serve", "baseline:listener", "--allow-files", folder, "--allow-urls", "127.0.0.1", "--max-body-mb", "2"
    )


def _by(kind, data):
    return {"payload_type": kind, "data": str(data), "sample_rate": 16_000}


def test_info_tells_which_kinds_are_taken(server):
    assert server.ask("/info").json["audio_payload_types"] == ["base64_wav", "file_path", "file_url"]


def test_files_inside_the_folder_are_heard(server, item, folder):
    paths = ["deep/clip.wav", folder / "deep" / "clip.wav", "in.wav"]
    rows = server.answer(*(item(str(i), _by("file_path", path)) for i, path in enumerate(paths)))
    assert [row["error"] for row in rows] == [None] * 3


def test_nothing_outside_the_folder_is_heard_or_told_of(server, item, folder):
    paths = [
        "../secret.wav",
        "deep/../../secret.wav",
        folder.parent / "secret.wav",
        f"{folder}/../secret.wav",
        "out.wav",
        "folder-out/secret.wav",
        "pipe.wav",
        "deep",
        "",
        "nothing.wav",
        "/etc/passwd",
        "deep\\clip.wav",
        "deep/clip.wav\0",
    ]
    rows = server.answer(*(item(str(i), _by("file_path", path)) for i, path in enumerate(paths)))
    told = {row["error"] for row in rows}
    assert told == {"audio 0: no readable audio file of that name in the folder that this server reads"}


def test_a_file_that_is_no_audio_is_not_shown(server, item):
    (row,) = server.answer(item("a", _by("file_path", "note.txt")))
    assert "not audio" in row["error"]
    assert "secret" not in row["error"]


def test_a_clip_on_an_allowed_host_is_heard(server, item, web):
    (row,) = server.answer(item("a", _by("file_url", f"http://127.0.0.1:{web.server_port}/clip.wav")))
    assert row["error"] is None


def test_other_hosts_schemes_and_redirects_are_refused(server, item, web):
    port = web.server_port
    urls = [
        f"http://localhost:{port}/clip.wav",
        f"http://[::1]:{port}/clip.wav",
        f"http://127.0.0.1@localhost:{port}/clip.wav",
        f"http://user@127.0.0.1:{port}/clip.wav",
        f"http://127.0.0.1:{port}/clip.wav\r\nX: y",
        "http://169.254.169.254/latest/meta-data",
        "file:///etc/passwd",
        f"ftp://127.0.0.1:{port}/clip.wav",
        "http://2130706433/clip.wav",
        "http://127.0.0.1:99999/",
        "//127.0.0.1/clip.wav",
        "",
    ]
    web.seen.clear()
    rows = server.answer(*(item(str(i), _by("file_url", url)) for i, url in enumerate(urls)))
    assert all(row["error"] for row in rows)
    assert web.seen == []
    for path, why in (("elsewhere", "302"), ("none.wav", "404"), ("endless", "more than 2097152 bytes")):
        (row,) = server.answer(item("a", _by("file_url", f"http://127.0.0.1:{port}/{path}")))
        assert why in row["error"]
    assert web.seen == ["/elsewhere", "/none.wav", "/endless"]


@pytest.mark.parametrize("path", ["slow-head", "slow-body"])
def test_a_host_that_drips_is_hung_up_on(web, path):
    with pytest.raises(AudioError, match=r"127\.0\.0\.1 sends its audio too slowly"):
        fetch(f"http://127.0.0.1:{web.server_port}/{path}", ["127.0.0.1"], 1 << 20, time.monotonic() + 0.3)


@pytest.mark.parametrize("url", ["http://me:sesame@[x", "http://me:sesame@x:port", "http://me:sesame@127.0.0.1/"])
def test_a_url_that_is_refused_is_not_repeated(url):
    with pytest.raises(AudioError) as told:
        fetch(url, ["127.0.0.1"], 1 << 20, time.monotonic() + 1)
    assert "sesame" not in str(told.value)


def test_a_clip_that_is_cut_off_on_its_way_is_not_heard_as_whole(web):
    with pytest.raises(AudioError, match=r"127\.0\.0\.1 sends \d+ bytes less than it promises"):
        fetch(f"http://127.0.0.1:{web.server_port}/cut", ["127.0.0.1"], 1 << 20, time.monotonic() + 60)


def test_without_leave_neither_files_nor_urls_are_taken(start, item, web, folder):
    server = start("serve", "baseline:listener")
    web.seen.clear()
    rows = server.answer(
        item("file", _by("file_path", folder / "deep" / "clip.wav")),
        item("url", _by("file_url", f"http://127.0.0.1:{web.server_port}/clip.wav")),
    )
    assert all("this server takes base64_wav" in row["error"] for row in rows)
    assert web.seen == []


INSIDE = [
    "127.0.0.1",
    "127.8.8.8",
    "0.0.0.0",
    "10.1.2.3",
    "172.16.0.1",
    "192.168.1.1",
    "169.254.169.254",
    "100.64.0.1",
    "224.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:10.1.2.3",
    "64:ff9b::7f00:1",
    "2002:7f00:1::1",
    "fc00::1",
    "fd12:3456::1",
    "fe80::1",
    "fec0::1",
    "ff02::1",
]


@pytest.fixture
def resolved(monkeypatch):
    """Has names resolve to chosen addresses, as whoever owns a domain can; returns the names that were looked up."""
    looked_up, own = [], socket.getaddrinfo

    def answer(addresses):
        def getaddrinfo(host, port, *args, **options):
            if not host.endswith(".example.org"):
                return own(host, port, *args, **options)
            looked_up.append(host)
            return [
                entry for address in addresses[len(looked_up) - 1] for entry in own(address, port, *args, **options)
            ]

        monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
        return looked_up

    return answer


@pytest.mark.parametrize("address", INSIDE)
def test_a_name_that_leads_inside_is_not_fetched_from(web, resolved, address):
    web.seen.clear()
    resolved([[address]])
    url = f"http://audio.example.org:{web.server_port}/clip.wav"
    with pytest.raises(
        AudioError, match=r"audio\.example\.org lies inside this server's own machine or network"
    ) as refused:
        fetch(url, ["audio.example.org"], 1 << 20, time.monotonic() + 60)
    assert address not in str(refused.value)
    assert web.seen == []


@pytest.mark.parametrize("hosts", [["127.0.0.1"], ["127.0.0.1:{port}"]])
def test_an_address_that_was_allowed_beside_its_name_is_fetched_from(web, resolved, hosts):
    resolved([["127.0.0.1"]])
    hosts = ["audio.example.org", *(host.format(port=web.server_port) for host in hosts)]
    url = f"http://audio.example.org:{web.server_port}/clip.wav"
    assert fetch(url, hosts, 1 << 20, time.monotonic() + 60).startswith(b"RIFF")


def test_a_name_is_resolved_once_and_asked_at_the_address_that_was_checked(web, resolved):
    looked_up = resolved([["10.1.2.3", "127.0.0.1"], ["127.0.0.2"]])
    url = f"http://audio.example.org:{web.server_port}/clip.wav"
    assert fetch(url, ["audio.example.org", "127.0.0.1"], 1 << 20, time.monotonic() + 60).startswith(b"RIFF")
    assert looked_up == ["audio.example.org"]


def test_the_next_address_of_a_name_is_tried_where_one_is_silent(web, resolved):
    resolved([["127.0.0.3", "127.0.0.1"]])
    url = f"http://audio.example.org:{web.server_port}/clip.wav"
    hosts = ["audio.example.org", "127.0.0.3", "127.0.0.1"]
    assert fetch(url, hosts, 1 << 20, time.monotonic() + 60).startswith(b"RIFF")


def test_localhost_says_itself_that_it_lies_inside(web):
    url = f"http://localhost:{web.server_port}/clip.wav"
    assert fetch(url, ["localhost"], 1 << 20, time.monotonic() + 60).startswith(b"RIFF")


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"])
def test_an_address_that_everybody_reaches_needs_no_leave_of_its_own(address):
    assert _addresses(address, 80, ["audio.example.org"]) == [address]
