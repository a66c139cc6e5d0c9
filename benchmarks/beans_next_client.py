"""The predictions_v1 client beside BEANS-Next's own, both asking BEANS-Next's own dummy server.

Run ``python benchmarks/beans_next_client.py --peer FOLDER [--python PATH] [--samples N] [--rounds N]``, with FOLDER a
checkout of BEANS-Next and PATH a Python in which it, fastapi and uvicorn are installed (``FOLDER/.venv/bin/python`` or
``FOLDER/../venv/bin/python``). Without ``--peer`` there is nothing to measure, and the script says so.

All read the same WAV files of 5 s at 16 kHz again in each round and ask about each in batches as large as the server
takes. Theirs is what its runner does with a batch: ``model_request_to_wire_item`` for each sample, then
``HttpClient.generate``. Ours reads the clips of the next batch on a thread while ``ask`` waits for this one; a second
row is the same with what a run adds to reading: every sample is checked to be a number, and what is played is digested.
Rounds alternate, each client first as often as last, in processes of their own that are started before.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
import wave
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

RATE_HZ, CLIP_S, BATCH = 16_000, 5, 32
QUESTION = "Which animal is heard? Answer with its common name."
AIM = 1.6


class Round(NamedTuple):
    """Wall time and the client's CPU time in seconds."""

    wall_s: float
    cpu_s: float


def ask_as_peer(url: str, folder: Path) -> Iterator[None]:
    """One round each time it is continued, by BEANS-Next's client."""
    from beans_next.api.types import AudioInput, ChatMessage, ModelRequest
    from beans_next.models.http import HttpClient, PredictionsV1Request
    from beans_next.runner.runner import model_request_to_wire_item

    files = sorted(folder.glob("*.wav"))
    client = HttpClient(f"{url}/predict")
    content = f"<Audio><AudioHere></Audio> {QUESTION}"
    while True:
        yield
        for start in range(0, len(files), BATCH):
            requests = [
                ModelRequest(
                    sample_id=file.stem,
                    messages=[ChatMessage(role="user", content=content)],
                    audio_inputs=[AudioInput(payload_type="file_path", data=str(file), sample_rate=RATE_HZ)],
                )
                for file in files[start : start + BATCH]
            ]
            reply = client.generate(PredictionsV1Request(requests=list(map(model_request_to_wire_item, requests))))
            assert all(row.error is None and row.predictions for row in reply.responses), reply


def ask_as_ours(url: str, folder: Path, is_run: bool = False) -> Iterator[None]:
    """One round each time it is continued, by the client of this package, of clips as a run has them or merely read."""
    from pytest_audiobench.audio.clip import PlayedAudio
    from pytest_audiobench.audio.decode import MOST_VALUES, decode_bytes
    from pytest_audiobench.audio.sound_file import Amount, read_bytes
    from pytest_audiobench.models.messages import Ask, AudioSlot, Message, Request
    from pytest_audiobench.models.predictions_v1.model import PredictionsModel

    def played(file: Path) -> PlayedAudio:
        if is_run:
            return decode_bytes(file.name, file.read_bytes(), RATE_HZ, None)
        sound = read_bytes(file.name, file.read_bytes(), None, Amount(MOST_VALUES))
        return PlayedAudio(sound.samples, RATE_HZ, file.name, sound.rate_hz, sound.frames, "")

    messages = (Message("user", (AudioSlot(0), QUESTION)),)

    def read(files: Sequence[tuple[int, Path]]) -> list[Ask]:
        return [
            Ask(Request(f"{number:064x}", "benchmark", file.stem, "answer", "open", messages, ()), (played(file),))
            for number, file in files
        ]

    model = PredictionsModel(url, {})
    model.load()
    files = list(enumerate(sorted(folder.glob("*.wav"))))
    most = model.limits.max_batch
    parts = [files[start : start + most] for start in range(0, len(files), most)]
    with ThreadPoolExecutor(1) as thread:
        while True:
            yield
            ahead = thread.submit(read, parts[0])
            for following in [*parts[1:], []]:
                batch, ahead = ahead.result(), thread.submit(read, following)
                for response in model.ask(batch):
                    assert response.error is None, response.error


CLIENTS = {"ours": ask_as_ours, "peer": ask_as_peer, "run": partial(ask_as_ours, is_run=True)}
ABOUT = {
    "ours": "this package's client",
    "run": "the same, as in a run",
    "peer": "BEANS-Next's client",
}


def work(client: str, url: str, folder: Path) -> None:
    """A process of one client: a round for every line that it is sent, answered by what that took."""
    rounds = CLIENTS[client](url, folder)
    next(rounds)
    for _ in sys.stdin:
        start_s, start_cpu_s = time.perf_counter(), time.process_time()
        next(rounds)
        print(time.perf_counter() - start_s, time.process_time() - start_cpu_s, flush=True)


def write_clips(folder: Path, count: int) -> None:
    import numpy as np

    generator = np.random.default_rng(0)
    for number in range(count):
        with wave.open(str(folder / f"{number:05}.wav"), "wb") as file:
            file.setparams((1, 2, RATE_HZ, 0, "NONE", ""))
            file.writeframes((3000 * generator.standard_normal(RATE_HZ * CLIP_S)).astype("<i2").tobytes())


@contextlib.contextmanager
def dummy_server(python: Path, peer: Path) -> Iterator[str]:
    """BEANS-Next's dummy launcher on a free port; its URL."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    command = [str(python), "-m", "uvicorn", "serve:app", "--port", str(port), "--log-level", "warning"]
    with subprocess.Popen(command, cwd=peer / "examples" / "servers" / "dummy") as process:
        try:
            for _ in range(300):
                with contextlib.suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/health"):
                    break
                time.sleep(0.1)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


@contextlib.contextmanager
def client_process(client: str, python: Path, url: str, folder: Path) -> Iterator[subprocess.Popen[str]]:
    command = [str(python), __file__, "--client", client, "--url", url, "--folder", str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.terminate()


def one_round(process: subprocess.Popen[str]) -> Round:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("go\n")
    process.stdin.flush()
    return Round(*map(float, process.stdout.readline().split()))


def measure(peer: Path, python: Path, samples: int, rounds: int) -> bool:
    """Print what the clients took; whether ours reaches its aim."""
    spent: dict[str, list[Round]] = {name: [] for name in ABOUT}
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        write_clips(folder, samples)
        url = stack.enter_context(dummy_server(python, peer))
        pythons = {name: python if name == "peer" else Path(sys.executable) for name in spent}
        processes = {name: stack.enter_context(client_process(name, pythons[name], url, folder)) for name in spent}
        for process in processes.values():
            one_round(process)
        for number in range(rounds):
            for name in sorted(spent, reverse=bool(number % 2)):
                spent[name].append(one_round(processes[name]))
    print(f"{samples} WAV files of {CLIP_S} s at {RATE_HZ} Hz in batches of {BATCH}, {rounds} alternating rounds")
    print(f"dummy server of {peer.name}, cores {sorted(os.sched_getaffinity(0))}")
    for name, about in ABOUT.items():
        show(about, spent[name], samples)
    medians = {name: ratio(name, spent[name], spent["peer"]) for name in ("ours", "run")}
    return medians["ours"] >= AIM


def ratio(name: str, own: Sequence[Round], theirs: Sequence[Round]) -> float:
    """How many times theirs it asks in the same round, as a median, which is printed with its range."""
    ratios = sorted(their.wall_s / our.wall_s for our, their in zip(own, theirs, strict=True))
    median = statistics.median(ratios)
    print(f"{ABOUT[name]}: {median:.2f} times theirs ({ratios[0]:.2f} to {ratios[-1]:.2f})", end="")
    print(f"; the aim is {AIM}" if name == "ours" else "")
    return median


def show(what: str, spent: Sequence[Round], samples: int) -> None:
    rates = sorted(samples / one.wall_s for one in spent)
    cpu_ms = statistics.median(one.cpu_s for one in spent) * 1e3 / samples
    print(
        f"{what:24} {statistics.median(rates):6.0f} requests/s ({rates[0]:.0f} to {rates[-1]:.0f}), "
        f"client's processor {cpu_ms:.2f} ms a request"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", type=Path, help="a checkout of BEANS-Next")
    parser.add_argument("--python", type=Path, help="a Python in which BEANS-Next, fastapi and uvicorn are installed")
    parser.add_argument("--samples", type=int, default=512)
    parser.add_argument("--rounds", type=int, default=10)
    for name in ("--client", "--url", "--folder"):
        parser.add_argument(name, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.client:
        work(given.client, given.url, Path(given.folder))
        return 0
    if given.peer is None:
        print("skipped: --peer names no checkout of BEANS-Next, whose client and server this is beside")
        return 0
    # Not resolved: a virtual environment's Python is a link, and is it by its place.
    places = [given.peer / ".venv" / "bin" / "python", given.peer.parent / "venv" / "bin" / "python"]
    python = given.python or next((place for place in places if place.exists()), None)
    if python is None:
        print(f"skipped: no Python with BEANS-Next ({' or '.join(map(str, places))}); name one with --python")
        return 0
    return 0 if measure(given.peer, python.absolute(), given.samples, given.rounds) else 1


if __name__ == "__main__":
    sys.exit(main())
