"""``--ab-config`` with a run file: models, a suite or tasks, and whatever else the command line could say."""

import json
import os
from pathlib import Path

import pytest

from pytest_audiobench.errors import UsageError
from pytest_audiobench.models.spec import parse_spec
from pytest_audiobench.plugin.run_file import is_run_file, read_run_file

LETTERS = """
from pytest_audiobench import manifest, multiple_choice
import pytest

@pytest.mark.parametrize("half", ["low-tones", "high-tones"])
def test_tones(evaluate, half):
    evaluate(manifest("data/tones.jsonl"), multiple_choice())
"""


@pytest.fixture
def written(tmp_path):
    """Writes a file and gives its path."""

    def write(name, text):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


def read(path):
    return dict(read_run_file(path, {"epochs": "text", "store": "texts", "refresh": "flag"}).options)


def test_the_short_form_and_the_long_form_name_models_a_selection_a_limit_and_a_folder(written):
    short = written("a.yaml", "model: dummy_local_8000\nsuite: birds\nlimit: 50\nout_dir: results/my_run\n")
    assert read(short) == {
        "model": ["dummy_local_8000"],
        "select": ["birds"],
        "limit": "50",
        "reports": "results",
        "run": "my_run",
    }
    long = written(
        "b.toml",
        'models = ["dummy_local_8000", { id = "vllm_local_8000" }]\ntasks = ["birds_one", "birds_two"]\n'
        'judge = "j=http:http://127.0.0.1:8010"\nprompt = "official"\nrun_id = "here"\nepochs = 2\n'
        'store = ["a.sqlite", "b.sqlite"]\nrefresh = true\nthresholds = "rules.toml"\n',
    )
    assert read(long) == {
        "model": ["dummy_local_8000", "vllm_local_8000"],
        "select": ["birds_one", "birds_two"],
        "run": "here",
        "judge": ["j=http:http://127.0.0.1:8010"],
        "prompt": "official",
        "config": "rules.toml",
        "epochs": "2",
        "store": ["a.sqlite", "b.sqlite"],
        "refresh": "yes",
    }


def test_a_server_that_is_described_becomes_a_spec_with_its_note(written):
    file = written(
        "c.yml",
        """
models:
  - inline:
      name: step_2000
      description: served from gs://bucket/step-2000, the "second" one
      predict_url: http://127.0.0.1:8001/predict
      info_url: http://127.0.0.1:8001/info
      health_url: http://127.0.0.1:8001/health
      response_schema: predictions_v1
      audio_payload: base64_wav
      auth: {}
      retry_policy: {max_attempts: 12, backoff_initial: 0.5, backoff_max: 10.0, retry_http_statuses: [429, 408]}
suite: birds
data_source: esp_data
""",
    )
    (spec,) = map(parse_spec, read(file)["model"])
    assert (spec.alias, spec.kind, spec.target) == ("step_2000", "http", "http://127.0.0.1:8001")
    assert spec.options == {
        "payload": "base64_wav",
        "retry_s": "75.5",
        "note": 'served from gs://bucket/step-2000, the "second" one',
    }
    (note,) = read_run_file(file, {}).notes
    assert note.startswith("c.yml: data_source = esp_data (its store is not public) names no data here")


@pytest.mark.parametrize(
    ("folder", "run", "options"),
    [
        ("results/x", "x", {"reports": "results", "run": "x"}),
        ("results/x", "y", {"reports": "results/x", "run": "y"}),
        ("x", None, {"reports": ".", "run": "x"}),
        (None, "y", {"run": "y"}),
    ],
)
def test_an_output_folder_is_the_runs_own_unless_the_run_is_called_otherwise(written, folder, run, options):
    lines = [f'output_dir = "{folder}"'] * bool(folder) + [f'run_id = "{run}"'] * bool(run)
    file = written("d.toml", "\n".join(['model = "baseline:chance"', 'suite = "s"', *lines]))
    assert read(file) == {"model": ["baseline:chance"], "select": ["s"], **options}


def test_all_mistakes_are_said_at_once_each_with_the_file_and_the_key(written):
    file = written(
        "bad.toml",
        'modles = ["a"]\nsuite = "s"\ntasks = ["t"]\nlimt = 3\nlimit = 0\nepochs = [1]\n'
        'data_source = "gcs"\njudge = 3\n',
    )
    with pytest.raises(UsageError) as refused:
        read(file)
    assert str(refused.value).splitlines() == [
        "bad.toml has the unknown key 'modles'; did you mean 'models' or 'model'?",
        "bad.toml has the unknown key 'limt'; did you mean 'limit'?",
        "bad.toml has both suite and tasks; keep one",
        "bad.toml: limit must be a whole number from 1 up, not 0",
        "bad.toml: judge must be a text, not 3",
        "bad.toml: data_source is 'gcs'; it may be hf, huggingface, esp_data",
        "bad.toml: epochs must be a text, not [1]",
    ]


def test_a_key_that_is_an_option_too_is_named_once(written):
    file = written("bad.toml", 'model = "baseline:chance"\nsuite = "s"\nlimt = 3\n')
    with pytest.raises(UsageError, match=r"the unknown key 'limt'; did you mean 'limit'\?$"):
        read_run_file(file, {"limit": "text", "model": "texts"})


@pytest.mark.parametrize(
    ("inline", "said"),
    [
        ("predict_ulr: http://a/predict", "has the unknown key 'predict_ulr'; did you mean 'predict_url'?"),
        ("name: x", "has no predict_url: write where the server is"),
        (
            "predict_url: http://a:1/other",
            "predict_url is 'http://a:1/other'; one of predictions_v1 ends with /predict",
        ),
        (
            "predict_url: http://a:1/predict\n      info_url: http://b:1/info",
            "predict_url, info_url name different servers; predictions_v1 has all of them on one",
        ),
        ("predict_url: http://a:1/predict\n      auth: {token: x}", "auth is not used"),
        ("predict_url: http://a:1/predict\n      audio_payload: flac", "audio_payload is 'flac'; it may be base64_wav"),
        ("predict_url: http://a:1/predict\n      response_schema: v2", "response_schema is 'v2'"),
        (
            "predict_url: http://a:1/predict\n      retry_policy: {retry_on_5xx: false}",
            "retry_policy: retry_on_5xx is False, and a client here always has True; leave it out",
        ),
        (
            "predict_url: http://a:1/predict\n      retry_policy: {max_attempt: 3}",
            "retry_policy has the unknown key 'max_attempt'; did you mean 'max_attempts'?",
        ),
        (
            "predict_url: http://a:1/predict\n      retry_policy: {max_attempts: many}",
            "retry_policy: max_attempts is 'many', not a number from 0 to 1000",
        ),
    ],
)
def test_what_is_wrong_with_a_server_is_said_by_its_place(written, inline, said):
    file = written("e.yaml", f"models:\n  - inline:\n      {inline}\nsuite: s\n")
    with pytest.raises(UsageError) as refused:
        read(file)
    assert "e.yaml, models[0].inline" in str(refused.value)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("model: a:b\n", "has neither suite nor tasks; write one"),
        ("suite: s\n", "has neither model nor models; write one"),
        ("model: a:b\nmodels: [c:d]\nsuite: s\n", "has both model and models; keep one"),
        ("models: []\nsuite: s\n", "models must be a list of models, not []"),
        ("models: [{id: a:b, inline: {}}]\nsuite: s\n", "must be a spec, a preset's name, or a table of either"),
        ("model: dumy_local_8000\nsuite: s\n", "did you mean 'dummy_local_8000'?"),
        ("models: [x=a:b, x=c:d]\nsuite: s\n", "two models are named 'x'"),
        ("- a\n", "holds no table"),
        ("model: &a a:b\nsuite: *a\n", "refers to an anchor"),
        ("model: a:b\nmodel: c:d\nsuite: s\n", "the key 'model' is given twice"),
        ("model: !!python/object/apply:os.getcwd []\nsuite: s\n", "could not determine a constructor"),
        ("model: a:b\ntasks: []\n", "tasks names none"),
    ],
)
def test_a_file_that_asks_for_nothing_certain_is_refused(written, text, said):
    with pytest.raises(UsageError, match=r"f\.yaml") as refused:
        read(written("f.yaml", text))
    assert said in str(refused.value)


def test_every_run_config_of_beans_next_is_read():
    if not (peer := os.environ.get("AUDIOBENCH_BEANS_NEXT")):
        pytest.skip("AUDIOBENCH_BEANS_NEXT names no checkout of BEANS-Next")
    files = sorted(Path(peer).glob("configs/benchmarks/*.yaml"))
    assert files
    for file in files:
        options = read_run_file(file, {}).options
        (spec,) = map(parse_spec, options["model"])
        assert (spec.kind, spec.options["payload"]) == ("http", "base64_wav")
        assert options["select"][0] in file.read_text()


def test_thresholds_are_told_from_a_run_file_by_their_keys(written):
    assert not is_run_file(written("audiobench.toml", '[[threshold]]\neval = "*"\nrequire = ["accuracy >= 0.5"]\n'))
    assert not is_run_file(written("typo.toml", "[[treshold]]\n"))
    assert not is_run_file(written("broken.toml", "model = "))
    assert not is_run_file(written("pyproject.toml", 'model = "a:b"\n'))
    assert is_run_file(written("run.toml", 'model = "a:b"\n'))
    assert is_run_file(written("typo2.toml", 'modles = ["a:b"]\n'))
    assert is_run_file(written("run.yml", ""))


@pytest.fixture
def halves(tones):
    """Two evals over the same tones, and another that no task of them names."""
    tones.write(test_halves=LETTERS)
    return tones


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "workers"])
def test_a_run_file_is_the_options_of_its_run(halves, workers):
    (halves.path / "mine.toml").write_text(
        'models = ["one=tone:one,note=\\"step 2000, the long one\\""]\ntasks = ["halves_tones_low_tones"]\nlimit = 7\n'
        'output_dir = "results/mine"\n'
    )
    result = halves.run(*workers, "--ab-config=mine.toml", model="")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        ["run file mine.toml: model one=tone:one,*; select halves_tones_low_tones; limit 7; reports results; run mine"]
    )
    result.stdout.fnmatch_lines(["note on one: step 2000, the long one"])
    record = json.loads((halves.path / "results" / "mine" / "run.json").read_text())
    assert [(item["eval"], item["model"]) for item in record["items"]] == [("halves/tones[low-tones]", "one")]
    assert (record["limit"], record["models"][0]["note"]) == (7, "step 2000, the long one")
    assert "note" not in json.dumps(record["models"][0]["fingerprint"])
    assert "step 2000, the long one" in (halves.path / "results" / "mine" / "report.html").read_text()


def test_the_command_line_goes_before_the_run_file_and_the_summary_says_so(halves, monkeypatch):
    monkeypatch.setenv("AUDIOBENCH_EPOCHS", "3")
    (halves.path / "mine.yaml").write_text(
        "model: tone:one\ntasks: ['halves_tones_low_tones']\nlimit: 7\nepochs: 1\nrun: ours\n"
    )
    result = halves.run("--ab-config=mine.yaml", "--ab-limit=5", model="x=tone:one")
    result.assert_outcomes(passed=1)
    record, _ = halves.last()
    assert (record["limit"], record["epochs"], [model["alias"] for model in record["models"]]) == (5, 1, ["x"])
    said = "--ab-limit=5 of the command line goes before mine.yaml, which says 7"
    assert said in record["notes"]
    assert said in result.stdout.str()
    assert "--ab-model=x=tone:one of the command line goes before mine.yaml, which says tone:one" in record["notes"]


@pytest.mark.parametrize("ini", [True, False])
def test_the_environment_and_the_ini_file_name_a_run_file_too_and_its_thresholds_are_in_force(halves, monkeypatch, ini):
    (halves.path / "rules.toml").write_text('[[threshold]]\neval = "halves*"\nrequire = ["accuracy >= 0.99"]\n')
    (halves.path / "mine.toml").write_text(
        'model = "tone:one,deaf=yes"\nsuite = "halves"\nthresholds = "rules.toml"\nreports = "elsewhere"\n'
    )
    if ini:
        (halves.path / "pytest.ini").write_text("[pytest]\nab_config = mine.toml\n")
    else:
        monkeypatch.setenv("AUDIOBENCH_CONFIG", "mine.toml")
    halves.run(model="").assert_outcomes(failed=2)
    assert list((halves.path / "elsewhere").glob("*/run.json"))
    (halves.path / "mine.toml").write_text('model = "tone:one,deaf=yes"\nsuite = "halves"\n')
    halves.run(model="").assert_outcomes(passed=2)


def test_an_answer_asked_with_a_note_is_known_without(halves):
    assert halves.run("-k", "low", model='tone:one,note="first"').ret == 0
    halves.run("-k", "low", model="tone:one").stdout.fnmatch_lines(["answers: 0 asked now, 40 from the store*"])


def test_a_suite_is_all_its_evals_and_a_task_is_one(halves):
    halves.run("--ab-select=halves").assert_outcomes(passed=2)
    halves.run("--ab-select=halves_tones_low_tones", "--ab-select=tones").assert_outcomes(passed=2)
    halves.run("--ab-select=halves/tones[high-tones]").assert_outcomes(passed=1)
    halves.run("--ab-select=halves", "-k", "low").assert_outcomes(passed=1)


def test_a_study_that_is_selected_by_its_name_is_asked_for(halves):
    halves.write(test_grid=LETTERS.replace("@pytest.mark.par", "@pytest.mark.study\n@pytest.mark.par"))
    halves.run().assert_outcomes(passed=3, deselected=2)
    halves.run("--ab-select=grid").assert_outcomes(passed=2, deselected=3)


@pytest.mark.parametrize("form", ["toml", "yaml"])
def test_the_checkpoint_template_asks_the_core_suite_of_a_server_with_a_note(form):
    template = Path(__file__).parents[2] / "examples" / "runs" / f"beans_zero_core_naturelm_v1_1_checkpoint.{form}"
    options = read(template)
    (spec,) = map(parse_spec, options["model"])
    assert options["select"] == ["beans_zero_core"]
    assert (spec.alias, spec.target) == ("naturelm_v1_1_my_checkpoint", "http://127.0.0.1:8001")
    assert spec.options["note"] == "NatureLM-audio 1.1 served from gs://BUCKET/CHECKPOINT"


def test_a_suite_or_task_that_is_not_there_is_a_usage_error_with_near_names(halves):
    (halves.path / "mine.yaml").write_text("model: tone:one\ntasks: [halves_tones_low_tone, xyz]\n")
    result = halves.run("--ab-config=mine.yaml", model="")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        [
            "*no suite and no eval is called 'halves_tones_low_tone'; did you mean 'halves_tones_low_tones', *",
            "*no suite and no eval is called 'xyz'; there are *",
        ]
    )


def test_a_mistake_in_a_run_file_ends_the_run_before_anything_is_collected(halves):
    (halves.path / "mine.toml").write_text('model = "tone:one"\nsuite = "halves"\nlimit = "many"\n')
    result = halves.run("--ab-config=mine.toml", model="")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: mine.toml: limit must be a whole number from 1 up, not 'many'"])
    assert not halves.runs()


def test_a_run_file_without_paths_finds_the_folders_of_the_whole_benchmark(halves):
    (halves.path / "evals").mkdir()
    (halves.path / "evals" / "test_own.py").write_text(LETTERS.replace("data/", "../data/"))
    (halves.path / "pytest.ini").write_text("[pytest]\ntestpaths = tests\n")
    (halves.path / "tests").mkdir()
    (halves.path / "mine.toml").write_text('model = "tone:one"\nsuite = "own"\n')
    halves.run("--ab-config=mine.toml", model="").assert_outcomes(passed=2)
