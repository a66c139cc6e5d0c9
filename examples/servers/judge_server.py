"""A judge_scores_v1 server in one file: put your judge in `score`, and any client of the contract can ask it.

    python judge_server.py --port 8010     # then: --ab-judge judge-scores:http://127.0.0.1:8010/judge

It needs Python 3.9 or later and nothing else. As it is, it is no judge: it counts the reference's words.
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
    wanted = set(re.findall(r"\w+", reference.lower()))
    found = wanted & set(re.findall(r"\w+", candidate.lower()))
    return len(found) / len(wanted) if wanted else 0.0, f"{len(found)} of {len(wanted)} words of the reference"


def judged(item):
    told = {"sample_id": item["sample_id"], "score": None, "rationale": None, "error": None}
    try:
        told["score"], told["rationale"] = score(item["rubric"], item["reference_text"], item["candidate_text"])
    except Exception as error:
        told["error"] = f"{type(error).__name__}: {error}"
    return told


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        told = self.headers.get("Content-Length") or ""
        length = int(told) if re.fullmatch("[0-9]{1,12}", told) else 0
        if self.path != "/judge" or not 0 < length <= MOST_BYTES:
            self.close_connection = True
            self.answer(404 if self.path != "/judge" else 413, {"detail": "POST up to 16 MB to /judge"})
            return
        try:
            asked = json.loads(self.rfile.read(length))
            if asked["schema_version"] != SCHEMA:
                raise ValueError(f"schema_version is not {SCHEMA}")
            items = [judged(item) for item in asked["items"]]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            self.answer(400, {"detail": f"{type(error).__name__}: {error}"})
            return
        self.answer(200, {"schema_version": SCHEMA, "items": items})

    def answer(self, status, told):
        body = json.dumps(told).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *told):
        pass


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8010)
    given = parser.parse_args()
    server = ThreadingHTTPServer((given.host, given.port), Handler)
    print(f"judging on http://{given.host}:{server.server_port}/judge", flush=True)
    server.serve_forever()
