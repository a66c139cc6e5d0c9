"""Whole runs against predictions_v1 servers in processes of their own."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

STRANGER = Path(__file__).parents[1] / "models" / "stranger.py"
TONES_IN_TWO_EVALS = """
import pytest
from pytest_audiobench import manifest, multiple_choice

@pytest.mark.parametrize("way", ["plain", "other"])
def test_tones(evaluate, way):
    prompt = {"plain": "{question}\\n{options}", "other": "Listen. {question}\\n{options}"}[way]
    result = evaluate(manifest("data/tones.jsonl"), multiple_choice(prompt=prompt))
    assert result["accuracy"] == 1
"""


@pytest.fixture
def evals(suite):
    suite.tones()
    suite.write(test_tones=TONES_IN_TWO_EVALS)
    return suite


def asked(path):
    """How often each question was answered, whatever process asked."""
    return Counter(Path(path).read_text().split())


def serve(log, *more):
    return f"http:lab,serve={sys.executable} {STRANGER} --port {{port}} --log {log} {' '.join(more)}"


def test_serial_and_parallel_runs_ask_each_question_once_and_agree(evals, server):
    seen = []
    for number, workers in enumerate([(), ("-n2",)]):
        server.log = str(evals.path / f"asked{number}")
        result = evals.run(*workers, f"--ab-store=store{number}.sqlite", model=f"lab=http:{server.url}")
        result.assert_outcomes(passed=2)
        assert Counter(asked(server.log).values()) == {1: 80}
        run, folder = evals.last()
        assert run["models"][0]["fingerprint"]["model"] == "tones"
        seen.append((run["hashes"], (folder / "scored_predictions.jsonl").read_bytes()))
    assert seen[0] == seen[1]


def test_a_url_that_another_process_writes_later(evals, server):
    script = f"import time; time.sleep(1); open('job.url', 'w').write({server.url + chr(10)!r})"
    with subprocess.Popen([sys.executable, "-c", script], cwd=evals.path):
        result = evals.run("-n2", model="http:lab,url_file=job.url")
    result.assert_outcomes(passed=2)
    assert str(evals.path) not in evals.last()[0]["models"][0]["spec"]


def test_a_name_without_a_server_is_a_usage_error(evals):
    result = evals.run(model="http:lab")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*http:lab names no server: write http:http://HOST:PORT*"])


def test_a_deaf_server_fails_the_eval_before_it_is_asked(evals, server):
    server.deaf, server.strict = True, False
    result = evals.run("-k", "plain", model=f"http:{server.url}")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*stranger does not hear*"])


def test_a_server_that_breaks_in_the_middle_keeps_what_was_answered(evals, server):
    server.log = str(evals.path / "asked")

    def refuse(handler, asked):
        handler.say(400, {"detail": "this one I do not like"})

    # Two probes come first, then five batches of four that are well.
    server.faults = [lambda handler, asked: handler.reply(asked)] * 8 + [refuse] * 40
    result = evals.run("-k", "plain", model=f"http:{server.url}")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*this one I do not like*"])
    server.faults = []
    evals.run("-k", "plain", model=f"http:{server.url}").assert_outcomes(passed=1)
    assert Counter(asked(server.log).values()) == {1: 40}


@pytest.mark.parametrize("workers", [(), ("-n2",)], ids=["serial", "two workers"])
def test_a_run_starts_its_server_once_and_ends_it(evals, workers):
    result = evals.run("--ab-run=served", *workers, model=serve("asked"))
    result.assert_outcomes(passed=2)
    assert Counter(asked(evals.path / "asked").values()) == {1: 80}
    run, folder = evals.last()
    assert run["models"][0]["spec"] == "http:lab"
    assert [path.name for path in sorted((folder / "servers" / "0").iterdir())] == [
        *("server.stderr.log", "server.stdout.log"),
    ]
    assert not strangers(evals.path)
    # Another port, the same server: nothing is asked again.
    evals.run(*workers, model=serve("asked")).assert_outcomes(passed=2)
    assert sum(asked(evals.path / "asked").values()) == 80


@pytest.mark.parametrize("args", [("--collect-only",), ("-k", "nothing")])
def test_no_server_is_started_for_nothing(evals, args):
    command = f"{sys.executable} -c \"open('started', 'w')\" {{port}}".replace('"', '""')
    evals.run(*args, model=f'lab=http:lab,serve="{command}"')
    assert not (evals.path / "started").exists()


def test_a_server_that_dies_at_its_start_says_its_last_words_in_the_eval(evals):
    script = "import sys; print('loading', file=sys.stderr); sys.exit('no such checkpoint: step-2000')"
    command = f'{sys.executable} -c "{script}" {{port}}'.replace("'", "''")
    result = evals.run(model=f"http:lab,serve='{command}'")
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        ["*the run's server ended with exit code 1; its last lines were:*", "*no such checkpoint: step-2000*"]
    )


@pytest.mark.parametrize("workers", [(), ("-n2",)], ids=["serial", "two workers"])
def test_a_server_that_dies_in_mid_run_says_its_last_words_and_a_further_run_goes_on(evals, workers):
    result = evals.run(*workers, model=serve("asked", "--die-after", "30"))
    assert result.ret == 6
    result.stdout.fnmatch_lines(
        ["*the run's server ended with exit code 7; its last lines were:*", "*RuntimeError: CUDA out of memory*"]
    )
    first = asked(evals.path / "asked")
    assert sum(first.values()) >= 30
    evals.run(*workers, model=serve("asked")).assert_outcomes(passed=2)
    both = asked(evals.path / "asked")
    assert len(both) == 80
    # Only what the server answered in its last moments, and nobody heard, is asked a second time.
    assert sum(both.values()) - 80 <= 8


def test_several_specs_in_the_environment_are_parted_where_no_quote_is_open(evals, server, monkeypatch):
    log = evals.path / "asked"
    started = f"touch started; {sys.executable} {STRANGER} --port {{port}} --log {log}"
    monkeypatch.setenv("AUDIOBENCH_MODEL", f'a=http:a,serve="{started}";b=http:{server.url};c=tone:one')
    evals.run(model=None).assert_outcomes(passed=6)
    assert (evals.path / "started").exists()
    assert [model["alias"] for model in evals.last()[0]["models"]] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("spec", "ways"),
    [
        ("http:http://127.0.0.1:9,serve=serve {port}", "the URL and serve=…"),
        ("http:http://127.0.0.1:9,url_file=job.url", "the URL and url_file=…"),
        ("http:lab,url_file=job.url,serve=serve {port}", "url_file=… and serve=…"),
        ("openai:tiny,base_url=http://127.0.0.1:9/v1,serve=serve {port}", "base_url=… and serve=…"),
    ],
)
def test_two_places_of_one_server_are_a_usage_error(evals, spec, ways):
    result = evals.run(model=spec)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*{ways} of an * model both say where its server is; give one"])


@pytest.mark.parametrize("option", ["base-url", "predict-url-file", "serve-command", "style", "trust-remote-code"])
def test_an_option_that_belongs_to_one_model_is_none_of_the_run(evals, option):
    result = evals.run(f"--ab-{option}=x")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*unrecognized arguments: --ab-{option}=x"])


@pytest.mark.parametrize(
    ("command", "read"),
    [
        ("python server.py --port 8000", "python server.py --port 8000"),
        ("vllm serve m --limit audio=1,image=0 --port {port}", "vllm serve m --limit audio=1"),
    ],
)
def test_a_command_without_a_port_is_a_usage_error_that_tells_of_quotes(evals, command, read):
    result = evals.run(model=f"http:lab,serve={command}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*serve='{read}' has no {{port}}*in quotes: serve=*"])


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_no_server_outlives_a_run_that_is_stopped(evals, how):
    evals.write(test_slow="import time\n\ndef test_slow(evaluate):\n    time.sleep(600)\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    # A shell and its children, of which none may stay.
    server = f"--ab-model=http:lab,serve={sys.executable} {STRANGER} --port {{port}} & sleep 600; true"
    process = subprocess.Popen(
        [*command, server, "-k", "slow"],
        cwd=evals.path,
        stdout=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    wait_for(lambda: len(strangers(evals.path)) == 2)
    process.send_signal(how)
    process.wait()
    wait_for(lambda: not strangers(evals.path))


def strangers(folder):
    """Processes of a server's command that were started from ``folder``."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            words = (place / "cmdline").read_bytes().split(b"\0")
            if os.readlink(place / "cwd") == str(folder) and (b"--port" in words or words[0] == b"sleep"):
                found.append(int(place.name))
        except OSError:
            continue
    return found


def wait_for(condition):
    give_up = time.monotonic() + 300
    while not condition():
        assert time.monotonic() < give_up, "waited in vain"
        time.sleep(0.05)
