"""A drawn plan as files: tests, manifests, a conftest.py with a model that breaks as planned, and the commands."""

from __future__ import annotations

import functools
import importlib.util
import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from types import ModuleType

from .drawn_plan import SAMPLES, Eval, Plan

LAB = Path(__file__).parents[1] / "plugin" / "lab.py"

_MODEL = '''

class FaultyModel(ToneModel):
    """Hears tones, and breaks as faults.json beside this file says."""

    def _faults(self):
        return json.loads(Path(__file__).with_name("faults.json").read_text())

    def fingerprint(self):
        return {**super().fingerprint(), "deaf_for": self._faults()["deaf"]}

    def _answer(self, request, audio):
        faults, key = self._faults(), request.sample_id.partition("-")[0]
        if request.sample_id == faults["dies"] + "-7":
            {"exit": lambda: os._exit(3), "exit 0": lambda: os._exit(0),
             "kill": lambda: os.kill(os.getpid(), signal.SIGKILL)}[faults["how"]]()
        if request.sample_id in [f"{faults['error']}-{number}" for number in range(4)]:
            return Response(error="no answer to this one")
        if key in faults["deaf"]:
            self._log(request.sample_id)
            return Response.of("A")
        return super()._answer(request, audio)


def pytest_audiobench_register(registration):
    registration.model("tone", FaultyModel)
'''

_HOOKS = {
    "swallows calls": """
@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item):
    try:
        return (yield)
    except BaseException:
        return None
""",
    "reports passed": """
@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if report.failed:
        report.outcome, report.longrepr = "passed", None
    return report
""",
    "reports skipped": """
@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if report.failed and report.when == "call":
        report.outcome, report.longrepr = "skipped", ("conftest.py", 1, "Skipped: flaky")
    return report
""",
    "removes item": """
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    items[:] = [item for item in items if not hit(item)]
""",
    "removes item late": """
@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session):
    session.items[:] = [item for item in session.items if not hit(item)]
""",
    "deselects": """
def pytest_collection_modifyitems(config, items):
    config.hook.pytest_deselected(items=[item for item in items if hit(item)])
    items[:] = [item for item in items if not hit(item)]
""",
    "skips protocol": """
@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item):
    return True if hit(item) else None
""",
    "skips function": """
@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    return True if hit(pyfuncitem) else None
""",
    "skips body": """
def pytest_collection_modifyitems(items):
    for item in items:
        if hit(item):
            item.runtest = lambda: None
""",
    "raises in setup": """
def pytest_runtest_setup(item):
    if hit(item):
        raise ValueError("a plugin's own mistake")
""",
    "skips in setup": """
def pytest_runtest_setup(item):
    if hit(item):
        pytest.skip("quarantined")
""",
    "raises in teardown": """
def pytest_runtest_teardown(item):
    if hit(item):
        raise ValueError("a plugin's own mistake")
""",
    "raises in makereport": """
@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if hit(item):
        raise ValueError("a plugin's own mistake")
    return report
""",
    "raises in logreport": """
def pytest_runtest_logreport(report):
    raise ValueError("a plugin's own mistake")
""",
    "raises in sessionfinish": """
def pytest_sessionfinish():
    raise ValueError("a plugin's own mistake")
""",
    "raises in collection": """
def pytest_collection_modifyitems():
    raise ValueError("a plugin's own mistake")
""",
    "raises in update_run": """
def pytest_audiobench_update_run(run):
    raise ValueError("a plugin's own mistake")
""",
    "clears properties": """
@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(item, call):
    report = yield
    report.user_properties = []
    return report
""",
    "reruns": """
@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    from _pytest.runner import runtestprotocol
    for last in (False, False, True):
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
        failed = any(report.failed for report in reports)
        for report in reports:
            if report.failed and not last:
                report.outcome = "rerun"
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        if not failed:
            break
        item._initrequest() if hasattr(item, "_initrequest") else None
    return True
""",
    "shuffles": """
def pytest_collection_modifyitems(items):
    import random
    random.Random(5).shuffle(items)
""",
}

_ENDINGS = {
    "": "pass",
    "assert": "assert 1 == 2",
    "fail": "pytest.fail('by itself')",
    "SystemExit": "raise SystemExit(0)",
    "KeyboardInterrupt": "raise KeyboardInterrupt",
    "pytest.exit": "pytest.exit('enough', returncode=0)",
    "skip": "pytest.skip('never mind')",
    "xfail": "pytest.xfail('known')",
}


@functools.cache
def lab() -> ModuleType:
    spec = importlib.util.spec_from_file_location("lab", LAB)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def write_before(plan: Plan, folder: Path) -> None:
    """The suite at the time of the baseline: nothing is broken yet, and no hook is there."""
    (folder / "pytest.ini").write_text("[pytest]\n")
    lab().make_tones(folder / "data", SAMPLES)
    lines = [json.loads(line) for line in (folder / "data" / "tones.jsonl").read_text().splitlines()]
    for each in {*plan.before, *plan.evals}:
        for case in range(each.cases):
            for call in each.calls:
                key = each.key(case, call)
                shutil.copy(folder / "data" / "tone7.wav", folder / "data" / f"{key}.wav")
                rows = [
                    {**line, "id": line["id"].replace("tone", key), "question": f"What is heard in {key}?"}
                    | ({"audio": f"{key}.wav"} if number == 7 else {})
                    for number, line in enumerate(lines)
                ]
                (folder / "data" / f"{key}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "conftest.py").write_text(LAB.read_text() + _MODEL)
    (folder / "faults.json").write_text(json.dumps({"deaf": [], "error": "", "dies": "", "how": ""}))
    _write_evals(plan.before, folder)


def write_after(plan: Plan, folder: Path) -> None:
    """The suite as the run meets it, with what is broken."""
    for path in [*folder.glob("test_*.py"), *folder.glob("*.audiobench.toml")]:
        path.unlink()
    _write_evals(plan.evals, folder)
    hit = f"\n\nimport pytest\n\ndef hit(item):\n    return {plan.target!r} in item.nodeid\n"
    (folder / "conftest.py").write_text(LAB.read_text() + _MODEL + hit + _HOOKS.get(plan.hook, ""))
    faults = {"deaf": sorted(set(plan.deaf)), "error": plan.error, "dies": plan.dies[0], "how": plan.dies[1]}
    (folder / "faults.json").write_text(json.dumps(faults))
    if plan.rules:
        name = "rules.toml" if plan.named_config else "audiobench.toml"
        rule = f'[[threshold]]\neval = "{plan.rules}"\nrequire = ["accuracy >= 0.9"]\n'
        (folder / name).write_text(rule)
    damage, key = plan.damage
    if damage == "manifest gone":
        (folder / "data" / f"{key}.jsonl").unlink()
    elif damage == "audio gone":
        (folder / "data" / f"{key}.wav").unlink()
    elif damage == "audio cut":
        wave = folder / "data" / f"{key}.wav"
        wave.write_bytes(wave.read_bytes()[:20])
    elif damage == "store edited" and (folder / _store(plan)).exists():
        with closing(sqlite3.connect(folder / _store(plan), isolation_level=None)) as connection:
            connection.execute("""UPDATE answer SET outputs = replace(outputs, '"A"', '"B"')""")
    elif damage == "store garbage":
        (folder / _store(plan)).parent.mkdir(exist_ok=True)
        (folder / _store(plan)).write_bytes(b"no store at all" * 1000)


def before_command(plan: Plan) -> list[str]:
    """The arguments of the baseline's run."""
    cache = [] if plan.choice[0] == "lf" else _COMMON
    return [*cache, *_QUICK, "--ab-model=tone:one,log=log", "--ab-run=main", "--ab-store=before/store.sqlite"]


def command(plan: Plan) -> list[str]:
    """The arguments of the run itself."""
    gone = "one=openai:m,base_url=http://127.0.0.1:9/v1,patience_s=0"
    how, word = plan.choice
    target = next((each for each in (*plan.before, *plan.evals) if each.word == word), None)
    choice = {
        "path": [target.path] if target else [],
        "node": [target.nodeid] if target else [],
        "word": ["-k", word],
        "deselect": [f"--deselect={target.nodeid}"] if target else [],
        "lf": ["--lf"],
    }.get(how, [])
    return [
        *([] if how == "lf" or "--ff" in plan.habits else _COMMON),
        *_QUICK,
        f"--ab-model={gone if plan.server_gone else 'tone:one,log=log'}",
        f"--ab-store={_store(plan)}",
        *(["--ab-baseline=main"] if plan.baseline else []),
        *([f"-n{plan.workers}"] if plan.workers else []),
        *([f"--ab-max-errors={plan.max_errors}"] if plan.max_errors else []),
        *([f"--ab-limit={plan.limit}"] if plan.limit else []),
        *(["--ab-config=rules.toml"] if plan.rules and plan.named_config else []),
        *(part for habit in plan.habits for part in habit.split()),
        *choice,
    ]


_COMMON = ("-p", "no:cacheprovider")
_QUICK = ("-p", "no:hypothesispytest", "-p", "no:anyio")


def _store(plan: Plan) -> str:
    return "before/store.sqlite" if plan.same_store else "after/store.sqlite"


def _write_evals(evals: tuple[Eval, ...], folder: Path) -> None:
    files: dict[str, list[str]] = {}
    for each in evals:
        if each.form == "declared":
            require = 'require = ["accuracy >= 0.9"]\n' if each.requires else ""
            key = each.key(0, each.calls[0])
            (folder / each.path).write_text(f'manifest = "data/{key}.jsonl"\nprotocol = "multiple_choice"\n{require}')
        else:
            files.setdefault(each.path, []).append(_source(each))
    head = "import pytest\nimport unittest\nfrom pytest_audiobench import dataset, manifest, multiple_choice\n\n"
    for path, sources in files.items():
        (folder / path).write_text(head + "\n".join(sources))


def _source(each: Eval) -> str:
    marks = [f"@pytest.mark.{each.mark}"] if each.mark else []
    if each.cases > 1:
        marks.append(f"@pytest.mark.parametrize('case', range({each.cases}))")
    is_case = each.form == "case"
    evaluate = "self.evaluate" if is_case else "evaluate"
    fixtures = [
        *(["self"] if each.form in ("case", "class") else []),
        *([] if is_case else ["evaluate"]),
        *(["case"] if each.cases > 1 else []),
        *(["subtests"] if any(call.swallowed_by == "subtests" for call in each.calls) else []),
    ]
    body = ["case = 0"] if each.cases == 1 else []
    body += [f"{evaluate}.require('accuracy >= 0.9')"] if each.requires else []
    for call in each.calls:
        stem = each.key(0, call).replace("x0", "x{case}")
        data = 'dataset("mmar")' if call.data == "absent" else f'manifest(f"data/{stem}.jsonl")'
        line = f"{evaluate}({data}, multiple_choice(){f', name={call.name!r}' if call.name else ''})"
        body += {
            "": [line],
            "except": ["try:", f"    {line}", "except BaseException:", "    pass"],
            "subtests": ["with subtests.test():", f"    {line}"],
        }[call.swallowed_by]
    body.append(_ENDINGS[each.ending])
    lines = [*marks, f"def test_{each.word}({', '.join(fixtures)}):", *(f"    {line}" for line in body)]
    if each.form in ("class", "case"):
        setup = ["@pytest.fixture(autouse=True)", "def _evaluate(self, evaluate):", "    self.evaluate = evaluate"]
        lines = [*(setup if is_case else []), *lines]
        base = "(unittest.TestCase)" if is_case else ""
        lines = [f"class TestT{each.word}{base}:", *(f"    {line}" for line in lines)]
    return "\n".join(lines) + "\n"
