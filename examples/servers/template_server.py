"""A predictions_v1 server in one file: put your model in `Model`, and any client of the contract can ask it.

    python template_server.py --port 8000          # your model
    python template_server.py --port 8000 --dummy  # answers without a model, to try a client with

It needs Python 3.9 or later and nothing else, so it runs in whatever environment your model needs.
The launchers in the folders beside it subclass `Model` and call `main`.
"""

import argparse
import base64
import binascii
import contextlib
import hashlib
import hmac
import io
import json
import os
import signal
import sys
import threading
import time
import wave
from array import array
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SCHEMA = "predictions_v1"
DISCARD_S = 10
PLACEHOLDER = "<Audio><AudioHere></Audio>"


class Model:
    """Put your model here."""

    name = "my-server"
    model = "owner/my-model"
    revision = "commit or digest of the weights"
    max_batch = 8
    rate_hz = None  # clips are resampled to it (which needs soxr); None leaves each at its own
    checkpoint_variable = None  # the environment variable that may name the checkpoint instead of --checkpoint
    load_status = "ready"
    posts = ()  # methods that answer the body of a call with an object, each at the path of its name
    options = argparse.Namespace(max_audio_s=None)  # of the command line

    @classmethod
    def add_options(cls, parser):
        """Add options of the model's own to the command line."""

    @classmethod
    def stub(cls):
        """What answers instead with --stub."""
        return Dummy(None if cls is Model else cls)

    def load(self):
        """Load the weights, once, before the first answer. Questions that come meanwhile wait."""
        raise NotImplementedError("put your model into Model.load and Model.answer, or try --dummy")

    def answer(self, questions):
        """One (text, finish_reason, usage) for each question, or an exception instance where a question failed.

        A question is a dict:
            messages           [{"role": "system", "user" or "assistant", "content": str}]; PLACEHOLDER marks a clip
            audio              [(samples, rate_hz)]: floats within [-1, 1], channels averaged
            generation_config  {"max_tokens": int, "temperature": float, ...}; greedy unless the temperature is above 0
        """
        raise NotImplementedError


class Dummy(Model):
    """Answers with the digest and length of what it was sent; `stands_for` makes it the stub of a model's class."""

    name, model, revision, max_batch = "template-server", "dummy", "1", 32

    def __init__(self, stands_for=None):
        if stands_for is not None:
            self.name, self.model, self.max_batch = stands_for.name, stands_for.model, stands_for.max_batch
            self.revision = self.load_status = "stub"

    def load(self):
        pass

    def answer(self, questions):
        return [self._one(question) for question in questions]

    def _one(self, question):
        content = json.dumps(question["messages"], sort_keys=True).encode()
        digest = hashlib.sha256(content)
        for samples, _ in question["audio"]:
            digest.update(array("f", samples).tobytes())
        heard = [f"{len(samples) / rate_hz:.2f} s at {rate_hz} Hz" for samples, rate_hz in question["audio"]]
        text = f"dummy {digest.hexdigest()[:12]}: {', '.join(heard) or 'no audio'}"
        usage = {"prompt_tokens": len(content), "completion_tokens": len(text.split())}
        return text, "stop", None if self.load_status == "stub" else usage  # a stub's hearing proves nothing


class Refused(Exception):
    """The whole call is refused with this status."""

    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


def questions_of(body, max_batch):
    """[(sample_id, question or exception)] of a call. Raises Refused where the call as a whole is bad."""
    try:
        call = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Refused(422, f"the body is not JSON: {error}") from None
    if not isinstance(call, dict) or call.get("schema_version") != SCHEMA:
        raise Refused(400, f"schema_version must be {SCHEMA}")
    requests = call.get("requests")
    if not isinstance(requests, list):
        raise Refused(400, "requests must be a list")
    if len(requests) > max_batch:
        raise Refused(413, f"{len(requests)} requests in one call; max_batch_size is {max_batch}")
    ids = [request.get("sample_id") if isinstance(request, dict) else None for request in requests]
    if not all(isinstance(sample_id, str) and sample_id.strip() for sample_id in ids):
        raise Refused(400, "every request needs a sample_id")
    if len(set(ids)) < len(ids):
        raise Refused(400, "a sample_id stands twice in one call")
    return [(request["sample_id"], _question(request)) for request in requests]


def _question(request):
    try:
        messages = [{"role": m["role"], "content": m["content"]} for m in request["messages"]]
        if not messages or not all(isinstance(m["content"], str) for m in messages):
            raise ValueError("messages must be a list of texts with something in it")
        audio = [_audio(i, audio) for i, audio in enumerate(request["audio_inputs"])]
        places = sum(m["content"].count(PLACEHOLDER) for m in messages)
        if places not in (0, len(audio)):
            raise ValueError(f"{places} audio placeholders and {len(audio)} audio_inputs")
        config = request["generation_config"]
        if not isinstance(config, dict):
            raise ValueError("generation_config must be an object")
        return {"messages": messages, "audio": audio, "generation_config": config}
    except KeyError as error:
        return ValueError(f"{error} is missing")
    except (TypeError, ValueError, EOFError, wave.Error) as error:
        return error


def _audio(position, audio):
    if audio["payload_type"] != "base64_wav":
        raise ValueError(f"audio_inputs[{position}]: this server takes base64_wav")
    try:
        data = base64.b64decode(audio["data"], validate=True)
    except (TypeError, binascii.Error) as error:
        raise ValueError(f"audio_inputs[{position}] is not base64: {error}") from None
    return _samples(position, data)


def _samples(position, data):
    """Floats and the rate that the file itself gives. With soundfile installed every WAV, FLAC, OGG and MP3 is read."""
    try:
        import soundfile
    except ImportError:
        soundfile = None
    if soundfile is not None:
        try:
            samples, rate_hz = soundfile.read(io.BytesIO(data), dtype="float32", always_2d=True)
        except soundfile.SoundFileError as error:
            raise ValueError(f"audio_inputs[{position}]: {error}") from None
        return samples.mean(axis=1), rate_hz
    with wave.open(io.BytesIO(data)) as sound:
        if sound.getsampwidth() != 2:
            raise ValueError(f"audio_inputs[{position}]: only 16-bit WAVs are read without soundfile")
        channels, rate_hz = sound.getnchannels(), sound.getframerate()
        values = array("h", sound.readframes(sound.getnframes()))
    if sys.byteorder == "big":
        values.byteswap()
    return [sum(values[i : i + channels]) / channels / 32768 for i in range(0, len(values), channels)], rate_hz


def fit_audio(question, model):
    """The question with its clips cut and resampled as the model takes them, or the exception that this ended in."""
    if isinstance(question, Exception):
        return question
    try:
        return {**question, "audio": [_clip(samples, rate_hz, model) for samples, rate_hz in question["audio"]]}
    except Exception as error:
        return error


def _clip(samples, rate_hz, model):
    if model.options.max_audio_s is not None:
        samples = samples[: round(model.options.max_audio_s * rate_hz)]
    if model.rate_hz in (None, rate_hz):
        return samples, rate_hz
    import numpy
    import soxr

    return soxr.resample(numpy.asarray(samples, dtype="float32"), rate_hz, model.rate_hz), model.rate_hz


class Server(ThreadingHTTPServer):
    """Connections have threads of their own; the model is asked by one call at a time."""

    daemon_threads = True  # idle connections must not keep the process

    def __init__(self, address, model, token, max_body_bytes):
        super().__init__(address, Handler)
        self.model, self.token, self.max_body_bytes = model, token, max_body_bytes
        self.turn = threading.Lock()
        self.counting, self.in_hand = threading.Lock(), 0
        self.status, self.error, self.started = "loading", None, time.monotonic()
        self.loading_s = None
        threading.Thread(target=self._load, daemon=True).start()

    def _load(self):
        with self.turn:
            try:
                self.model.load()
                self.status = self.model.load_status
            except Exception as error:
                self.status, self.error = "failed", f"{type(error).__name__}: {error}"
                print(f"the model could not be loaded: {self.error}", file=sys.stderr, flush=True)
                os._exit(1)
            self.loading_s = time.monotonic() - self.started

    def info(self):
        cap_s = self.model.options.max_audio_s
        return {
            "name": self.model.name,
            "model": self.model.model,
            "model_revision": self.model.revision + (f", first {cap_s:g} s" if cap_s is not None else ""),
            "audio_payload_types": ["base64_wav"],
            "max_batch_size": self.model.max_batch,
            "supports_batching": self.model.max_batch > 1,
            "schema_versions": [SCHEMA],
            "load_status": self.status,
            "loading_elapsed_sec": round(self.loading_s or time.monotonic() - self.started, 3),
            "last_error": self.error,
        }

    def post(self, path, body):
        if path == "/predict":
            return self.predict(body)
        with self.turn:
            return getattr(self.model, path[1:])(body)

    def predict(self, body):
        questions = questions_of(body, self.model.max_batch)
        questions = [(sample_id, fit_audio(question, self.model)) for sample_id, question in questions]
        sound = [question for _, question in questions if not isinstance(question, Exception)]
        with self.turn:
            started = time.monotonic()
            try:
                answers = list(self.model.answer(sound)) if sound else []
                if len(answers) != len(sound):
                    raise RuntimeError(f"{len(answers)} answers to {len(sound)} questions")
                answers = [_checked(answer) for answer in answers]
            except Exception as error:
                self.error = f"{type(error).__name__}: {error}"
                answers = [error] * len(sound)
            took_s = time.monotonic() - started
        replies = iter(answers)
        rows = [(i, q if isinstance(q, Exception) else next(replies)) for i, q in questions]
        return {"schema_version": SCHEMA, "responses": [_response(i, reply, took_s) for i, reply in rows]}


def _checked(answer):
    """The answer, or an exception where Model.answer gave something else: a text of three letters unpacks, too."""
    if isinstance(answer, Exception):
        return answer
    if isinstance(answer, (tuple, list)) and len(answer) == 3:
        text, finish, usage = answer
        if isinstance(text, str) and isinstance(finish, (str, type(None))) and isinstance(usage, (dict, type(None))):
            return answer
    return TypeError(f"Model.answer gave {repr(answer)[:80]} instead of (text, finish_reason, usage)")


def _response(sample_id, reply, took_s):
    if isinstance(reply, Exception):
        words = str(reply).strip() or type(reply).__name__
        return {"sample_id": sample_id, "predictions": [], "latency_sec": took_s, "error": words}
    text, finish, usage = reply
    return {
        "sample_id": sample_id,
        "predictions": [text],
        "finish_reason": finish,
        "usage": usage,
        "latency_sec": took_s,
        "error": None,
    }


class Handler(BaseHTTPRequestHandler):
    """GET /health, GET /info, POST /predict."""

    protocol_version = "HTTP/1.1"
    timeout = 60  # seconds that a connection may be silent

    def do_GET(self):
        if self.path == "/health":
            self._send(200, {"status": "ok"})
        elif not self._may():
            self._send(401, {"detail": "send the header Authorization: Bearer ..."})
        elif self.path == "/info":
            self._send(200, self.server.info())
        else:
            self._send(404, {"detail": "GET /health, GET /info, POST /predict"})

    def handle_one_request(self):
        self.is_counted = False
        try:
            super().handle_one_request()
        finally:
            if self.is_counted:
                self._count(-1)

    def parse_request(self):
        # Before "100 Continue" goes out: a client that has read it counts on an answer.
        self.is_counted = True
        self._count(1)
        return super().parse_request()

    def _count(self, step):
        with self.server.counting:
            self.server.in_hand += step

    def do_POST(self):
        try:
            self._check()
        except Refused as refused:
            self.close_connection = True
            self._send(refused.status, {"detail": str(refused)})
            self._discard()
            return
        try:
            self._send(200, self.server.post(self.path, self.rfile.read(self._length())))
        except Refused as refused:
            self._send(refused.status, {"detail": str(refused)})

    def _check(self):
        """Raises Refused for a call whose body is not to be read."""
        if not self._may():
            raise Refused(401, "send the header Authorization: Bearer ...")
        if self.path not in ("/predict", *(f"/{name}" for name in self.server.model.posts)):
            raise Refused(404, "GET /health, GET /info, POST /predict")
        if self._length() < 0:
            raise Refused(411, "Content-Length is needed")
        if self._length() > self.server.max_body_bytes:
            raise Refused(413, f"the body is longer than {self.server.max_body_bytes} bytes")

    def _length(self):
        length = self.headers.get("Content-Length", "")
        return int(length) if length.isascii() and length.isdigit() else -1

    def _discard(self):
        """Let a client send on for a while: cut off in its body, it would never see why it was refused."""
        left, until = min(self._length(), 2 * self.server.max_body_bytes), time.monotonic() + DISCARD_S
        while left > 0 and time.monotonic() < until:
            block = self.rfile.read1(min(left, 65536))
            left -= len(block) or left

    def _may(self):
        if self.server.token is None:
            return True
        given = self.headers.get("Authorization", "")
        return hmac.compare_digest(given.encode(), f"Bearer {self.server.token}".encode())

    def _send(self, status, payload):
        body = json.dumps(payload).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        """Say nothing: a line for every call would fill a batch system's log."""


def main(model_class=Model):
    """Serve the model, or with --stub one that answers without it, until SIGTERM."""
    variable = model_class.checkpoint_variable
    parser = argparse.ArgumentParser(description="A predictions_v1 server.")
    parser.add_argument("--host", default="127.0.0.1", help="other machines need a token: set SERVER_TOKEN")
    parser.add_argument("--port", type=int, default=8000, help="0 takes a free one")
    parser.add_argument("--max-body-mb", type=int, default=64)
    parser.add_argument("--stop-s", type=float, default=60, help="longest wait for the calls in hand at SIGTERM")
    parser.add_argument("--dummy", "--stub", dest="stub", action="store_true", help="answer without a model")
    parser.add_argument("--max-batch", type=int, help="most questions in one call")
    parser.add_argument("--max-audio-s", type=float, help="cut longer clips; part of the revision that /info tells")
    if variable is not None:
        where = "a folder, or a name that the model's own code fetches"
        parser.add_argument("--checkpoint", default=os.environ.get(variable), help=f"{where}; or set {variable}")
    model_class.add_options(parser)
    args = parser.parse_args()
    token = os.environ.get("SERVER_TOKEN") or None
    if token is None and args.host not in ("127.0.0.1", "localhost"):
        parser.error("set SERVER_TOKEN before listening for other machines")
    if variable is not None and not (args.stub or args.checkpoint):
        parser.error(f"name the weights by --checkpoint or {variable}, or try --stub")
    if any(limit is not None and limit <= 0 for limit in (args.max_batch, args.max_audio_s)):
        parser.error("--max-batch and --max-audio-s must be above 0")
    model = model_class.stub() if args.stub else model_class()
    model.options, model.max_batch = args, args.max_batch or model.max_batch
    if variable is not None and args.checkpoint:
        is_here = os.path.exists(args.checkpoint)
        model.model = os.path.basename(os.path.abspath(args.checkpoint)) if is_here else args.checkpoint
    server = Server((args.host, args.port), model, token, args.max_body_mb << 20)
    # shutdown() waits for the loop that this signal interrupts, so it needs its own thread.
    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=server.shutdown).start())
    print(f"serving {model.model} at http://{server.server_address[0]}:{server.server_address[1]}", flush=True)
    with contextlib.suppress(KeyboardInterrupt):
        server.serve_forever()
    server.server_close()
    until = time.monotonic() + args.stop_s
    while server.in_hand and time.monotonic() < until:  # the calls in hand are answered first
        time.sleep(0.05)
    if server.in_hand:
        os._exit(1)  # ending beneath a model at work could crash


if __name__ == "__main__":
    main()
