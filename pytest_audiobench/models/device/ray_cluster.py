"""A model whose replicas are actors of a Ray cluster: one for each GPU, or for each node of a cluster without any.

A batch is one message to one replica, as to a device's process of this machine. One that a lost replica had is
sent to another; the store stays with the process that asks.
"""

from __future__ import annotations

import os
import pickle
import socket
import sys
import threading
from collections import defaultdict
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeAlias

from pytest_audiobench.errors import FatalError, InfrastructureError
from pytest_audiobench.models.device.host import Host
from pytest_audiobench.models.messages import Ask, Response
from pytest_audiobench.models.model import Hearing, Model
from pytest_audiobench.models.registry import Factory, make
from pytest_audiobench.models.spec import ModelSpec

_CONNECTS_WITHIN_S = 30.0
_REPLICAS_LOST = 2
"""By one message, before it is taken to be what ends them."""

Kinds: TypeAlias = Mapping[str, str | Factory]


class Replica:
    """An actor: the models of one device, of which one is loaded at a time."""

    def __init__(self, kinds: Kinds, folder: str) -> None:
        """``folder`` is where pytest was started, from which specs name files."""
        with suppress(OSError):
            os.chdir(folder)
        self._host = Host(lambda spec: make(spec, kinds=kinds))

    def answer(self, message: Mapping[str, Any]) -> bytes:
        return self._host.answer(message)


class _Running:
    """A replica, and how many messages it has in progress."""

    def __init__(self, actor: Any) -> None:
        self.actor = actor
        self.busy = 0


class RayCluster:
    """The replicas in the cluster at ``address``, started for the first model that is loaded."""

    def __init__(self, address: str, kinds: Kinds) -> None:
        self._address, self._kinds = address, kinds
        self._replicas: list[_Running] = []
        self._started = False
        self._turn = threading.Lock()

    def __len__(self) -> int:
        return len(self._replicas)

    def start(self) -> None:
        """Connect and start the replicas, once. Raises InfrastructureError where there is no cluster."""
        if self._started:
            return
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        host, _, port = self._address.rpartition(":")
        try:
            if host and port.isdecimal():
                # Ray itself tries for minutes.
                socket.create_connection((host.strip("[]"), int(port)), _CONNECTS_WITHIN_S).close()
            ray.init(self._address, log_to_driver=False, configure_logging=False)
        except (OSError, RuntimeError, ValueError, OverflowError) as error:
            reason = str(error).strip().partition("\n")[0]
            raise InfrastructureError(f"there is no Ray cluster at {self._address}: {reason}") from error
        for factory in self._kinds.values():
            # A kind of a conftest.py lies in no module that a node could import.
            if (module := sys.modules.get(getattr(factory, "__module__", ""))) is not None:
                ray.cloudpickle.register_pickle_by_value(module)
        nodes = [node for node in ray.nodes() if node["Alive"]]
        gpus = [int(node["Resources"].get("GPU", 0)) for node in nodes]
        kind = ray.remote(Replica)
        for node, count in zip(nodes, gpus if any(gpus) else [1] * len(nodes), strict=True):
            here = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
            for _ in range(count):
                options = kind.options(num_cpus=0, num_gpus=int(any(gpus)), scheduling_strategy=here)
                self._replicas.append(_Running(options.remote(self._kinds, os.getcwd())))
        self._started = True

    def ask_all(self, message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        """What every replica answers. Those that are lost are left out; raises as :meth:`begin` where none is left."""
        replies = [self.begin(message, running) for running in list(self._replicas)]
        answers: list[Mapping[str, Any]] = []
        lost: Exception | None = None
        for reply in replies:
            try:
                answers.append(reply.result())
            except InfrastructureError as error:
                lost = error
        if lost is not None and not answers:
            raise lost
        return answers

    def begin(self, message: Mapping[str, Any], only: _Running | None = None) -> Future[Mapping[str, Any]]:
        """Send a message to the replica with the fewest in progress, or to ``only`` that one. The reply raises what the
        model raised, and InfrastructureError where the replicas that had the message were lost.
        """
        reply: Future[Mapping[str, Any]] = Future()
        self._send({**message, "number": 0}, reply, only, 0)
        return reply

    def _send(
        self, message: Mapping[str, Any], reply: Future[Mapping[str, Any]], only: _Running | None, lost: int
    ) -> None:
        with self._turn:
            if not self._replicas:
                reply.set_exception(InfrastructureError(f"the Ray cluster at {self._address} has no node left"))
                return
            running = only or min(self._replicas, key=lambda each: each.busy)
            running.busy += 1
            if only is None:
                # Of several with as few the one that has waited longest is the next.
                self._replicas.remove(running)
                self._replicas.append(running)

        def ended(sent: Future[bytes]) -> None:
            with self._turn:
                running.busy -= 1
            error = sent.exception()
            if error is None:
                answer = pickle.loads(sent.result())
                if "error" in answer:
                    reply.set_exception(answer["error"])
                else:
                    reply.set_result(answer)
                return
            with self._turn:
                if running in self._replicas:
                    self._replicas.remove(running)
            if only is None and lost + 1 < _REPLICAS_LOST:
                self._send(message, reply, None, lost + 1)
                return
            reason = str(error).strip().partition("\n")[0]
            which = f"{lost + 1} replicas were lost" if lost else "a replica was lost"
            reply.set_exception(
                InfrastructureError(
                    f"{which} in the Ray cluster at {self._address} ({type(error).__name__}: {reason}); "
                    "what was answered is kept: run again to continue"
                )
            )

        running.actor.answer.remote(message).future().add_done_callback(ended)

    def close(self) -> None:
        if not self._started:
            return
        import ray

        for running in self._replicas:
            ray.kill(running.actor)
        ray.shutdown()
        self._replicas, self._started = [], False


class RayModel:
    """``model`` (never loaded here) as the replicas of a cluster hold it."""

    def __init__(self, model: Model, spec: ModelSpec, cluster: RayCluster) -> None:
        self._model, self._spec, self._cluster = model, spec, cluster
        self.spec, self.batching, self.limits, self.listens = model.spec, model.batching, model.limits, model.listens
        self.device = "ray"
        self.hearing: Hearing | None = None
        self.oom_splits = 0
        self.peak_memory_bytes: int | None = None
        self.seconds: defaultdict[str, float] = defaultdict(float)

    @property
    def in_flight(self) -> int:
        """One batch that is computed by each replica, and one that waits there."""
        return max(1, 2 * len(self._cluster))

    def fingerprint(self) -> Mapping[str, str]:
        return self._model.fingerprint()

    def load(self) -> None:
        """Have the model loaded by all replicas at once. Raises what loading raises, and FatalError for a replica
        whose model is another than this machine's.
        """
        self._cluster.start()
        replies = self._cluster.ask_all({"do": "identify", "spec": self._spec})
        own = dict(self.fingerprint())
        for reply in replies:
            other = {name for name in own | reply["fingerprint"] if own.get(name) != reply["fingerprint"].get(name)}
            if other:
                name = min(other)
                raise FatalError(
                    f"{self.spec} is another model on the Ray cluster than here: its {name} is "
                    f"{reply['fingerprint'].get(name)} there, {own.get(name)} here; have the same files on every node, "
                    "and name what follows from the device (dtype=bfloat16)"
                )
        self.hearing = replies[0]["hearing"]

    def ask(self, batch: Sequence[Ask]) -> list[Response]:
        """One batch, one answer of a replica. Raises InfrastructureError where none is left to give it."""
        return self.begin(batch).result()

    def begin(self, batch: Sequence[Ask]) -> Future[list[Response]]:
        """As :meth:`ask`, without waiting for the answer."""
        # Clips' sources stay behind: an adapter is asked with what is heard.
        heard = [ask._replace(request=replace(ask.request, clips=())) for ask in batch]
        reply: Future[list[Response]] = Future()

        def taken(sent: Future[Mapping[str, Any]]) -> None:
            if not reply.set_running_or_notify_cancel():
                return
            if (error := sent.exception()) is not None:
                reply.set_exception(error)
                return
            answer = sent.result()
            self.oom_splits += answer["oom_splits"]
            for name, seconds in answer["seconds"].items():
                self.seconds[name] += seconds
            peaks = [peak for peak in (self.peak_memory_bytes, answer["peak_memory_bytes"]) if peak is not None]
            self.peak_memory_bytes = max(peaks, default=None)
            reply.set_result(answer["responses"])

        self._cluster.begin({"do": "ask", "spec": self._spec, "batch": heard}).add_done_callback(taken)
        return reply

    def close(self) -> None:
        """Nothing: replicas hold the next model once it is asked for, and end with the run."""
