"""``audiobench warmup MODEL``."""

from __future__ import annotations

import argparse
import time
from itertools import islice

from pytest_audiobench.cli._questions import questions
from pytest_audiobench.cli._text import labelled, say
from pytest_audiobench.errors import InfrastructureError, TransientError

HELP = (
    "load a model and ask it two short questions, so that files, kernels and a server are warm; says how long it took"
)

_INFRASTRUCTURE = 6


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "model", metavar="MODEL", help="a model as --ab-model names it, such as hf:checkpoints/step-2000"
    )


def run(args: argparse.Namespace) -> int:
    """0 where both questions were answered, 1 where one was not, 6 where a server is away or breaks.

    Raises UsageError for a spec that is none, FatalError for a model that cannot be loaded.
    """
    from pytest_audiobench.models.registry import make
    from pytest_audiobench.models.spec import parse_spec
    from pytest_audiobench.report.formatting import printable

    model = make(parse_spec(args.model))
    try:
        started = time.perf_counter()
        model.load()
        loaded = time.perf_counter()
        # About other clips: no cache has the second's answer.
        asks = list(islice(questions(model, "warmup"), 2))
        rows = [("model", model.spec), ("device", model.device), ("loaded in", _seconds(loaded - started))]
        answered = True
        for number, ask in zip(("first", "second"), asks, strict=True):
            began = time.perf_counter()
            (response,) = model.ask([ask])
            took = _seconds(time.perf_counter() - began)
            text = response.outputs[0].text if response.outputs else ""
            answered = answered and response.error is None and bool(response.outputs)
            said = f"no answer: {response.error}" if response.error or not response.outputs else repr(text[:200])
            rows.append((number, f"{took}, {said}"))
        print("\n".join(map(printable, labelled(rows))))
        return 0 if answered else 1
    except (InfrastructureError, TransientError) as error:
        say(f"audiobench: {error}")
        return _INFRASTRUCTURE
    finally:
        model.close()


def _seconds(took_s: float) -> str:
    return f"{took_s:.2f} s"
