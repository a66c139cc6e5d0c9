"""A judge_scores_v1 server as a stranger would write it: the standard library, and nothing of this package.

It gives an answer 1 where it holds the reference, else 0; ``change`` may spoil its reply, ``faults`` are done in place
of answers, one for each call.
"""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class JudgeServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, path="/judge"):
        super().__init__(("127.0.0.1", 0), Handler)
        self.path, self.calls, self.faults, self.headers = path, [], [], []
        self.change = lambda told: told
        self.lock = threading.Lock()
        self.url = f"http://127.0.0.1:{self.server_port}{path}"

    def start(self):
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def stop(self):
        self.shutdown()
        self.server_close()

    def handle_error(self, request, client_address):
        pass

    def verdict(self, item):
        right = bool(item["reference_text"]) and item["reference_text"].lower() in item["candidate_text"].lower()
        return {"sample_id": item["sample_id"], "score": float(right), "rationale": "seen", "error": None}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self):
        server = self.server
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with server.lock:
            server.headers.append(dict(self.headers))
            fault = server.faults.pop(0) if server.faults else None
        if fault is not None:
            return fault(self)
        if self.path != server.path:
            return self.say(404, {"detail": "no such place"})
        with server.lock:
            server.calls.append(asked)
        items = [server.verdict(item) for item in asked["items"]][::-1]
        return self.say(200, server.change({"schema_version": "judge_scores_v1", "items": items}))

    def say(self, status, value, headers=()):
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        for name, text in dict(headers).items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass
