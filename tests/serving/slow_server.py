"""Serves one's own model from Python: it takes its time, and notes what it is asked."""

import argparse
import sys
import time
from pathlib import Path

from pytest_audiobench.errors import FatalError, TransientError
from pytest_audiobench.models.messages import Response
from pytest_audiobench.models.model import Limits
from pytest_audiobench.serving.options import ServeOptions
from pytest_audiobench.serving.server import serve


def wait_for(file):
    """Waits until a test has made ``file``."""
    while not Path(file).exists():
        time.sleep(0.02)


class Slow:
    """Answers with the size of its batch and what it was played; a question may ask for trouble."""

    spec, batching, listens, device = "slow:model", "planned", True, "cpu"

    def __init__(self, load_until, load_fails, tasks):
        self._load_until, self._load_fails = load_until, load_fails
        self.limits = Limits(max_batch=8, max_batch_s=10.0, rate_hz=16_000, max_clip_s=4.0, max_clips=3, tasks=tasks)

    def fingerprint(self):
        return {"slow": "1"}

    def load(self):
        if self._load_until:
            wait_for(self._load_until)
        if self._load_fails:
            raise FatalError("the weights are torn; fetch them again")

    def ask(self, batch):
        print("asked", *(ask.request.sample_id for ask in batch), file=sys.stderr, flush=True)
        words = " ".join(part for m in batch[0].request.messages for part in m.parts if isinstance(part, str))
        if words.startswith("sleep "):
            time.sleep(float(words.split()[1]))
        if words.startswith("until "):
            wait_for(words.split()[1])
        if words == "crash":
            raise ZeroDivisionError("the device fell off")
        if words == "later":
            raise TransientError("the device is being cooled")
        return [self._answer(ask, len(batch)) for ask in batch]

    def _answer(self, ask, size):
        if ask.request.sample_id == "bad":
            return Response(error="this one is not for me")
        if "mute" in str(ask.request.messages):
            return Response()
        played = ",".join(f"{heard.duration_s:.2f}" for heard in ask.audio)
        cut = tuple(heard.truncated_s for heard in ask.audio)
        response = Response.of(f"{size}|{played}|{ask.request.messages}|{ask.request.settings}", "length")
        counts = (
            {"prompt_tokens": 7}
            if "half counted" in str(ask.request.messages)
            else {"prompt_tokens": 7, "completion_tokens": 3}
        )
        return Response(response.outputs, counts, truncated_s=cut if any(cut) else ())

    def close(self):
        print("closed", file=sys.stderr, flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for name, kind, default in (
        ("port", int, 0),
        ("queue", int, 16),
        ("deadline", float, 60),
        ("load-until", Path, None),
        ("body-mb", int, 64),
    ):
        parser.add_argument(f"--{name}", type=kind, default=default)
    parser.add_argument("--load-fails", action="store_true")
    parser.add_argument("--tasks", nargs="+", default=Limits().tasks)
    args = parser.parse_args()
    options = ServeOptions(
        port=args.port, max_queue=args.queue, deadline_s=args.deadline, max_body_bytes=args.body_mb << 20
    )
    serve(Slow(args.load_until, args.load_fails, tuple(args.tasks)), options, "slow")
