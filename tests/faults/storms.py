"""Storms: a server on loopback that misbehaves by a script drawn from a seed. It shares no code with the package.

It speaks both kinds of HTTP that models are asked by, chat completions and predictions_v1, below HTTP where it must.
Its answer to a clip is the clip's number of samples, so that a lost, doubled or exchanged answer shows.
"""

import base64
import gzip
import json
import random
import socket
import socketserver
import struct
import threading
import time

MODES = (
    *("status", "huge error", "redirect", "reset", "hang up", "cut", "drip", "stall", "tls", "noise", "header bomb"),
    *(
        "long header",
        "bad chunk",
        "cut chunk",
        "gzip bomb",
        "false gzip",
        "no json",
        "odd json",
        "deep json",
        "nothing",
    ),
    *("too long", "trailing", "second reply", "informational", "old http", "retry-after"),
)
SLOW = ("drip", "stall")
"""Modes that cost a whole timeout: seldom, so that a storm ends soon."""
_STATUSES = (400, 401, 402, 403, 404, 405, 408, 409, 413, 418, 422, 429, 500, 501, 502, 503, 504, 529, 599)
_MEGABYTE = b"x" * 2**20
_BOMB = gzip.compress(_MEGABYTE * 64, 1)
_ODD = ("null", "[]", "{}", "NaN", '"text"', '{"choices": []}', '{"choices": [null]}', '{"predictions": 1}', "1e999")


class Storm(socketserver.ThreadingTCPServer):
    """``seed`` draws the script: how each request is treated, in the order in which requests come."""

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 64

    def __init__(self, seed: int, megabytes: int = 1) -> None:
        super().__init__(("127.0.0.1", 0), _Connection)
        self.drawn = random.Random(f"storm {seed}")
        self.megabytes = megabytes
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self._script = _script(self.drawn, seed)
        self.modes: list[str] = []
        """What was done to the requests, in order."""
        self.calm = False
        """Whether it behaves from here on."""
        self._lock = threading.Lock()
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    def next_mode(self) -> str:
        with self._lock:
            mode = "" if self.calm else next(self._script)
            self.modes.append(mode)
            return mode

    def handle_error(self, request: object, client_address: object) -> None:
        pass

    def stop(self) -> None:
        self.shutdown()
        self.server_close()


def _script(drawn: random.Random, seed: int):
    """Phases: some requests that are well, some to which one thing or several are done; the last phase never ends."""
    slow = 2
    first = MODES[seed % len(MODES)]
    for number in range(drawn.randint(1, 4)):
        for _ in range(drawn.choice([0, 1, 3, 6])):
            yield ""
        modes = [first] if not number else drawn.choices(MODES, k=drawn.choice([1, 1, 2]))
        for _ in range(drawn.choice([1, 2, 8, 30])):
            mode = drawn.choice(modes)
            slow -= mode in SLOW
            yield "hang up" if mode in SLOW and slow < 0 else mode
    ends = "" if drawn.random() < 0.4 else drawn.choice([mode for mode in MODES if mode not in SLOW])
    while True:
        yield ends


class _Connection(socketserver.StreamRequestHandler):
    server: Storm

    def handle(self) -> None:
        while request := self.rfile.readline(65_536):
            length, chunked = 0, False
            while (line := self.rfile.readline(65_536)).strip():
                name, _, value = line.decode("latin-1").partition(":")
                length = int(value) if name.lower() == "content-length" else length
                chunked = chunked or name.lower() == "transfer-encoding"
            body = b"".join(self._chunks()) if chunked else self.rfile.read(length)
            method, path, _ = request.decode("latin-1").split(" ", 2)
            mode = "" if method == "GET" else self.server.next_mode()
            if not self._reply(mode, answer(path, body)):
                return

    def _chunks(self):
        while size := int(self.rfile.readline(), 16):
            yield self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()

    def _send_megabytes(self) -> None:
        for _ in range(self.server.megabytes):
            self.wfile.write(_MEGABYTE)

    def _reply(self, mode: str, content: bytes) -> bool:
        """Send it, or what ``mode`` makes of it; whether the connection stays open."""
        drawn, send = self.server.drawn, self.wfile.write
        usual = message(content)
        match mode:
            case "":
                send(usual)
                return True
            case "status":
                words = drawn.choice([b"", b'{"error": {"message": "no"}}', b"<html>no</html>", b"\xff\x00\x1b[31m"])
                send(message(words, drawn.choice(_STATUSES)))
                return True
            case "retry-after":
                after = drawn.choice(["0", "-1", "soon", "1e9", "99999", "Wed, 21 Oct 2015 07:28:00 GMT", "nan"])
                send(message(b"", drawn.choice([429, 503]), f"Retry-After: {after}"))
                return True
            case "informational":
                send(b"HTTP/1.1 100 Continue\r\n\r\n" * 50 + usual)
                return True
            case "huge error":
                send(message(b"", 500, length=self.server.megabytes * len(_MEGABYTE)))
                self._send_megabytes()
            case "redirect":
                send(message(b"", drawn.choice([301, 302, 303, 307, 308]), "Location: http://127.0.0.1:9/elsewhere"))
            case "reset":
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            case "cut":
                send(usual[: drawn.randrange(1, len(usual))])
            case "drip":
                for place in range(len(usual)):
                    send(usual[place : place + 1])
                    time.sleep(0.2)
            case "stall":
                send(usual[: drawn.randrange(len(usual))])
                time.sleep(30)
            case "tls":
                send(bytes.fromhex("15030300020228"))
            case "noise":
                send(drawn.randbytes(drawn.choice([1, 100, 10_000])))
            case "header bomb":
                send(b"HTTP/1.1 200 OK\r\n" + b"".join(b"X-%d: bomb\r\n" % n for n in range(50_000)) + b"\r\n")
            case "long header":
                send(b"HTTP/1.1 200 OK\r\nX: ")
                self._send_megabytes()
            case "bad chunk":
                send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n" + content)
            case "cut chunk":
                send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffff\r\n" + content)
            case "gzip bomb":
                send(message(_BOMB, 200, "Content-Encoding: gzip")[:-9])
                time.sleep(0.2)
            case "false gzip":
                send(message(content, 200, "Content-Encoding: gzip"))
            case "no json":
                send(message(content[: drawn.randrange(len(content))]))
            case "odd json":
                send(message(drawn.choice(_ODD).encode()))
            case "deep json":
                send(message(b"[" * 200_000))
            case "nothing":
                send(message(b""))
            case "too long":
                send(message(content, length=len(content) + 100))
            case "trailing":
                send(usual + content)
            case "second reply":
                send(usual + message(answer("/v1/chat/completions", b"{}")))
                time.sleep(0.2)
            case "old http":
                send(content)
        return False


def message(content: bytes, status: int = 200, header: str = "X: y", length: int | None = None) -> bytes:
    """A whole HTTP message."""
    length = len(content) if length is None else length
    return f"HTTP/1.1 {status} Word\r\nContent-Length: {length}\r\n{header}\r\n\r\n".encode() + content


def answer(path: str, body: bytes) -> bytes:
    """What a server that is well says."""
    if path == "/health":
        return b'{"status": "ok"}'
    if path == "/info":
        info = {"name": "storm", "model": "lengths", "model_revision": "1", "max_batch_size": 4}
        more = {"audio_payload_types": ["base64_wav"], "supports_batching": True, "schema_versions": ["predictions_v1"]}
        return json.dumps(info | more).encode()
    asked = json.loads(body)
    if path == "/predict":
        responses = [
            {"sample_id": item["sample_id"], "predictions": [" ".join(_lengths(item["audio_inputs"]))], "error": None}
            for item in asked["requests"]
        ]
        return json.dumps({"schema_version": "predictions_v1", "responses": responses}).encode()
    parts = [
        part for turn in asked.get("messages", []) if isinstance(turn["content"], list) for part in turn["content"]
    ]
    text = " ".join(_lengths([part["input_audio"] for part in parts if part["type"] == "input_audio"]))
    choice = {"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    return json.dumps({"choices": [choice]}).encode()


def _lengths(clips: list) -> list[str]:
    """The samples in each WAV file of 16 bits."""
    files = [base64.b64decode(clip["data"]) for clip in clips]
    return [str(struct.unpack("<I", file[(at := file.index(b"data")) + 4 : at + 8])[0] // 2) for file in files]
