"""A predictions_v1 server as a stranger would write it: the standard library, numpy, and nothing of this package.

It hears: asked for the frequency of a tone, it names the option nearest to the loudest one. Used within a test, with
faults to be injected, and as a script: ``python stranger.py --port 8000 [--log FILE] [--die-after N] [--no-usage]``.
"""

import argparse
import base64
import io
import json
import os
import re
import struct
import sys
import threading
import wave
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np

ITEM = {"sample_id", "messages", "audio_inputs", "generation_config"}
AUDIO = {"payload_type", "data", "sample_rate"}


class Stranger(ThreadingHTTPServer):
    """``faults`` are done instead of answering, one for each request to /predict, as long as there are any."""

    daemon_threads = True

    def __init__(self, port=0, **info):
        super().__init__(("127.0.0.1", port), Handler)
        self.info = {
            "name": "stranger",
            "model": "tones",
            "model_revision": "1",
            "audio_payload_types": ["base64_wav", "file_path", "file_url"],
            "max_batch_size": 4,
            "supports_batching": True,
            "schema_versions": ["predictions_v1"],
            "a_field_of_the_future": {"is": "tolerated"},
            **info,
        }
        self.health = []
        self.faults, self.batches, self.headers = [], [], []
        self.counts_tokens, self.log, self.die_after, self.deaf, self.strict = True, None, None, False, True
        self.constant, self.looks = None, 0
        self.lock = threading.Lock()
        self.url = f"http://127.0.0.1:{self.server_port}"

    @property
    def asked(self):
        """The requests that were answered, in order, without the probes for hearing."""
        items = [item for batch in self.batches for item in batch]
        return [item for item in items if not item["sample_id"].startswith("probe")]

    def start(self):
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def handle_error(self, request, client_address):
        pass

    def answer(self, item):
        """One response, by the contract."""
        if set(item) != ITEM or any(set(audio) != AUDIO for audio in item["audio_inputs"]):
            return {"sample_id": item["sample_id"], "predictions": [], "error": "a key is missing or unknown"}
        text = " ".join(message["content"] for message in item["messages"])
        if self.strict and text.count("<Audio><AudioHere></Audio>") != len(item["audio_inputs"]):
            return {
                "sample_id": item["sample_id"],
                "predictions": [],
                "error": "placeholders and audio differ in number",
            }
        sounds = [sound(audio) for audio in item["audio_inputs"]]
        heard_s = 0 if self.deaf else sum(len(samples) / rate for samples, rate in sounds)
        tokens = {"prompt_tokens": len(text.split()) + round(25 * heard_s), "completion_tokens": 1}
        if self.constant is not None:
            tokens["prompt_tokens"] = self.constant
        return {
            "sample_id": item["sample_id"],
            "predictions": [letter(text, sounds)],
            "finish_reason": "stop",
            "usage": tokens if self.counts_tokens else {},
            "latency_sec": 0.001,
            "error": None,
            "a_field_of_the_future": 1,
        }


def sound(audio):
    """Samples and rate of one audio input, whose stated rate must be the file's."""
    if audio["payload_type"] == "base64_wav":
        data = base64.b64decode(audio["data"], validate=True)
    else:
        with open(audio["data"].removeprefix("file://"), "rb") as file:
            data = file.read()
    if struct.unpack("<H", data[20:22])[0] == 3:
        rate, samples = struct.unpack("<I", data[24:28])[0], np.frombuffer(data[56:], dtype="<f4")
    else:
        with wave.open(io.BytesIO(data)) as file:
            rate, samples = file.getframerate(), np.frombuffer(file.readframes(file.getnframes()), dtype="<i2") / 32768
    assert rate == audio["sample_rate"], f"sample_rate says {audio['sample_rate']}, the file {rate}"
    return samples, rate


def letter(text, sounds):
    """The option nearest to the first sound's loudest frequency; without options the frequency itself."""
    if not sounds:
        return "nothing"
    samples, rate = sounds[0]
    peak_hz = np.argmax(np.abs(np.fft.rfft(samples))) * rate / len(samples)
    options = re.findall(r"\b([A-H])[).:]+\s*(\d+) Hz", text)
    return min(options, key=lambda one: abs(int(one[1]) - peak_hz))[0] if options else f"{peak_hz:.0f} Hz"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self):
        server = self.server
        if self.path == "/health":
            state = server.health.pop(0) if server.health else 200
            self.say(state, {"status": "ok" if state == 200 else "loading"})
        elif self.path == "/info":
            server.looks += 1
            info = server.info.pop(0) if isinstance(server.info, list) and len(server.info) > 1 else server.info
            self.say(200, info[0] if isinstance(info, list) else info)
        else:
            self.say(404, {"detail": "no such place"})

    def do_POST(self):
        server = self.server
        body = self.rfile.read(int(self.headers["Content-Length"]))
        try:
            asked = json.loads(body)
        except ValueError:
            return self.say(422, {"detail": "no JSON"})
        with server.lock:
            server.headers.append(dict(self.headers))
            fault = server.faults.pop(0) if server.faults else None
        if fault is not None:
            return fault(self, asked)
        self.reply(asked)

    def reply(self, asked):
        server, items = self.server, asked.get("requests")
        if isinstance(items, list) and len(items) > int(server.info["max_batch_size"]):
            return self.say(413, {"detail": "too many requests in one batch"})
        if asked.get("schema_version") != "predictions_v1" or not isinstance(items, list):
            return self.say(400, {"detail": "wrong schema"})
        ids = [item.get("sample_id") for item in items]
        if not all(ids) or len(set(ids)) != len(ids):
            return self.say(400, {"detail": "sample ids are missing or given twice"})
        # The order of the answers is not a promise of the contract.
        answers = [server.answer(item) for item in reversed(items)]
        with server.lock:
            server.batches.append(items)
            if server.log:
                with open(server.log, "a") as file:
                    file.writelines(f"{one.partition('.')[0]}\n" for one in ids if not one.startswith("probe"))
            if server.die_after is not None and len(server.asked) >= server.die_after:
                print("loading shard 3 of 4", "RuntimeError: CUDA out of memory", sep="\n", file=sys.stderr, flush=True)
                os._exit(7)
        self.say(200, {"schema_version": "predictions_v1", "responses": answers})

    def say(self, status, value, headers=()):
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send_response(status)
        for name, text in dict(headers).items():
            self.send_header(name, text)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--log")
    parser.add_argument("--die-after", type=int)
    parser.add_argument("--no-usage", action="store_true")
    given = parser.parse_args()
    server = Stranger(given.port)
    server.log, server.die_after, server.counts_tokens = given.log, given.die_after, not given.no_usage
    server.serve_forever()


if __name__ == "__main__":
    main()
