"""A server that speaks OpenAI's chat and transcription shapes and misbehaves as it is told; it shares no code with us.

Its answer to a clip is the clip's number of samples, so that a lost, doubled or invented answer shows.
"""

import base64
import email
import email.policy
import json
import socket
import struct
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple


class Call(NamedTuple):
    """A request as it came. ``heard`` is the samples in each clip; ``number`` counts from 0."""

    number: int
    path: str
    headers: dict
    body: dict
    heard: list

    @property
    def is_probe(self):
        return self.body.get("max_tokens", self.body.get("max_completion_tokens")) == 1


class Reply(NamedTuple):
    """What to send back; ``cut`` bytes are held back and the connection is closed."""

    body: object = None
    status: int = 200
    headers: dict = {}  # noqa: RUF012
    wait_s: float = 0.0
    cut: int = 0


def completion(content, finish="stop", prompt=10, completion_tokens=1, **message):
    return {
        "choices": [{"message": {"role": "assistant", "content": content, **message}, "finish_reason": finish}],
        "usage": {"prompt_tokens": prompt, "completion_tokens": completion_tokens},
    }


def told(call):
    """The usual answer: how many samples were heard, and usage that grows with them."""
    text = " ".join(map(str, call.heard))
    if "transcriptions" in call.path:
        return Reply({"text": text})
    if not call.body.get("stream"):
        return Reply(completion(text, prompt=10 + sum(call.heard) // 640))
    chunks = [{"choices": [{"delta": {"role": "assistant", "content": ""}}]}]
    chunks += [{"choices": [{"delta": {"content": letter}}]} for letter in text]
    chunks += [{"choices": [{"delta": {}, "finish_reason": "stop"}]}]
    chunks += [{"choices": [], "usage": {"prompt_tokens": 10 + sum(call.heard) // 640, "completion_tokens": 1}}]
    return Reply(events(*chunks))


def events(*chunks, done=True):
    lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks]
    return "".join([*lines, "data: [DONE]\n\n" if done else ""]).encode()


class Peer:
    """The server, on a free loopback port. ``behave`` is asked for every call; None means the usual answer."""

    def __init__(self, behave=lambda call: None):
        self.behave = behave
        self.calls = []
        self.most_at_once = self._at_once = 0
        self._lock = threading.Lock()
        self._server = self._held = None
        self.port = 0
        self.start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def asked(self):
        """The calls that were not probes."""
        return [call for call in self.calls if not call.is_probe]

    def start(self):
        peer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                peer._post(self)

            def log_message(self, *_):
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            allow_reuse_address = True
            request_queue_size = 128

            def handle_error(self, *_):
                pass

        self._server = Server(("127.0.0.1", self.port), Handler)
        self.port = self._server.server_address[1]
        if self._held is not None:
            self._held.close()
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self):
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None
            # Whoever connects is refused, and no other server is given the port until this one starts again.
            self._held = socket.socket()
            self._held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._held.bind(("127.0.0.1", self.port))

    def _post(self, handler):
        raw = handler.rfile.read(int(handler.headers["Content-Length"]))
        with self._lock:
            call = _call(len(self.calls), handler, raw)
            self.calls.append(call)
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            reply = self.behave(call) or told(call)
            time.sleep(reply.wait_s)
        finally:
            # Before the client can know that it may send another.
            with self._lock:
                self._at_once -= 1
        _send(handler, reply)


def _send(handler, reply):
    data = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
    handler.send_response(reply.status)
    for name, value in {"Content-Length": str(len(data)), **reply.headers}.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(data[: len(data) - reply.cut] if reply.cut else data)
    if reply.cut:
        handler.wfile.flush()
        handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        handler.close_connection = True


def _call(number, handler, raw):
    headers = {name.lower(): value for name, value in handler.headers.items()}
    if headers["content-type"].startswith("multipart/"):
        whole = f"Content-Type: {headers['content-type']}\r\n\r\n".encode() + raw
        parts = list(email.message_from_bytes(whole, policy=email.policy.HTTP).iter_parts())
        body = {part.get_param("name", header="content-disposition"): part.get_payload(decode=True) for part in parts}
        clips = [body.pop("file")]
        body = {name: value.decode() for name, value in body.items()}
    else:
        body = json.loads(raw)
        content = [
            part for message in body["messages"] if isinstance(message["content"], list) for part in message["content"]
        ]
        clips = [base64.b64decode(part["input_audio"]["data"]) for part in content if part["type"] == "input_audio"]
    return Call(number, handler.path, headers, body, [_samples(clip) for clip in clips])


def _samples(wav):
    """The samples in a WAV file of 16 bits (or, told by its format, 32), from its header alone."""
    assert wav[:4] == b"RIFF", wav[:12]
    bits = struct.unpack("<H", wav[34:36])[0]
    at = wav.index(b"data")
    return struct.unpack("<I", wav[at + 4 : at + 8])[0] // (bits // 8)
