"""A server of OpenAI's batch API, as published: files, jobs, their output. It shares no code with us.

A job is worked on when it is told to; its answer to a question is the number of samples in its clips, or ``B``.
"""

import base64
import email
import email.policy
import json
import struct
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs


class BatchPeer:
    """``polls``: how often a job is asked for until it is done; None: until ``finish``. ``refuse``: what gets a 400."""

    def __init__(self, polls=None):
        self.polls, self.refuse, self.lost = polls, (), ()
        self.files, self.jobs, self.paths, self.closing = {}, {}, [], ()
        self.page = 100
        self._asked = {}
        peer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                raw = self.rfile.read(int(self.headers["Content-Length"]))
                peer._answer(self, "POST", raw)

            def do_GET(self):
                peer._answer(self, "GET", b"")

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def stop(self):
        self._server.shutdown()
        self._server.server_close()

    @property
    def requests(self):
        """All requests of all jobs, in the order in which they came."""
        files = [self.files[job["input_file_id"]] for job in self.jobs.values()]
        return [json.loads(line) for file in files for line in file.splitlines()]

    def finish(self, status="completed"):
        for job in self.jobs.values():
            if job["status"] == "in_progress":
                self._end(job, status)

    def _end(self, job, status):
        good, bad = [], []
        for line in self.files[job["input_file_id"]].splitlines():
            request = json.loads(line)
            if request["custom_id"] in self.lost:
                continue
            if request["custom_id"] in self.refuse:
                body = {"error": {"message": "this one is not to my liking"}}
                bad.append({"custom_id": request["custom_id"], "response": {"status_code": 400, "body": body}})
                continue
            message = {"role": "assistant", "content": _said(request["body"])}
            body = {
                "choices": [{"message": message, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 100, "completion_tokens": 1, "total_tokens": 101},
            }
            response = {"status_code": 200, "request_id": "r", "body": body}
            good.append({"id": "x", "custom_id": request["custom_id"], "response": response, "error": None})
        for name, lines in (("output_file_id", good[::-1]), ("error_file_id", bad)):
            if lines:
                job[name] = f"{name}-{job['id']}"
                self.files[job[name]] = b"\n".join(json.dumps(line).encode() for line in lines)
        job["status"], job["request_counts"]["completed"] = status, len(good)

    def _answer(self, handler, verb, raw):
        path = handler.path.partition("?")[0].removeprefix("/v1")
        self.paths.append(f"{verb} {path}")
        reply = self._reply(handler, verb, path, raw)
        status, reply = (404, {"error": {"message": "no such thing"}}) if reply is None else (200, reply)
        data = reply if isinstance(reply, bytes) else json.dumps(reply).encode()
        if (verb, path) in self.closing:
            # What was asked for is done, and the client never hears of it.
            handler.close_connection = True
            handler.connection.close()
            return
        handler.send_response(status)
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)

    def _reply(self, handler, verb, path, raw):
        if (verb, path) == ("POST", "/files"):
            whole = f"Content-Type: {handler.headers['content-type']}\r\n\r\n".encode() + raw
            parts = email.message_from_bytes(whole, policy=email.policy.HTTP).iter_parts()
            given = {
                part.get_param("name", header="content-disposition"): part.get_payload(decode=True) for part in parts
            }
            assert given["purpose"] == b"batch"
            name = f"file-{len(self.files)}"
            self.files[name] = given["file"]
            return {"id": name, "object": "file", "purpose": "batch"}
        if (verb, path) == ("POST", "/batches"):
            wanted = json.loads(raw)
            assert (wanted["endpoint"], wanted["completion_window"]) == ("/v1/chat/completions", "24h")
            job = {
                "id": f"batch_{len(self.jobs)}",
                "object": "batch",
                "status": "in_progress",
                "input_file_id": wanted["input_file_id"],
                "metadata": wanted["metadata"],
                "request_counts": {"total": 0, "completed": 0, "failed": 0},
            }
            self.jobs[job["id"]] = job
            return job
        if (verb, path) == ("GET", "/batches"):
            query = parse_qs(handler.path.partition("?")[2])
            rows = list(self.jobs.values())[::-1]
            if after := query.get("after"):
                rows = rows[[row["id"] for row in rows].index(after[0]) + 1 :]
            most = min(self.page, int(query["limit"][0]))
            return {"object": "list", "data": rows[:most], "has_more": len(rows) > most}
        if verb == "GET" and path.startswith("/batches/"):
            job = self.jobs.get(path.removeprefix("/batches/"))
            if job is None:
                return None
            self._asked[job["id"]] = self._asked.get(job["id"], 0) + 1
            if self.polls is not None and self._asked[job["id"]] > self.polls and job["status"] == "in_progress":
                self._end(job, "completed")
            return job
        if verb == "GET" and path.startswith("/files/") and path.endswith("/content"):
            return self.files.get(path.removeprefix("/files/").removesuffix("/content"))
        return None


def _said(body):
    texts = [message["content"] for message in body["messages"] if isinstance(message["content"], list)]
    clips = [part["input_audio"]["data"] for parts in texts for part in parts if part["type"] == "input_audio"]
    return " ".join(str(_samples(base64.b64decode(clip))) for clip in clips) or "B"


def _samples(wav):
    at = wav.index(b"data")
    return struct.unpack("<I", wav[at + 4 : at + 8])[0] // 2
