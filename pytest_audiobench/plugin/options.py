"""The ``--ab-…`` options, each with its ini key and environment variable."""

from __future__ import annotations

import difflib
import math
import os
import re
from pathlib import Path
from typing import NamedTuple

import pytest

from pytest_audiobench.plugin.eval_items import marked

QUICK, QUICK_SAMPLES = "quick", 50
"""The marker of evals that are worth asking in part, and of how many samples."""
EARLY_STOP = "early-stop"
UPDATE, BASELINE_FILE = "update-baseline", "baselines/main.json"
DEFAULT_MODEL = "baseline:listener"
ASKING = (
    "--ab-baseline",
    "--ab-gate",
    "--ab-corrections",
    "--ab-require",
    "--ab-scorer",
    "--ab-config",
    "--ab-select",
    "--ab-human-labels",
)
"""The options that ask for something of evals, which a run without any has not done."""
INCONCLUSIVE = ("pass", "warn", "fail")
WITHIN_NOISE = ("inconclusive", "regressed")
REPORT_AUDIO = ("none", "flips", "all")
_EVALS = Path(__file__).parents[1] / "evals"
"""Where a wheel has the benchmarks that are bundled."""
_DIGITS = 18
_SPECS = ("model", "judge")
_SPEC_IN_LIST = re.compile(r"""(?:[^;=]|="(?:[^"]|"")*"|='(?:[^']|'')*'|=)+""")
"""One of several specs between semicolons, which a value in quotes may hold too."""

_LISTS = {
    "model": (
        "[ALIAS=]KIND:TARGET[,KEY=VALUE…]",
        f"the model to evaluate, or several by repeating (default {DEFAULT_MODEL}); what belongs to one model is a key "
        'of it, such as style=qwen, base_url=URL, serve="COMMAND" (docs/models.md)',
    ),
    "judge": (
        "[ALIAS=]KIND:TARGET[,KEY=VALUE…]",
        "a model that judges answers, for protocols that use a judge, or several by repeating",
    ),
    "data": ("[NAME=]FOLDER", "a folder that holds data sets by name, or one data set's own folder; repeatable"),
    "mix": (
        "[PACK:]LABEL[@DB]+LABEL[@DB]…|FILE",
        "a mixture of a pack's sounds for the perturbation custom of sound identification, or a file of recipes; "
        "repeatable",
    ),
    "require": (
        "all|NAME",
        "fail where a data set, benchmark or suite is selected and not measured since its data is not on this machine; "
        "all: any, with --ab-baseline any eval of the baseline; repeatable",
    ),
    "select": (
        "SUITE|TASK",
        "evaluate the evals of this suite, or of this task, alone, by the names that benchmarks declare; repeatable",
    ),
    "corrections": (
        "EVAL=FILE",
        "score this eval with its published references, and again as EVAL:corrected with those of this CSV or "
        "JSONL file (id, reason, reference; without a reference a sample is left out); repeatable (docs/audit.md)",
    ),
    "scorer": ("NAME", "score the answers by this scorer, by several (the first gives the headline metric), or by all"),
    "export": (
        "KIND:PLACE[,KEY=VALUE…]",
        "when the run is over, write its numbers to wandb:PROJECT, mlflow:URI, tensorboard:FOLDER or model-card:FILE; "
        "repeatable (docs/exporting.md)",
    ),
    "devices": (
        "DEVICE[,DEVICE…]",
        "load an in-process model once on each of these (0, cuda:1, cpu), which share every eval's batches, and which "
        "the workers of -n share (default with -n: every visible GPU; without one, each worker loads its own)",
    ),
    "store": ("FILE", "where answers are stored (default .audiobench/store.sqlite); further ones are only read"),
}
_VALUES = {
    "data-root": (
        "FOLDER",
        "where audiobench fetch puts data, searched last (default: the first folder of AUDIOBENCH_DATA, else in the "
        "user's cache)",
    ),
    "limit": ("N", "evaluate the first N samples in hash order, and the rest of a window where batches are planned"),
    "epochs": ("N", "ask everything N times; report mean, spread and agreement (default 1)"),
    "max-errors": ("N", "how many samples of an eval may fail to be asked before it is not comparable (default 0)"),
    "prompt": ("NAME", "ask in the published prompt that the selected benchmarks' files declare by this name"),
    "prompts": (
        "SET[:N|:draw[=SEED]][,SET…]",
        "ask every eval in all wordings of the first of these sets that fits it, by name or file: in the first N, or "
        "in one drawn for each sample (docs/wordings.md)",
    ),
    "perturbations": (
        "NAME[,NAME…]",
        "ask every eval unchanged and under each of these too: order, no-options, fragments, windows, controls, or "
        "names of the catalogue (docs/suites/curves.md)",
    ),
    "encoder": (
        "static|minilm|folder:PATH",
        "the text encoder of every eval that compares meanings by one (docs/scoring-again.md)",
    ),
    "human-labels": (
        "FILE[,chosen=random|separate][,scale=LOW-HIGH]",
        "human labels of some of the answers that judges score: agreement is measured, and the judges' scores are "
        "corrected by it (docs/human-labels.md)",
    ),
    "human-kappa": (
        "BOUND",
        "with --ab-human-labels: fail where a judge's kappa with people is below this, as 0.6",
    ),
    "scenes": ("N", "how many soundscapes each eval of them takes (default 40)"),
    "pools": ("FOLDER", "what soundscapes are put together from: speech, sounds, music (default: the bundled pools)"),
    "max-cost": ("USD", "the most that this run may spend on models whose prices are known"),
    "max-requests": ("N", "the most requests that this run may send to remote servers"),
    "baseline": (
        "FILE|RUN|last|REF:PATH",
        "compare every eval with this: a baseline file, an earlier run, the last one, a file of a git ref, "
        "or answers that another tool recorded",
    ),
    UPDATE: (
        "FILE",
        f"after the run write its baseline (default {BASELINE_FILE}; another by --ab-{UPDATE}=FILE), as audiobench "
        "baseline update does; neither in CI nor with --ab-baseline; of the command line only (docs/baselines.md)",
    ),
    "gate": (
        "CANDIDATE:BASE",
        "ask two models of --ab-model, by their aliases, the same samples in turns, and compare the first with the "
        "second as with a baseline (docs/two-servers.md)",
    ),
    "max-drop": (
        "MARGIN",
        "how far an eval's headline metric may be below the baseline's, as 1pp or 0.01 (default 1pp; none: only "
        "declared regression lines)",
    ),
    "alpha": ("P", "the probability of a false regression anywhere in an unchanged run (default 0.05)"),
    "inconclusive": ("pass|warn|fail", "the outcome of an eval that neither passes nor regressed (default warn)"),
    "within-noise": (
        "inconclusive|regressed",
        "the verdict of a line that regressed by no more than the baseline's measured noise floor (default regressed)",
    ),
    "max-unmatched": ("SHARE", "the share of samples that may be unmatched in the baseline (default 0.05)"),
    "config": (
        "FILE",
        "thresholds (default audiobench.toml, else [tool.audiobench] in pyproject.toml); or a run file of models, "
        "suite or tasks and other options, in TOML or YAML (docs/running.md)",
    ),
    "reports": ("FOLDER", "where runs are written (default reports)"),
    "report-audio": (
        "none|flips|all",
        "the audio in report.html: of samples that changed since the baseline, or of a few wrong ones (flips, the "
        "default), of as many as fit (all), or none",
    ),
    "shard": (
        "I/N",
        "ask the I-th of N parts of every eval, and judge nothing: audiobench merge puts the parts together "
        "(docs/many-machines.md); all/N judges what all shards answered, and asks nothing",
    ),
    "ray": (
        "ADDRESS",
        "have in-process models loaded by actors of this Ray cluster (HOST:PORT, or auto), one for each of its GPUs "
        "(docs/many-machines.md)",
    ),
    "run": ("NAME", "this run's name under the reports folder (default: date, time and a random end)"),
}

_FLAGS = {
    EARLY_STOP: "with --ab-baseline: ask an eval no further once each of its regression lines is decided, at half of "
    "--ab-alpha over all lines and looks; of the command line only (docs/ci.md)",
    "fetch": "fetch missing data of the selected benchmarks before anything is asked",
    "refresh": "ask also what the store answers already; answers that differ are counted as noise",
    "noise-floor": "ask every eval of a file again in other batches, and record how much of its answers and its "
    "score changes: the model's noise floor on that data (docs/suites/determinism.md)",
    "reuse": "under thresholds or a baseline, count also answers of earlier runs by a server whose identity is a mere "
    "name: some sixty are asked again, and the run fails where more differ than the model's noise explains",
}


def add_options(parser: pytest.Parser) -> None:
    """Declare every option, its ini key ``ab_<name>`` and mention its variable ``AUDIOBENCH_<NAME>``."""
    group = parser.getgroup("audiobench", "audiobench: benchmarks for audio-language models")
    for name, (metavar, text) in _LISTS.items():
        group.addoption(f"--ab-{name}", action="append", default=None, metavar=metavar, help=text)
        parser.addini(_ini(name), f"{text} (as --ab-{name})", type="linelist", default=[])
    for name, (metavar, text) in _VALUES.items():
        bare = {"nargs": "?", "const": BASELINE_FILE} if name == UPDATE else {}
        group.addoption(f"--ab-{name}", default=None, metavar=metavar, help=text, **bare)
        parser.addini(_ini(name), f"{text} (as --ab-{name})", default="")
    for name, text in _FLAGS.items():
        group.addoption(f"--ab-{name}", action="store_true", default=None, help=text)
        parser.addini(_ini(name), f"{text} (as --ab-{name})", type="bool", default=False)
    evals = "folders that hold the whole benchmark, for checking that every threshold names an eval"
    parser.addini("ab_evals", evals, type="args", default=["evals"])


class Options(NamedTuple):
    """The options of a run, read and checked."""

    models: tuple[str, ...]
    judges: tuple[str, ...]
    data: tuple[str, ...]
    data_root: Path | None
    fetch: bool
    mixes: tuple[str, ...]
    required: tuple[str, ...]
    select: tuple[str, ...]
    corrections: tuple[str, ...]
    scorers: tuple[str, ...]
    prompt: str
    prompts: str
    encoder: str
    human_labels: str
    human_kappa: float | None
    scenes: int | None
    pools: Path | None
    stores: tuple[Path, ...]
    limit: int | None
    epochs: int
    refresh: bool
    noise_floor: bool
    reuse: bool
    max_errors: int
    config: Path | None
    reports: Path
    exports: tuple[str, ...]
    run: str | None
    shard: tuple[int, int] | None
    """Which of how many shards, the first of which is 1; 0 for all of them together."""
    ray: str
    devices: tuple[str, ...]
    max_cost_usd: float | None
    max_requests: int | None
    baseline: str
    update: Path | None
    """Where the run's baseline is written."""
    gate: tuple[str, str] | None
    """The aliases of the candidate, and of the base that it is compared with."""
    max_drop: str
    alpha: float
    early_stop: bool
    inconclusive: str
    within_noise: str
    max_unmatched: float
    report_audio: str

    @property
    def is_part(self) -> bool:
        """Whether a part of every eval is asked, and nothing judged."""
        return self.shard is not None and self.shard[0] > 0

    @property
    def is_merged(self) -> bool:
        """Whether all that shards answered is judged, and nothing asked."""
        return self.shard is not None and self.shard[0] == 0

    @property
    def starts_servers(self) -> bool:
        """Whether a model or a judge may name the command of a server; what is not asked for is not imported."""
        return any(",serve=" in text for text in (*self.models, *self.judges))


def _is_quick(config: pytest.Config) -> bool:
    from pytest_audiobench.plugin.eval_items import wanted_words

    return QUICK in config.option.markexpr and QUICK in wanted_words(config.option.markexpr)


def read_options(config: pytest.Config) -> Options:
    """The command line's values, else the environment's, else the ini file's. Raises pytest.UsageError."""
    root = config.rootpath
    stores = _list(config, "store")
    file = _value(config, "config")
    reports = _value(config, "reports")
    pools = _value(config, "pools")
    root_folder = _value(config, "data-root")
    shard = _shard(_value(config, "shard"))
    return Options(
        models=models_of(config),
        judges=_list(config, "judge"),
        data=_list(config, "data"),
        data_root=base(config, "data-root") / Path(root_folder).expanduser() if root_folder else None,
        fetch=_flag(config, "fetch"),
        mixes=_list(config, "mix"),
        required=_list(config, "require"),
        select=_list(config, "select"),
        corrections=_list(config, "corrections"),
        scorers=_list(config, "scorer"),
        prompt=_value(config, "prompt"),
        prompts=_value(config, "prompts"),
        encoder=_value(config, "encoder"),
        human_labels=_value(config, "human-labels"),
        human_kappa=_decimal(config, "human-kappa"),
        scenes=_whole_number(config, "scenes", least=1),
        pools=base(config, "pools") / Path(pools).expanduser() if pools else None,
        stores=tuple(base(config, "store") / store for store in stores) or (root / ".audiobench" / "store.sqlite",),
        limit=_whole_number(config, "limit", least=1) or (QUICK_SAMPLES if _is_quick(config) else None),
        epochs=_whole_number(config, "epochs", least=1) or 1,
        # What is merged was asked again by the shards.
        refresh=_flag(config, "refresh") and (shard is None or shard[0] > 0),
        noise_floor=_flag(config, "noise-floor"),
        reuse=_flag(config, "reuse"),
        max_errors=_whole_number(config, "max-errors", least=0) or 0,
        config=base(config, "config") / file if file else None,
        reports=base(config, "reports") / reports if reports else root / "reports",
        exports=_list(config, "export"),
        run=_run_name(_value(config, "run")),
        shard=shard,
        ray=_value(config, "ray"),
        devices=tuple(name.strip() for names in _list(config, "devices") for name in names.split(",") if name.strip()),
        max_cost_usd=_decimal(config, "max-cost"),
        max_requests=_whole_number(config, "max-requests", least=1),
        baseline=_value(config, "baseline"),
        update=base(config, UPDATE) / Path(update).expanduser() if (update := _value(config, UPDATE)) else None,
        gate=gate_of(config),
        max_drop=_value(config, "max-drop").strip(),
        alpha=_share(config, "alpha", 0.05, most=0.5),
        early_stop=_flag(config, EARLY_STOP),
        inconclusive=_one_of(config, "inconclusive", INCONCLUSIVE),
        within_noise=_one_of(config, "within-noise", WITHIN_NOISE),
        max_unmatched=_share(config, "max-unmatched", 0.05),
        report_audio=_one_of(config, "report-audio", REPORT_AUDIO),
    )


def check_early_stop(config: pytest.Config, options: Options) -> None:
    """Raises pytest.UsageError for ``--ab-early-stop`` where the command line does not have it, without a baseline, and
    as does what needs all samples.
    """
    name = f"--ab-{EARLY_STOP}"
    if name not in map(str, config.invocation_params.args):
        raise pytest.UsageError(f"{name} is of the command line only: what a stopped run passes is not a plain pass")
    if not options.baseline:
        raise pytest.UsageError(f"{name} looks at regression lines: name what to compare with by --ab-baseline RUN")
    whole = {
        "corrections": options.corrections,
        "epochs": options.epochs > 1,
        "human-labels": options.human_labels,
        "noise-floor": options.noise_floor,
        "perturbations": _value(config, "perturbations"),
        "shard": options.shard,
        "within-noise": options.within_noise == WITHIN_NOISE[0],
    }
    if other := next((other for other, given in whole.items() if given), None):
        raise pytest.UsageError(f"--ab-{other} is about all samples of an eval, and {name} about a part: leave one out")


def check_update(config: pytest.Config) -> None:
    """Raises pytest.UsageError for ``--ab-update-baseline`` in CI, of another place than the command line, for what is
    no name of a baseline's file, nor with what a baseline is not made of.
    """
    if not (file := _value(config, UPDATE)):
        return
    name = f"--ab-{UPDATE}"
    if not any(str(argument).partition("=")[0] == name for argument in config.invocation_params.args):
        raise pytest.UsageError(f"{name} is of the command line only: a baseline is renewed on purpose")
    if not file.endswith(".json"):
        raise pytest.UsageError(f"{name}={file} is no name of a baseline, which ends in .json: write {name}=FILE.json")
    if any(os.environ.get(variable) for variable in ("CI", "BUILD_NUMBER")):
        raise pytest.UsageError(f"{name} is not for CI, where a run would set what it is compared with: write it here")
    whys = {
        "baseline": "a run that is compared is not what the next one is compared with (ini file: -o ab_baseline=)",
        "gate": "a baseline is of one model",
        "shard": "a part of every eval is asked; merge the shards and take audiobench baseline update",
    }
    if other := next((other for other in whys if _value(config, other)), None):
        raise pytest.UsageError(f"{name} and --ab-{other} do not go together: {whys[other]}")
    if len(models_of(config)) > 1:
        raise pytest.UsageError(f"{name} is of one model, and --ab-model names {len(models_of(config))}")


def apply_run_file(config: pytest.Config) -> list[str]:
    """Make the options of the run file that ``--ab-config`` names those of the command line, where it has not its own;
    lines that say what the file gave and what the command line has in its place. Raises UsageError for a bad file.
    """
    if not (file := _value(config, "config")):
        return []
    from pytest_audiobench.plugin.error_mapping import user_errors
    from pytest_audiobench.plugin.run_file import is_run_file, read_run_file

    path = base(config, "config") / Path(file).expanduser()
    if not is_run_file(path):
        return []
    kinds = (("texts", _LISTS), ("text", _VALUES), ("flag", _FLAGS))
    others = {_ini(name)[3:]: kind for kind, names in kinds for name in names if name not in ("config", "judge")}
    with user_errors():
        run_file = read_run_file(path, others)
    config.option.ab_config = None
    used, lines = [], list(run_file.notes)
    for name, value in run_file.options.items():
        text = ", ".join(value) if isinstance(value, list) else value
        if (given := config.getoption(f"--ab-{name}")) is None:
            setattr(config.option, _ini(name), (bool(value) or None) if name in _FLAGS else value)
            used.append(f"{name} {text}")
        else:
            own = ", ".join(given) if isinstance(given, list) else given
            lines.append(f"--ab-{name}={own} of the command line goes before {path.name}, which says {text}")
    # Else that file itself, of the environment or the ini file, would be read for thresholds.
    config.option.ab_config = config.option.ab_config or ""
    if config.args_source != pytest.Config.ArgsSource.ARGS and config.getoption("--ab-select"):
        folders = [config.rootpath / folder for folder in config.getini("ab_evals")]
        own = [str(folder) for folder in folders if folder.is_dir()]
        config.args[:] = own or [*config.args, *([str(_EVALS)] * _EVALS.is_dir())]
    return [f"{path.name}: {'; '.join(used)}", *lines]


def models_of(config: pytest.Config) -> tuple[str, ...]:
    """The models' specs, alone: collection asks for each test."""
    return _list(config, "model") or (DEFAULT_MODEL,)


def gate_of(config: pytest.Config) -> tuple[str, str] | None:
    """The two aliases of ``--ab-gate``, alone: collection asks for each test. Raises pytest.UsageError for others."""
    if not (text := _value(config, "gate").strip()):
        return None
    candidate, _, base_ = text.partition(":")
    if not candidate or not base_ or candidate == base_:
        raise pytest.UsageError(f"--ab-gate takes CANDIDATE:BASE, two different aliases of --ab-model, not {text!r}")
    for option, why in (("baseline", "a run is compared with one thing"), ("shard", "both are asked by one machine")):
        if _value(config, option):
            raise pytest.UsageError(f"--ab-gate and --ab-{option} do not go together: {why}; leave one out")
    return candidate, base_


def perturbations_of(config: pytest.Config, test: pytest.Collector | pytest.Item | None = None) -> tuple[str, ...]:
    """The names of ``--ab-perturbations``, alone: collection asks for each test; and those of the ``test``'s marker."""
    names = tuple(name.strip() for name in _value(config, "perturbations").split(",") if name.strip())
    own = (marked(test, "perturbations") if test is not None else None) or ()
    return (*names, *([own] if isinstance(own, str) else own))


def base(config: pytest.Config, name: str) -> Path:
    """Where an option's relative path starts: the root for one from the ini file, else where pytest was called."""
    from_caller = config.getoption(f"--ab-{name}") is not None or os.environ.get(_variable(name))
    return config.invocation_params.dir if from_caller else config.rootpath


def check_names(config: pytest.Config) -> None:
    """Raises pytest.UsageError for an option without its value, and for what is nearly an ini key or variable of ours:
    nothing would come of it. Pytest itself warns of a key that nothing has.
    """
    for option in (*_LISTS, *_VALUES):
        given = config.getoption(f"--ab-{option}")
        if given is not None and ("" in given if option in _LISTS else given == ""):
            why = "has no value, as where a shell's variable is not set: give one, or leave the option out"
            raise pytest.UsageError(f"--ab-{option}= {why}")
    strange = [("ini key", name, _ini) for name in config._get_unknown_ini_keys()]
    for kind, name, written in strange + [("variable", name, _variable) for name in os.environ]:
        known = {written(option) for option in (*_LISTS, *_VALUES, *_FLAGS)} if name.startswith(written("")) else set()
        # What all of them begin with would make any two alike.
        likely = difflib.get_close_matches(name[len(written("")) :], {k[len(written("")) :] for k in known}, 1, 0.75)
        if likely and name not in known:
            raise pytest.UsageError(f"there is no {kind} {name}; did you mean {written('')}{likely[0]}?")


def _ini(name: str) -> str:
    return f"ab_{name.replace('-', '_')}"


def _variable(name: str) -> str:
    return f"AUDIOBENCH_{name.replace('-', '_').upper()}"


def _list(config: pytest.Config, name: str) -> tuple[str, ...]:
    given = config.getoption(f"--ab-{name}")
    if given is None and (text := os.environ.get(_variable(name))):
        split = text.split(os.pathsep if name in ("data", "store") else ";")
        given = _SPEC_IN_LIST.findall(text) if name in _SPECS else split
    return tuple(given if given is not None else config.getini(_ini(name)))


def _value(config: pytest.Config, name: str) -> str:
    if (given := config.getoption(f"--ab-{name}")) is None:
        given = os.environ.get(_variable(name)) or config.getini(_ini(name))
    return str(given)


def _whole_number(config: pytest.Config, name: str, least: int) -> int | None:
    if not (text := _value(config, name)):
        return None
    # Python refuses to read thousands of digits.
    if not text.isdecimal() or len(text) > _DIGITS or int(text) < least:
        raise pytest.UsageError(f"--ab-{name} takes a whole number from {least} up, not {text[: 2 * _DIGITS]!r}")
    return int(text)


def _shard(text: str) -> tuple[int, int] | None:
    if not text:
        return None
    index, _, count = text.strip().partition("/")
    numbers = [int(part) if part.isdecimal() and len(part) < _DIGITS else -1 for part in (index, count)]
    if index == "all":
        numbers[0] = 0
    if numbers[1] < 1 or not (1 if index != "all" else 0) <= numbers[0] <= numbers[1]:
        raise pytest.UsageError(f"--ab-shard takes I/N, from 1/N to N/N, or all/N, not {text[: 2 * _DIGITS]!r}")
    return numbers[0], numbers[1]


def _decimal(config: pytest.Config, name: str) -> float | None:
    if not (text := _value(config, name)):
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise pytest.UsageError(f"--ab-{name} takes a number from 0 up, not {text!r}")
    return value


def _share(config: pytest.Config, name: str, default: float, most: float = 1.0) -> float:
    """A share of one, as 0.05 or 5%: above 0 up to ``most`` where that is not a whole, else from 0 to 1."""
    if not (text := _value(config, name).strip()):
        return default
    try:
        value = float(f"{text[:-1]}e-2" if text.endswith("%") else text)
    except ValueError:
        value = math.nan
    if not (0.0 < value <= most if most < 1.0 else 0.0 <= value <= 1.0):
        allowed = f"above 0 up to {most:g}" if most < 1.0 else "from 0 to 1, or a percentage,"
        raise pytest.UsageError(f"--ab-{name} takes a number {allowed}, not {text!r}")
    return value


def _one_of(config: pytest.Config, name: str, allowed: tuple[str, ...]) -> str:
    """One of ``allowed``, the second where nothing is said."""
    if (text := _value(config, name) or allowed[1]) not in allowed:
        raise pytest.UsageError(f"--ab-{name} takes {', '.join(allowed[:-1])} or {allowed[-1]}, not {text!r}")
    return text


def _flag(config: pytest.Config, name: str) -> bool:
    given = config.getoption(f"--ab-{name}")
    if given is None and (text := os.environ.get(_variable(name))):
        return text.lower() not in ("0", "false", "no")
    return bool(given if given is not None else config.getini(_ini(name)))


def _run_name(text: str) -> str | None:
    if text and (text in (".", "..") or not all(c.isalnum() or c in "-_.+" for c in text)):
        raise pytest.UsageError(f"--ab-run takes a plain name of letters, digits and -_.+, not {text!r}")
    return text or None
