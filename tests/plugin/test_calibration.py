"""``audiobench calibrate`` on runs of a model whose answers vary."""

import pytest

MOODY = '''

class Wavering(ToneModel):
    """Answers one tone in ten by the toss of a coin, another one in each process."""

    batching = "opaque"

    def __init__(self, target, options):
        super().__init__(target, options)
        self.batching = "opaque"
        self._coin = np.random.default_rng(int(os.environ["TOSS"]))

    def fingerprint(self):
        return {"wavering": self._target}

    def _answer(self, request, audio):
        is_sure = self._target == "poor" or int(request.sample_id.partition("-")[2]) % 5
        if self._target == "poor" and int(request.sample_id.partition("-")[2]) % 3 == 0:
            return Response.of("E")
        return super()._answer(request, audio) if is_sure or self._coin.random() < 0.5 else Response.of("E")


def pytest_audiobench_register(registration):
    registration.model("tone", ToneModel)
    registration.model("wavering", Wavering)
'''
EVAL = """
from pytest_audiobench import manifest, multiple_choice

def test_tones(evaluate):
    evaluate(manifest("data/tones.jsonl"), multiple_choice())
"""


@pytest.fixture
def wavering(suite, monkeypatch):
    suite.tones(60)
    conftest = suite.path / "conftest.py"
    conftest.write_text(conftest.read_text() + MOODY)
    suite.write(test_made=EVAL)

    def ask(name, model="main", store=None):
        monkeypatch.setenv("TOSS", str(sum(map(ord, name))))
        own = f"--ab-store=stores/{store or name}.sqlite"
        return suite.run(f"--ab-run={name}", own, model=f"m=wavering:{model}")

    suite.ask = ask
    return suite


def test_runs_of_one_model_become_thresholds_that_another_run_of_it_meets(wavering):
    for number in range(4):
        assert wavering.ask(f"main-{number}").ret == 0
    done = wavering.audiobench("calibrate", "main-0", "main-1", "main-2", "main-3", "--out", "audiobench.toml")
    assert done.returncode == 0, done.stderr
    assert "1 line from 4 runs of m" in done.stdout
    assert "written to audiobench.toml" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert wavering.ask("main-4").ret == 0
    poor = wavering.ask("poor", "poor")
    assert poor.ret == 1
    poor.stdout.fnmatch_lines(["*>= 0.*fail*"])


def test_what_became_worse_is_not_calibrated_away(wavering):
    runs = [f"main-{number}" for number in range(3)]
    for name in runs:
        wavering.ask(name)
    assert wavering.audiobench("calibrate", *runs, "--out", "lines.toml").returncode == 0
    before = (wavering.path / "lines.toml").read_text()
    poor = [f"poor-{number}" for number in range(3)]
    for name in poor:
        wavering.ask(name, "poor")
    refused = wavering.audiobench("calibrate", *poor, "--out", "lines.toml")
    assert refused.returncode == 1
    assert "worse since" in refused.stdout
    assert "lines.toml is left unchanged: made/tones became worse" in refused.stderr
    assert (wavering.path / "lines.toml").read_text() == before
    accepted = wavering.audiobench("calibrate", *poor, "--out", "lines.toml", "--accept", "made*")
    assert accepted.returncode == 0
    assert (wavering.path / "lines.toml").read_text() != before


def test_runs_that_repeat_the_answers_of_another_are_no_measurement(wavering):
    for name in ("a", "b", "c"):
        wavering.ask(name, store="one")
    done = wavering.audiobench("calibrate", "a", "b", "c")
    assert done.returncode == 4
    assert "asked nothing in made/tones and repeats the answers of" in done.stderr
    assert "--ab-store=FILE" in done.stderr


def test_runs_of_changed_weights_are_refused(wavering):
    wavering.ask("a")
    wavering.ask("b")
    wavering.ask("c", "poor")
    done = wavering.audiobench("calibrate", "a", "b", "c")
    assert done.returncode == 4
    assert "are of different models" in done.stderr


def test_the_runs_are_made_and_a_second_time_taken_as_they_are(wavering, monkeypatch):
    monkeypatch.setenv("TOSS", "1")
    args = [
        "calibrate",
        "--ask=3",
        "--name=cal",
        "--margins",
        "--",
        "-p",
        "no:cacheprovider",
        "--ab-model=m=wavering:main",
    ]
    done = wavering.audiobench(*args)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [path.parent.name for path in wavering.runs()] == ["cal-1", "cal-2", "cal-3"]
    assert "of 100 runs" in done.stdout
    again = wavering.audiobench(*args)
    assert again.returncode == 0
    assert again.stderr.count("is there and is not asked again") == 3
