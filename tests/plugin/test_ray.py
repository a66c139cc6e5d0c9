"""A model's replicas as actors of a real Ray cluster of two nodes on this machine, one of which is lost."""

import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from pytest_audiobench.models.device.ray_cluster import RayCluster, RayModel
from pytest_audiobench.models.messages import Ask, Request, Response, Settings
from pytest_audiobench.models.model import Limits
from pytest_audiobench.models.spec import parse_spec

from .conftest import EVAL

ray = pytest.importorskip("ray", reason="the cluster is Ray's: pip install ray")


@pytest.fixture
def cluster(monkeypatch):
    from ray.cluster_utils import Cluster

    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv("RAY_agent_register_timeout_ms", "300000")  # on a busy machine its own processes start late
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    cluster.lost = cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes()
    yield cluster
    cluster.shutdown()


def start(suite, cluster, *args, **options):
    habits = "".join(f",{key}={value}" for key, value in {"shared": "yes", "log": "log", **options}.items())
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", f"--ab-model=tone:one{habits}"]
    command += [f"--ab-ray={cluster.address}", *args]
    return subprocess.Popen(command, cwd=suite.path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def lines(suite):
    file = suite.path / "log"
    return Counter(file.read_text().split()) if file.exists() else Counter()


def test_a_node_that_is_lost_costs_no_answer(suite, cluster):
    suite.tones()
    suite.write(test_tones=EVAL)
    assert suite.run("--ab-store=here.sqlite", "--ab-run=here").ret == 0
    running = start(suite, cluster, "--ab-store=ray.sqlite", "--ab-run=ray", sleepy=0.3)
    deadline = time.monotonic() + 240
    while sum(lines(suite).values()) < 10 and running.poll() is None:
        assert time.monotonic() < deadline, "nothing was asked"
        time.sleep(0.05)
    cluster.remove_node(cluster.lost, allow_graceful=False)
    printed, _ = running.communicate(timeout=240)
    assert running.returncode == 0, printed
    counts = lines(suite)
    assert counts.pop("load") == 2
    assert counts.keys() == {f"tone-{n}" for n in range(40)}
    here, there = (
        (suite.path / "reports" / name / "scored_predictions.jsonl").read_bytes() for name in ("here", "ray")
    )
    assert here == there


def test_what_no_replica_can_be_asked_is_the_instrument_s_and_kept(suite, cluster):
    suite.tones()
    suite.write(test_tones=EVAL)
    running = start(suite, cluster, die="tone-7", how="kill")
    printed, _ = running.communicate(timeout=240)
    assert running.returncode == 6, printed
    assert "2 replicas were lost in the Ray cluster at" in printed
    asked = sum(lines(suite).values())
    running = start(suite, cluster)
    printed, _ = running.communicate(timeout=240)
    assert running.returncode == 0, printed
    assert sum(lines(suite).values()) < asked + 40 + 2


def test_a_cluster_that_is_not_there_is_the_instrument_s(suite):
    suite.tones()
    suite.write(test_tones=EVAL)
    result = suite.run("--ab-ray=127.0.0.1:1", shared="yes")
    assert result.ret == 6
    result.stdout.fnmatch_lines(["*there is no Ray cluster at 127.0.0.1:1*"])


@pytest.mark.parametrize("other", ["-n2", "--ab-devices=cpu"])
def test_workers_and_devices_are_left_out(suite, other):
    suite.tones()
    suite.write(test_tones=EVAL)
    result = suite.run("--ab-ray=auto", other, shared="yes")
    assert result.ret == 4
    assert "leave out -n and --ab-devices" in result.stderr.str()


class Rendezvous:
    """Answers once two replicas are asked at the same time."""

    spec, batching, listens, device, in_process = "meet:here", "planned", False, "cpu", True
    limits = Limits()

    def __init__(self, target, options):
        self._folder = Path(target)

    def fingerprint(self):
        return {"meets": "1"}

    def load(self):
        pass

    def ask(self, batch):
        (self._folder / str(os.getpid())).touch()
        while len(list(self._folder.iterdir())) < 2:
            time.sleep(0.01)
        return [Response.of(request.sample_id) for request, _ in batch]

    def close(self):
        pass


def test_two_batches_are_asked_of_two_nodes_at_once(cluster, tmp_path):
    ray_cluster = RayCluster(cluster.address, {"meet": Rendezvous})
    model = RayModel(Rendezvous(tmp_path, {}), parse_spec(f"meet:{tmp_path}"), ray_cluster)
    try:
        model.load()
        assert model.in_flight == 4
        replies = [model.begin([Ask(_request(name), ())]) for name in ("first", "second")]
        assert [reply.result(timeout=240)[0].text for reply in replies] == ["first", "second"]
    finally:
        ray_cluster.close()


def _request(name):
    return Request(name, "data", name, "answer", "generate", (), (), (), Settings(), 0)
