"""With workers a model that fills a device is loaded once for each device, and shared; nothing else changes."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import pytest

from pytest_audiobench.errors import FatalError

THREE_EVALS = """
import pytest
from pytest_audiobench import manifest, multiple_choice

@pytest.mark.parametrize("who", ["one", "two", "three"])
def test_tones(evaluate, who):
    evaluate(manifest("data/tones.jsonl"), multiple_choice(prompt=who + " {question} {options}"))
"""


@pytest.fixture
def evals(suite):
    suite.tones()
    suite.write(test_tones=THREE_EVALS)
    return suite


def lines(suite):
    return Counter((suite.path / "log").read_text().split())


@pytest.mark.parametrize(("devices", "loads"), [("cpu", 1), ("cpu,cpu", 2)])
def test_workers_share_a_model_and_its_answers_with_a_run_that_has_none(evals, devices, loads):
    assert evals.run("--ab-store=serial.sqlite").ret == 0
    serial, folder = evals.last()
    result = evals.run("-n4", f"--ab-devices={devices}", "--ab-store=new.sqlite", shared="yes", log="log")
    assert result.ret == 0
    run, other = evals.last()
    assert run["hashes"] == serial["hashes"]
    assert (other / "scored_predictions.jsonl").read_bytes() == (folder / "scored_predictions.jsonl").read_bytes()
    counts = lines(evals)
    assert counts.pop("load") == loads
    assert counts == {f"tone-{n}": 3 for n in range(40)}
    (model,), (alone,) = run["models"], serial["models"]
    assert model["device"] == alone["device"] == "cpu"
    assert model["shared"] is True
    assert alone["shared"] is False


def test_a_run_whose_answers_are_known_loads_nothing(evals):
    args = ("-n2", "--ab-devices=cpu")
    assert evals.run(*args, shared="yes", log="log").ret == 0
    before = lines(evals)
    assert evals.run(*args, shared="yes", log="log").ret == 0
    assert lines(evals) == before


@pytest.mark.parametrize("how", ["exit", "kill"])
def test_a_device_process_that_dies_is_told_with_its_last_words_and_the_run_goes_on_later(evals, how):
    result = evals.run("-n2", "--ab-devices=cpu", shared="yes", log="log", die="tone-7", how=how)
    assert result.ret == 6
    result.stdout.fnmatch_lines(["*the process that holds tone:one on cpu is gone*said last: *run again to continue*"])
    assert evals.run("-n2", "--ab-devices=cpu", shared="yes", log="log").ret == 0
    asked = lines(evals)
    assert sum(asked[f"tone-{n}"] for n in range(40)) <= 3 * 40 + 3 * 4  # a batch of each eval at most twice


def test_two_models_on_one_device_are_loaded_in_turn(evals):
    models = [f"--ab-model={name}=tone:{name},shared=yes,log=log" for name in ("one", "two")]
    result = evals.run("-n2", "--ab-devices=cpu", *models, model=None)
    assert result.ret == 0
    run, _ = evals.last()
    assert {model["alias"] for model in run["models"]} == {"one", "two"}
    assert lines(evals)["load"] < 7  # not once for every change of hands


@pytest.mark.parametrize(
    ("devices", "says"),
    [("7", "*--ab-devices names '7', and there is no visible GPU*"), ("tpu", "*names 'tpu'*write 0, cuda:1 or cpu*")],
)
@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_a_device_that_is_not_there_is_a_usage_error(evals, devices, says, workers, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    result = evals.run(workers, f"--ab-devices={devices}")
    assert result.ret == 4
    result.stderr.fnmatch_lines([says])


@pytest.mark.parametrize("by", ["variable", "ini"])
def test_devices_of_the_environment_and_of_the_ini_file_hold_without_workers_too(suite, by, monkeypatch):
    suite.write(test_plain="def test_plain(): pass")
    if by == "ini":
        (suite.path / "pytest.ini").write_text("[pytest]\nab_devices = tpu\n")
    else:
        monkeypatch.setenv("AUDIOBENCH_DEVICES", "tpu")
    result = suite.run()
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*names 'tpu'*write 0, cuda:1 or cpu*"])


@pytest.mark.parametrize("workers", ["-n0", "-n1"])
def test_an_empty_list_of_devices_names_none(suite, workers):
    suite.write(test_plain="def test_plain(): pass")
    assert suite.run(workers, "--ab-devices=,").ret == 0


ONE_EVAL = """
from pytest_audiobench import manifest, multiple_choice

def test_tones(evaluate):
    evaluate(manifest("data/tones.jsonl"), multiple_choice())
"""


@pytest.fixture
def one_eval(suite):
    suite.tones()
    suite.write(test_tones=ONE_EVAL)
    return suite


@pytest.mark.parametrize("workers", [(), ("-n2",), ("-n8",)])
def test_the_devices_share_one_eval(one_eval, workers):
    """The answers of one device, each asked for once: the process in which it was is in the log."""
    assert one_eval.run("--ab-store=alone.sqlite").ret == 0
    alone, folder = one_eval.last()
    args = (*workers, "--ab-devices=cpu,cpu,cpu", "--ab-store=new.sqlite")
    assert one_eval.run(*args, shared="yes", log="log", sleepy="0.05", pids="yes").ret == 0
    run, other = one_eval.last()
    assert run["hashes"] == alone["hashes"]
    assert (other / "scored_predictions.jsonl").read_bytes() == (folder / "scored_predictions.jsonl").read_bytes()
    counts = lines(one_eval)
    pids = {name.partition("@")[2] for name in counts if name.startswith("load@")}
    assert len(pids) == 3
    asked = Counter(name.partition("@")[0] for name in counts if not name.startswith("load@"))
    assert asked == {f"tone-{n}": 1 for n in range(40)}
    assert {name.partition("@")[2] for name in counts} == pids


@pytest.mark.parametrize("workers", [(), pytest.param(("-n2",), marks=pytest.mark.slow)])
def test_an_eval_on_several_devices_that_is_killed_goes_on(one_eval, workers):
    """Of what was answered at most the batches on their way are asked twice: two on each device."""
    args = (*workers, "--ab-devices=cpu,cpu")
    command = [sys.executable, "-m", "pytest", *args, "-p", "no:cacheprovider"]
    command += ["--ab-model=tone:one,shared=yes,log=log,sleepy=0.2"]
    with subprocess.Popen(command, cwd=one_eval.path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as run:
        _until(lambda: (one_eval.path / "log").exists() and sum(lines(one_eval).values()) >= 14)
        os.kill(run.pid, signal.SIGKILL)
    _until(lambda: not _device_processes(one_eval.path))
    assert one_eval.run(*args, model="tone:one,shared=yes,log=log,sleepy=0.2").ret == 0
    run, _ = one_eval.last()
    counts = lines(one_eval)
    counts.pop("load")
    assert set(counts) == {f"tone-{n}" for n in range(40)}
    assert sum(counts.values()) <= 40 + 4 * 4
    assert one_eval.run("--ab-store=alone.sqlite", model="tone:one").ret == 0
    assert one_eval.last()[0]["hashes"] == run["hashes"]


def test_devices_of_a_run_without_workers_are_started_when_something_is_asked(one_eval):
    args = ("--ab-devices=cpu,cpu",)
    assert one_eval.run(*args, shared="yes").ret == 0
    _, folder = one_eval.last()
    assert len(list((folder / "devices").iterdir())) == 2
    assert one_eval.run(*args, shared="yes").ret == 0
    _, folder = one_eval.last()
    assert not (folder / "devices").exists()


def test_one_eval_has_devices_of_one_kind(one_eval, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-8932f937")
    result = one_eval.run("--ab-devices=0,cpu")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*--ab-devices names a GPU and cpu*"])


def test_what_a_conftest_prints_is_no_word_of_the_process(evals):
    conftest = evals.path / "conftest.py"
    conftest.write_text(conftest.read_text() + "print('loading the laboratory', end='', flush=True)\n")
    assert evals.run("-n1", "--ab-devices=cpu", shared="yes").ret == 0
    _, folder = evals.last()
    assert "loading the laboratory" in (folder / "devices" / "0.log").read_text()


def test_files_may_be_named_behind_two_dashes(evals):
    assert evals.run("-n1", "--ab-devices=cpu", "--", "test_tones.py", shared="yes").ret == 0


@pytest.mark.parametrize("ini", ["here", "none"])
def test_a_kind_of_model_may_be_registered_in_the_folder_of_the_evals(evals, ini):
    """The command is called from the root, so that this conftest.py is read when evals are collected, and no sooner."""
    (evals.path / "evals").mkdir()
    for name in ("conftest.py", "test_tones.py", "data"):
        (evals.path / name).rename(evals.path / "evals" / name)
    (evals.path / "evals" / "pytest.ini").write_text("[pytest]\nab_reports = elsewhere\n")
    if ini == "none":
        (evals.path / "pytest.ini").unlink()
    assert evals.run("-n1", "--ab-devices=cpu", shared="yes", log="log").ret == 0
    assert lines(evals)["load"] == 1
    assert evals.runs()


def test_a_device_process_that_never_gets_ready_is_told_and_ended(evals, monkeypatch):
    from pytest_audiobench.plugin import device_pool

    pool = _pool(evals)
    (evals.path / "conftest.py").write_text("import time; print('waiting', flush=True); time.sleep(600)\n")
    log = evals.path / "reports" / "run" / "devices" / "0.log"

    def clock():
        """Stands still until the process has spoken, however slow its start is here; then the time is over."""
        if not log.exists():
            return 0.0
        _until(lambda: "waiting" in log.read_text())
        return 60.0

    monkeypatch.setattr(device_pool, "time", SimpleNamespace(monotonic=clock))
    with pytest.raises(FatalError, match=r"the process for device cpu did not start within 60 s: waiting"):
        pool.start(_config(evals), [])
    assert not _device_processes(evals.path)


def _pool(suite):
    from pytest_audiobench.plugin import device_pool
    from pytest_audiobench.plugin.run_folder import RunFolder

    return device_pool.DevicePool(["cpu"], RunFolder(suite.path / "reports", "run"))


def _config(suite, *args):
    """A controller's configuration as the pool reads it, without the controller."""
    called = pytest.Config.InvocationParams(args=args, plugins=None, dir=suite.path)
    return SimpleNamespace(
        invocation_params=called, rootpath=suite.path, inipath=suite.path / "pytest.ini", getoption=lambda name: None
    )


def test_a_suite_without_evals_starts_no_process(suite):
    suite.write(test_plain="def test_plain(): pass")
    assert suite.run("-n2", "--ab-devices=cpu", shared="yes").ret == 0
    assert not (suite.path / "reports").exists()


SEEN = """
import os
def pytest_sessionstart(session):
    if hasattr(session.config, "workerinput"):
        seen = os.environ["CUDA_VISIBLE_DEVICES"]
        open(f"seen-{session.config.workerinput['workerid']}", "w").write(seen)
"""


def test_every_visible_gpu_has_its_process_and_more_workers_than_gpus_share(evals, monkeypatch):
    assert _seen(evals, monkeypatch, 3, "hf:no-such-folder") == ["GPU-8932f937", "5", "GPU-8932f937"]


@pytest.mark.parametrize(
    ("model", "shared"),
    [
        ("openai:hf:whisper", False),
        ("name=hf:no-such-folder,device=cpu", False),
        ("hf:no,such,folder,device=cuda", True),
        ("keeper:one", True),
        ("tone:one", False),
    ],
)
def test_the_kind_of_a_model_says_whether_it_fills_a_gpu(suite, monkeypatch, model, shared):
    suite.write(test_plain="def test_plain(): pass")
    conftest = suite.path / "conftest.py"
    conftest.write_text(conftest.read_text() + KEEPER)
    assert _seen(suite, monkeypatch, 1, model) == ["GPU-8932f937" if shared else "GPU-8932f937,5"]


def _seen(suite, monkeypatch, workers, model):
    """The GPUs that each of the workers sees, of two."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-8932f937,5")
    conftest = suite.path / "conftest.py"
    conftest.write_text(conftest.read_text() + SEEN)
    suite.run(f"-n{workers}", model=model)
    return [(suite.path / f"seen-gw{n}").read_text() for n in range(workers)]


def test_no_process_outlives_a_controller_that_is_killed(evals):
    command = [sys.executable, "-m", "pytest", "-n2", "--ab-devices=cpu", "-p", "no:cacheprovider"]
    command += ["--ab-model=tone:one,shared=yes,log=log,sleepy=0.5"]
    with subprocess.Popen(command, cwd=evals.path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as run:
        _until(lambda: (evals.path / "log").exists())
        held = _device_processes(evals.path)
        assert len(held) == 1
        os.kill(run.pid, signal.SIGKILL)
    _until(lambda: not _device_processes(evals.path))


KEEPER = """

class Keeper(ToneModel):
    in_process = True

    def load(self):
        import subprocess
        child = subprocess.Popen(["sleep", "600"])
        self._log(f"child {child.pid}")

    def close(self):
        self._log("closed")


class Mortal(Keeper):
    def ask(self, batch):
        os._exit(3)


_first_kinds = pytest_audiobench_register


def pytest_audiobench_register(registration):
    _first_kinds(registration)
    registration.model("keeper", Keeper)
    registration.model("mortal", Mortal)
"""


@pytest.mark.parametrize(("kind", "ret"), [("keeper", 0), ("mortal", 6)])
def test_at_the_end_the_model_is_closed_and_its_processes_end(evals, kind, ret):
    conftest = evals.path / "conftest.py"
    conftest.write_text(conftest.read_text().replace("self.in_process = ", "self.shared = ") + KEEPER)
    assert evals.run("-n1", "--ab-devices=cpu", "-k", "two", model=f"{kind}:one", log="log").ret == ret
    counts = (evals.path / "log").read_text().split("\n")
    assert counts.count("closed") == (kind == "keeper")
    (child,) = [line.split()[1] for line in counts if line.startswith("child ")]
    _until(lambda: not _lives(child))


def _lives(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"  # a zombie waits for this container's init
    except OSError:
        return False


def _until(holds):
    give_up = time.monotonic() + 300
    while not holds():
        assert time.monotonic() < give_up
        time.sleep(0.05)


def _device_processes(folder):
    found = []
    for process in os.listdir("/proc"):
        try:
            with open(f"/proc/{process}/cmdline", "rb") as file:
                command = file.read()
            if b"plugin.device_process" in command and os.readlink(f"/proc/{process}/cwd") == str(folder):
                found.append(process)
        except OSError:
            continue
    return found


@pytest.mark.parametrize("shares_s", [(100.0, 50.0), (100.0, None)])
def test_the_time_within_a_shared_model_is_that_of_its_answers(tmp_path, shares_s):
    """Waiting for other workers' batches is not one of it; where not every answer tells its share, the clock does."""
    from pytest_audiobench.evaluation.answer_store import Store
    from pytest_audiobench.evaluation.batch_executor import BatchExecutor, BatchLocks
    from pytest_audiobench.evaluation.batch_plan import PlannedRequest
    from pytest_audiobench.evaluation.model_handle import ModelHandle
    from pytest_audiobench.models.messages import Response

    requests = [ask.request for ask in _asks("0", "1")]
    planned = [PlannedRequest(request.key.encode() * 32, 0, 1.0, 1.0, b"") for request in requests]
    model = Echo(lambda name: None if name == "load" else Response(share_s=shares_s[int(name)]))
    with BatchLocks(tmp_path / "claims") as locks:
        store = Store(tmp_path / "store.sqlite", "run")
        executor = BatchExecutor(ModelHandle("echo", model), store, locks, lambda done, total: None)
        executor.execute(requests, planned)
        store.close()
    if None in shares_s:
        assert 0 < executor.time.model_s <= executor.time.asking_s
    else:
        assert executor.time.model_s == 150.0


def test_what_a_batch_is_made_of_travels_without_loss(share):
    """Samples to the last bit, messages with their clips in place, settings, and answers with all that is known."""
    import numpy as np

    from pytest_audiobench.models.messages import (
        Ask,
        AudioSlot,
        Message,
        Output,
        Part,
        PlayedAudio,
        Request,
        Response,
        Settings,
    )

    wave = np.random.default_rng(0).normal(size=1000).astype(np.float32)
    wave[:4] = [np.finfo(np.float32).tiny, -0.0, 1e-45, np.finfo(np.float32).max]
    heard = [PlayedAudio(part, 16000, "d", 8000, 9, "soundfile", 0.5) for part in (wave[:300], wave[300:])]
    messages = (Message("system", ("Be brief.",)), Message("user", ("a", AudioSlot(1), "b", AudioSlot(0))))
    request = Request("k", "set", "s😀", "answer", "choice", messages, (), ("x", "y"), Settings(9, "0.7"), 3)
    response = Response(
        (Output((Part("text", "B"),), "length", 0.25),), {"prompt_tokens": 5}, 0.1, (0.5,), None, 0.05, 0.2
    )

    class Witness(Echo):
        asked = ()

        def ask(self, batch):
            Witness.asked = batch
            return [response]

    (answer,) = share(lambda spec: Witness()).ask([Ask(request, tuple(heard))])
    assert replace(answer, share_s=0.2) == response
    (back,) = Witness.asked
    assert back.request == request
    for there, here in zip(back.audio, heard, strict=True):
        assert there.samples.tobytes() == here.samples.tobytes()
        assert (there.rate_hz, there.frames, there.truncated_s) == (16000, 9, 0.5)


class Echo:
    """A model that says each request's sample back; ``act`` is called with the sample's name first."""

    spec, batching, listens, device = "echo:one", "planned", True, "cpu"

    def __init__(self, act=lambda name: None):
        from pytest_audiobench.models.model import Limits

        self._act, self.limits, self.closed = act, Limits(), False

    def fingerprint(self):
        return {"echo": "1"}

    def load(self):
        self._act("load")

    def ask(self, batch):
        return [self._act(ask.request.sample_id) or _said(ask.request.sample_id) for ask in batch]

    def close(self):
        self.closed = True


def _said(name):
    from pytest_audiobench.models.messages import Response

    return Response.of(name)


def _asks(*names):
    from pytest_audiobench.models.messages import Ask, Request

    return [Ask(Request(name, "set", name, "answer", "open", (), ()), ()) for name in names]


@pytest.fixture
def share(tmp_path_factory):
    """A model as a worker sees it that shares ``model``, held by a host on a thread of this process."""
    from pytest_audiobench.models.device.client import Address, SharedModel
    from pytest_audiobench.models.device.host import Host
    from pytest_audiobench.models.spec import ModelSpec

    shared = []

    def started(make, *specs):
        address = Address(str(tmp_path_factory.mktemp("host") / "s"), "00" * 32, "cpu", os.devnull)
        ready, host = threading.Event(), Host(make)
        told = (address.socket, bytes.fromhex(address.key), ready.set)
        threading.Thread(target=host.serve, args=told, daemon=True).start()
        assert ready.wait(60)
        specs = specs or (ModelSpec("echo", "echo", "one", {}, "echo:one"),)
        shared.extend(SharedModel(make(spec), spec, [address]) for spec in specs)
        return shared if len(specs) > 1 else shared[0]

    yield started
    for model in shared:
        model.close()


def test_an_interrupted_batch_never_answers_the_next_one(share):
    """A time limit's signal leaves a reply on its way; it must not be taken for the next batch's."""
    asked, interrupted = threading.Event(), threading.Event()

    def slow(name):
        if name == "first" and not asked.is_set():
            asked.set()
            assert interrupted.wait(60)

    model = share(lambda spec: Echo(slow))
    model.load()

    def interrupt(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        threading.Thread(target=lambda: asked.wait() and os.kill(os.getpid(), signal.SIGALRM)).start()
        with pytest.raises(KeyboardInterrupt):
            model.ask(_asks("first"))
    finally:
        signal.signal(signal.SIGALRM, before)
        interrupted.set()
    assert [one.text for one in model.ask(_asks("second"))] == ["second"]
    assert [one.text for one in model.ask(_asks("first"))] == ["first"]


def test_a_model_made_anew_with_other_options_takes_its_turn(evals):
    """As determinism does with a dtype: the loaded model is not an one's, so the other one need not wait for ever."""
    again = """
from pytest_audiobench import determinism, manifest, multiple_choice

def test_tones(evaluate):
    determinism(evaluate, manifest("data/tones.jsonl"), multiple_choice(), dtypes=["float16"])
"""
    evals.write(test_tones=again)
    assert evals.run("-n1", "--ab-devices=cpu", shared="yes", log="log").ret == 0
    assert lines(evals)["load"] == 2


def test_two_models_of_one_text_and_other_options_take_turns(share):
    from pytest_audiobench.models.spec import ModelSpec

    specs = [ModelSpec("echo", "echo", "one", options, "echo:one") for options in ({}, {"dtype": "float16"})]
    one, other = share(lambda spec: Echo(), *specs)
    for model in (one, other, one):
        asking = threading.Thread(target=model.load, daemon=True)
        asking.start()
        asking.join(10)
        assert not asking.is_alive()


def test_numbers_of_numpy_travel_and_what_cannot_travel_is_told(share):
    import numpy as np

    from pytest_audiobench.models.messages import Output, Part, Response

    def act(name):
        count = np.int64(5) if name == "counted" else threading.Lock()
        output = Output((Part("text", "B"),), "stop", np.float32(0.25))
        return Response((output,), {"prompt_tokens": count}, latency_s=np.float64(0.5))

    model = share(lambda spec: Echo(lambda name: act(name) if name != "load" else None))
    (response,) = model.ask(_asks("counted"))
    assert (response.usage, response.latency_s, response.outputs[0].score) == ({"prompt_tokens": 5}, 0.5, 0.25)
    with pytest.raises(RuntimeError, match="TypeError"):
        model.ask(_asks("odd"))
    assert model.ask(_asks("counted"))[0].text == "B"


def test_an_error_keeps_its_kind_on_the_way(share):
    """A sample's error fails a sample, what is not here skips an eval, and a stranger's kind counts as its base."""
    from pytest_audiobench import errors

    class Own(errors.TransientError):
        pass

    known = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    kinds = {kind.__name__: kind for kind in (*known, Own) if issubclass(kind, errors.AudiobenchError)}

    def act(name):
        raise kinds[name]("no")

    model = share(lambda spec: Echo(lambda name: act(name) if name != "load" else None))
    for name, kind in kinds.items():
        with pytest.raises(errors.AudiobenchError, match=r"^no$") as raised:
            model.ask(_asks(name))
        assert raised.type is (errors.TransientError if kind is Own else kind)
