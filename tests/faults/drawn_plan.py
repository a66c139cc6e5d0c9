"""A whole run drawn from a seed: a small suite, the options of its command, hooks of a conftest, and what goes wrong.

A plan is data. ``suite_files`` writes it down as a suite; ``oracle`` says of it what its exit code must be.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace

SAMPLES = 20
DEAF = 0.25
"""The accuracy of a model that always answers A."""


@dataclass(frozen=True)
class Call:
    """A call of ``evaluate``: by which name, of which data, and by what its exceptions are swallowed."""

    name: str
    data: str
    """present, or absent: a set of the catalogue that is not on this machine."""
    swallowed_by: str = ""


@dataclass(frozen=True)
class Eval:
    """A test of the suite, with its calls of ``evaluate``."""

    word: str
    file: int
    form: str
    """function, class, case (of unittest) or declared (a file)."""
    calls: tuple[Call, ...]
    cases: int = 1
    requires: bool = False
    mark: str = ""
    ending: str = ""
    """What the body does after its calls."""

    @property
    def path(self) -> str:
        return f"{self.word}.audiobench.toml" if self.form == "declared" else f"test_f{self.file}.py"

    @property
    def nodeid(self) -> str:
        inner = f"TestT{self.word}::test_{self.word}" if self.form in ("class", "case") else f"test_{self.word}"
        return f"{self.path}::{inner}"

    def key(self, case: int, call: Call) -> str:
        """The stem of the manifest that a call reads; its samples' ids begin with it."""
        return f"{self.word}x{case}{call.name}"


@dataclass(frozen=True)
class Plan:
    """A run, and the run of the baseline before it if there is one."""

    seed: int
    evals: tuple[Eval, ...]
    rules: str = ""
    """The pattern of the threshold file's rule; empty where there is no file."""
    named_config: bool = False
    baseline: bool = False
    same_store: bool = False
    """Whether the answers of the baseline's run are known to the run."""
    workers: int = 0
    habits: tuple[str, ...] = ()
    """Options that change nothing about what must hold."""
    choice: tuple[str, str] = ("", "")
    """What is selected: by path, node, word, deselect or lf; and which word."""
    max_errors: int = 0
    limit: int = 0
    hook: str = ""
    target: str = ""
    """The word of the eval that the hook is about."""
    deaf: tuple[str, ...] = ()
    error: str = ""
    """The key whose first sample the model fails about; the next three alike."""
    dies: tuple[str, str] = ("", "")
    damage: tuple[str, str] = ("", "")
    """What happens to a file before the run: manifest gone, audio gone, audio cut, store edited, store garbage."""
    before: tuple[Eval, ...] = field(default=())
    """The evals at the time of the baseline."""
    server_gone: bool = False
    repeated: bool = False

    def chosen(self) -> list[Eval]:
        """The evals that the command line selects."""
        how, word = self.choice
        return [each for each in self.evals if self._is_chosen(each, how, word)]

    def _is_chosen(self, each: Eval, how: str, word: str) -> bool:
        target = next((other for other in (*self.before, *self.evals) if other.word == word), None)
        asked = {
            "path": target is not None and each.path == target.path,
            "node": each.word == word,
            "word": each.word == word,
            "deselect": each.word != word,
        }.get(how, True)
        return asked and (each.mark != "study" or how in ("path", "node", "word"))


HOOKS = (
    "swallows calls",
    "reports passed",
    "reports skipped",
    "removes item",
    "removes item late",
    "skips protocol",
    "skips function",
    "skips body",
    "raises in setup",
    "raises in teardown",
    "raises in makereport",
    "raises in logreport",
    "raises in sessionfinish",
    "raises in collection",
    "raises in update_run",
    "reruns",
    "shuffles",
    "deselects",
    "skips in setup",
    "clears properties",
)
FAULTS = (
    "deaf",
    "deaf",
    "deaf",
    "error",
    "dies",
    "manifest gone",
    "audio gone",
    "audio cut",
    "store edited",
    "store garbage",
    "server gone",
    "renamed",
    "removed",
    "skipped",
    "absent",
    "ending",
    "ending",
)
ENDINGS = ("assert", "SystemExit", "KeyboardInterrupt", "pytest.exit", "skip", "xfail", "fail")


def plan(seed: int) -> Plan:
    """The plan that ``seed`` draws."""
    drawn = random.Random(f"whole run {seed}")
    evals = tuple(_eval(drawn, number) for number in range(drawn.randint(1, 4)))
    result = Plan(seed, evals, before=evals)
    if drawn.random() < 0.55:
        result = replace(
            result, rules=drawn.choice(["*", "*", *(f"f{each.file}*" for each in evals if each.form != "declared")])
        )
        result = replace(result, named_config=drawn.random() < 0.3)
    if drawn.random() < 0.45:
        result = replace(result, baseline=True, same_store=drawn.random() < 0.5)
    if drawn.random() < 0.15:
        result = replace(result, workers=2)
    result = replace(result, habits=_habits(drawn, result.workers))
    if drawn.random() < 0.45:
        ways = ["path", "node", "word", "deselect", "lf"]
        result = replace(result, choice=(drawn.choice(ways), drawn.choice(evals).word))
    if drawn.random() < 0.15:
        result = replace(result, max_errors=1)
    if drawn.random() < 0.1:
        result = replace(result, limit=8)
    if drawn.random() < 0.5:
        result = replace(result, hook=drawn.choice(HOOKS), target=drawn.choice(evals).word)
    for _ in range(drawn.choice([0, 1, 1, 1, 2, 2])):
        result = _faulty(result, drawn, drawn.choice(FAULTS))
    return replace(result, repeated=drawn.random() < 0.3)


def _eval(drawn: random.Random, number: int) -> Eval:
    form = drawn.choice(["function", "function", "function", "class", "case", "declared"])
    word = f"e{number}q"
    if form == "declared":
        return Eval(word, 9, form, (Call("", "present"),), requires=drawn.random() < 0.4)
    names = drawn.choice([("",), ("",), ("a", "b"), ("a", "b", "c")])
    calls = tuple(_call(drawn, name, form) for name in names)
    return Eval(
        word,
        drawn.randrange(2),
        form,
        calls,
        cases=drawn.choice([1, 1, 2]) if form == "function" else 1,
        requires=drawn.random() < 0.3,
        mark=drawn.choices(["", "skip", "xfail", "study"], [10, 1, 1, 1])[0],
        ending=drawn.choices(["", "skip"], [10, 1])[0],
    )


def _call(drawn: random.Random, name: str, form: str) -> Call:
    swallowed_by = drawn.choices(["", "except", "subtests"], [6, 2, 1])[0]
    if form == "case" and swallowed_by == "subtests":
        swallowed_by = "except"
    return Call(name, drawn.choices(["present", "absent"], [9, 1])[0], swallowed_by)


def _habits(drawn: random.Random, workers: int) -> tuple[str, ...]:
    options = ["-x", "--maxfail=2", "-q", "-v", "--tb=short", "--tb=no", "--junitxml=junit.xml", "-s", "--ff", "-rA"]
    options += [
        "--random-order",
        "--durations=3",
        "-W error",
        "--capture=sys",
        "--no-summary",
        "--ab-inconclusive=fail",
    ]
    if workers:
        options += ["--dist=loadfile", "--dist=worksteal", "--dist=loadscope", "--max-worker-restart=0"]
    return tuple(drawn.sample(options, drawn.choice([0, 0, 1, 1, 2, 3])))


def _faulty(result: Plan, drawn: random.Random, fault: str) -> Plan:
    target = drawn.choice(result.evals or result.before)
    key = target.key(drawn.randrange(target.cases), drawn.choice(target.calls))
    changed: Eval | None = target
    match fault:
        case "deaf":
            return replace(result, deaf=(*result.deaf, key))
        case "error":
            return replace(result, error=key)
        case "dies":
            return replace(result, dies=(key, drawn.choice(["exit", "kill", *["exit 0"] * bool(result.workers)])))
        case "manifest gone" | "audio gone" | "audio cut" | "store edited" | "store garbage":
            return replace(result, damage=(fault, key))
        case "server gone":
            return replace(result, server_gone=True)
        case "renamed":
            changed = replace(target, word=f"{target.word[:-1]}new")
        case "removed":
            changed = None
        case "skipped" if target.form != "declared":
            changed = replace(target, mark="skip")
        case "absent" if target.form != "declared":
            changed = replace(target, calls=(*target.calls[:-1], replace(target.calls[-1], data="absent")))
        case "ending" if target.form != "declared":
            changed = replace(target, ending=drawn.choice(ENDINGS))
    evals = [changed if each is target else each for each in result.evals]
    return replace(result, evals=tuple(each for each in evals if each is not None))
