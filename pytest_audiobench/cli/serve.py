"""``audiobench serve MODEL``."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

HELP = "put a model behind HTTP: predictions_v1 and the OpenAI chat shape"

TOKEN = "AUDIOBENCH_SERVE_TOKEN"


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("model", metavar="MODEL", help="a model as --ab-model names it, such as hf:checkpoints/step-2000")
    add("--host", default="127.0.0.1", help="address to listen on (default 127.0.0.1); others need a token")
    add("--port", type=int, default=8000, help="port (default 8000); 0 takes a free one and prints it")
    add("--token", default=None, help=f"what clients must send as bearer token (better: ${TOKEN})")
    add("--max-body-mb", type=int, default=64, metavar="N", help="longest body of a call (default 64)")
    add("--max-queue", type=int, default=16, metavar="N", help="calls that may wait (default 16)")
    add("--deadline-s", type=float, default=600.0, metavar="S", help="longest time for a call (default 600)")
    add("--allow-files", metavar="FOLDER", type=Path, help="let clients name audio files in this folder")
    add(
        "--allow-urls",
        metavar="HOST",
        action="append",
        default=[],
        help="let clients name URLs on this host (repeatable)",
    )


def run(args: argparse.Namespace) -> int:
    from pytest_audiobench.models.registry import make
    from pytest_audiobench.models.spec import parse_spec
    from pytest_audiobench.serving.options import ServeOptions
    from pytest_audiobench.serving.server import serve

    options = ServeOptions(
        host=args.host,
        port=args.port,
        token=os.environ.get(TOKEN) if args.token is None else args.token,
        max_body_bytes=args.max_body_mb << 20,
        max_queue=args.max_queue,
        deadline_s=args.deadline_s,
        files=args.allow_files,
        url_hosts=frozenset(host.lower() for host in args.allow_urls),
    )
    spec = parse_spec(args.model)
    serve(make(spec), options, spec.alias)
    return 0
