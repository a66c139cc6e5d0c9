"""A server of a run's own: real processes, their ends and their logs."""

import socket
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from pytest_audiobench.errors import FatalError
from pytest_audiobench.models.run_server import guard as server_guard
from pytest_audiobench.models.run_server.process import Served, ServerProcess, free_port

SILENT = "import time; time.sleep(60)"


def python(code):
    return f'{sys.executable} -c "{code}" {{port}}'


@pytest.fixture
def started(tmp_path):
    """Starts a server's command; what its users see."""
    running = []

    def start(command):
        port = free_port()
        running.append(ServerProcess(command, port, tmp_path))
        return Served(f"http://127.0.0.1:{port}", tmp_path)

    yield start
    for process in running:
        process.end()


def end_of(served):
    """What is said of a server's end, as soon as it is known."""
    give_up = time.monotonic() + 300
    while time.monotonic() < give_up:
        try:
            served.check_alive()
        except FatalError as error:
            return str(error)
        time.sleep(0.02)
    raise AssertionError("no end was told")


def test_a_server_that_answers_is_ready(started):
    served = started(f"{sys.executable} -m http.server --bind 127.0.0.1 {{port}}")
    served.wait()
    served.check_alive()


def test_an_end_is_noticed_while_waiting_with_code_and_last_words(started):
    served = started(python("import sys; print('weights: 3 of 4', file=sys.stderr); sys.exit(3)"))
    with pytest.raises(FatalError, match=r"ended with exit code 3; its last lines were:\n    weights: 3 of 4\n"):
        served.wait()


def test_words_on_standard_output_count_where_there_are_no_others(started):
    assert "    no such model" in end_of(started(python("print('no such model')")))


def test_a_server_that_said_nothing_is_said_to_have(started):
    assert end_of(started(python("import sys; sys.exit(5)"))) == (
        "the run's server ended with exit code 5 and said nothing"
    )


def test_a_signal_is_told_as_such(started):
    assert "was ended by signal 9" in end_of(started("kill -9 $$; true {port}"))


def test_a_program_that_is_not_there_is_the_shells_last_word(started):
    assert "exit code 127" in end_of(started("no-such-program {port}"))


def test_last_words_are_printable_and_few(started):
    code = "import sys; sys.stderr.write('x' * 9000 + chr(10) + chr(27) + '[2J' + chr(10)); sys.exit(1)"
    said = end_of(started(python(code)))
    assert "\x1b" not in said
    assert len(said) < 2000


def test_logs_keep_the_newest_megabytes(started, tmp_path):
    served = started(
        python("import sys; [sys.stderr.write('y' * 2**20) for _ in range(9)]; sys.exit(chr(10) + 'the end')")
    )
    assert "the end" in end_of(served)
    logs = [tmp_path / "server.stderr.log", tmp_path / "server.stderr.log.old"]
    assert sum(log.stat().st_size for log in logs) < 6 * 2**20
    assert logs[0].read_text().rstrip().endswith("the end")


def test_a_server_that_hangs_is_given_up(started):
    with pytest.raises(FatalError, match=r"did not answer http://127.0.0.1:\d+/health within 0\.2 s"):
        started(python(SILENT)).wait(0.2)


@pytest.fixture
def squatter():
    """Listens on a loopback port and does something with whoever connects; gives the port."""
    listeners = []

    def listen(talk, port=0):
        listener = socket.create_server(("127.0.0.1", port))
        listeners.append(listener)

        def serve():
            with suppress(OSError):
                while True:
                    one, _ = listener.accept()
                    with one, suppress(OSError):
                        one.recv(1000)
                        talk(one)

        threading.Thread(target=serve, daemon=True).start()
        return listener.getsockname()[1]

    yield listen
    for listener in listeners:
        # Closing alone would leave the thread waiting.
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()


def test_an_answer_of_somebody_else_does_not_hide_that_the_server_ended(started, squatter):
    served = started(python("import sys; sys.exit('the port is taken')"))
    end_of(served)
    squatter(lambda one: one.sendall(b"HTTP/1.1 200 OK\r\n\r\n"), int(served.url.rpartition(":")[2]))
    with pytest.raises(FatalError, match="the port is taken"):
        served.wait()
    with pytest.raises(FatalError, match="the port is taken"):
        served.mourn()


@pytest.mark.parametrize("words", [b"hello\r\n", b"", b"\0" * 5000, b"HTTP/1.1 503 Service Unavailable\r\n\r\n"])
def test_what_is_no_answer_of_a_ready_server_is_waited_out(squatter, tmp_path, words):
    served = Served(f"http://127.0.0.1:{squatter(lambda one: one.sendall(words))}", tmp_path)
    with pytest.raises(FatalError, match=r"did not answer .* within 0\.1 s"):
        served.wait(0.1)


def test_a_server_that_drips_is_not_waited_for_longer_than_others(squatter, tmp_path):
    whole = []

    def drip(one):
        # Whoever hangs up ends it.
        for _ in range(6000):
            one.sendall(b"H")
            time.sleep(0.05)
        whole.append("the time was not kept")

    served = Served(f"http://127.0.0.1:{squatter(drip)}", tmp_path)
    with pytest.raises(FatalError, match=r"did not answer .* within 0\.1 s"):
        served.wait(0.1)
    assert not whole


def test_a_server_behind_a_shell_has_its_time_to_end(tmp_path):
    save = "lambda *_: (time.sleep(0.3), open('saved', 'w'), sys.exit())"
    code = f"import signal, sys, time; signal.signal(15, {save}); open('up', 'w'); time.sleep(60)"
    process = ServerProcess(f"cd {tmp_path} && {python(code)}; true", free_port(), tmp_path)
    wait_for(tmp_path / "up")
    process.end()
    assert (tmp_path / "saved").exists()


def test_one_that_does_not_heed_sigterm_is_ended_all_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr(server_guard, "__file__", str(impatient_guard(tmp_path)))
    code = f"import os, signal; signal.signal(15, signal.SIG_IGN); print(os.getpid(), flush=True); {SILENT}"
    process = ServerProcess(python(code), free_port(), tmp_path)
    pid = int(wait_for(tmp_path / "server.stdout.log"))
    process.end()
    assert not is_running(pid)


def impatient_guard(folder):
    """The guard with a shorter time of grace, for the test's sake."""
    copy = folder / "guard.py"
    text = Path(server_guard.__file__).read_text()
    assert "GRACE_S = 5.0" in text
    copy.write_text(text.replace("GRACE_S = 5.0", "GRACE_S = 0.3"))
    return copy


def wait_for(file):
    """What ``file`` holds, once it is there."""
    give_up = time.monotonic() + 300
    while time.monotonic() < give_up:
        if file.exists() and (file.name == "up" or file.read_text()):
            return file.read_text()
        time.sleep(0.02)
    raise AssertionError(f"{file} did not appear")


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
