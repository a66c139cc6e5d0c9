"""A judge_scores_v1 server in one file: put your judge in `score`, and any client of the contract can ask it.

    python judge_server.py --port 8010     # then: --ab-judge=judge-scores:http://127.0.0.1:8010/judge

It needs Python 3.9 or later and nothing else. As it is, it is not a judge: it counts the reference's words.
"""

import argparse
import json
import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SCHEMA = "judge_scores_v1"
MOST_BYTES = 16 * 1024 * 1024


def score(rubric, reference, candidate):
    """Points from 0 to 1 and the reason. `rubric` holds question, reference and candidate: all that a model needs.

    Raise an exception to say that this one answer cannot be judged; the others still are.
    """
    words = set(re.findall(r"\w+", reference.lower()))
    matches = words & set(re.findall(r"\w+", candidate.lower()))
    return len(matches) / len(words) if words else 0.0, f"{len(matches)} of {len(words)} words of the reference"


def verdict(item):
    reply = {"sample_id": item["sample_id"], "score": None, "rationale": None, "error": None}
    try:
        reply["score"], reply["rationale"] = score(item["rubric"], item["reference_text"], item["candidate_text"])
    except Exception as error:
        reply["error"] = f"{type(error).__name__}: {error}"
    return reply


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        header = self.headers.get("Content-Length") or ""
        length = int(header) if re.fullmatch("[0-9]{1,12}", header) else 0
        if self.path != "/judge" or not 0 < length <= MOST_BYTES:
            self.close_connection = True
            self.answer(404 if self.path != "/judge" else 413, {"detail": "POST up to 16 MB to /judge"})
            return
        try:
            request = json.loads(self.rfile.read(length))
            if request["schema_version"] != SCHEMA:
                raise ValueError(f"schema_version is not {SCHEMA}")
            items = [verdict(item) for item in request["items"]]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            self.answer(400, {"detail": f"{type(error).__name__}: {error}"})
            return
        self.answer(200, {"schema_version": SCHEMA, "items": items})

    def answer(self, status, reply):
        body = json.dumps(reply).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8010)
    given = parser.parse_args()
    server = ThreadingHTTPServer((given.host, given.port), Handler)
    print(f"judging on http://{given.host}:{server.server_port}/judge", flush=True)
    server.serve_forever()
