"""``audiobench describe NAME``."""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_audiobench.cli._options import add_places, places
from pytest_audiobench.cli._text import labelled, say, wrapped
from pytest_audiobench.errors import DataNotFound, UsageError

if TYPE_CHECKING:
    from pytest_audiobench.datasets.declaration import Declaration, Published
    from pytest_audiobench.datasets.places import Places
    from pytest_audiobench.protocols.protocol import Protocol, Scorer

HELP = "describe a benchmark, model, protocol, scorer or metric: source, licence, metric, cost, where it is"

_MEASURED = 100
"""Clips whose lengths are read, to say about how long all of them are."""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "name",
        metavar="NAME",
        help="of a benchmark, of a suite, of a task as NAME/TASK, or of whatever audiobench list lists",
    )
    add_places(parser)


def run(args: argparse.Namespace) -> int:
    """0. Raises UsageError for a name that nothing has."""
    from pytest_audiobench import extensions
    from pytest_audiobench.io.mistakes import nearest

    problems = extensions.load()
    names = _names(args.name)
    name = args.name.partition(":")[0] if args.name.partition(":")[0] in model_kinds() else args.name
    describing = [describe for describe, known in names.items() if name in known]
    if not describing and (holder := _holder(args.name)):
        name, describing = holder, [_benchmark]
    if not describing:
        every = sorted({name for known in names.values() for name in known})
        advice = nearest(args.name, every, "audiobench list benchmarks lists those that there are")
        raise UsageError("; ".join([f"nothing is called {args.name!r}", advice, *problems]))
    for number, describe in enumerate(describing):
        print("\n" * bool(number) + "\n".join(describe(name, places(args))))
    for problem in problems:
        say(f"note: {problem}")
    return 0


def _names(asked: str) -> Mapping[Callable[[str, Places], Iterator[str]], Sequence[str]]:
    from pytest_audiobench.cli._benchmark_page import benchmarks, task_tables
    from pytest_audiobench.metrics.registry import names
    from pytest_audiobench.models.hf.families import FAMILIES as MODELS
    from pytest_audiobench.protocols.catalogue import FAMILIES, scorer_names

    suite, known = asked.partition("/")[0], benchmarks()
    tasks = task_tables(known[suite]) if suite in known else {}
    return {
        _benchmark: [*known, *(f"{suite}/{task}" for task in tasks if task)],
        _protocol: list(FAMILIES),
        _scorer: sorted(scorer_names()),
        _metric: list(names()),
        _model: [*model_kinds(), *MODELS],
    }


def _holder(asked: str) -> str:
    """The benchmark or the task whose suite, eval (``SUITE/TASK[CASE]``, ``SUITE[TASK]``) or test is called so; else
    "".
    """
    from pytest_audiobench.cli._benchmark_page import benchmarks, task_tables
    from pytest_audiobench.datasets.catalogue import SUFFIX

    known = benchmarks()
    file_of_test, _, test = asked.rpartition("::")
    own = Path(file_of_test).name.removesuffix(SUFFIX)
    base, bracket, case = (f"{own}/{test.removeprefix('test_')}" if own else test).partition("[")
    if (suite := base.partition("/")[0]) in known and (own or bracket):
        tasks = {task.replace("_", "-"): task for task in task_tables(known[suite]) if task}
        words = (base.partition("/")[2] or case.rstrip("]")).replace("_", "-").split("-")
        names = ("-".join(words[:count]) for count in range(len(words), 0, -1))
        return next((f"{suite}/{tasks[name]}" for name in names if name in tasks), suite)
    for suite, file in known.items():
        if asked.startswith(f"{suite}_"):
            for task, (_, data) in task_tables(file).items():
                if asked == f"{suite}_{task}":
                    return f"{suite}/{task}"
                if asked in data.suites:
                    return suite
    return ""


# Benchmarks


def _benchmark(name: str, where: Places) -> Iterator[str]:
    from pytest_audiobench.cli._benchmark_page import benchmarks, comment, file_source, task_tables

    suite, _, asked = name.partition("/")
    file = benchmarks()[suite]
    tasks = task_tables(file)
    title, citation = file_source(file)
    yield wrapped(f"{suite}: {'. '.join(text for text in (title, citation) if text)}", 0, 2)
    for paragraph in comment(file):
        yield f"\n{wrapped(paragraph, 2)}\n"
    tasks = {task: each for task, each in tasks.items() if asked in ("", task)}
    sections = {task: list(_section(suite, table, data, where)) for task, (table, data) in tasks.items()}
    # What is the same of all tasks is said once.
    shared = [row for row in next(iter(sections.values())) if all(row in rows for rows in sections.values())]
    evals = sum(len(data.ids()) for _, data in tasks.values())
    yield from labelled([*shared, ("evals", str(evals)), ("tasks", ", ".join(filter(None, tasks)))])
    for task, rows in sections.items():
        if own := [row for row in rows if row not in shared]:
            yield f"\n  {task}"
            yield from labelled(own, 4)
    yield from _published([(task, row) for task, (_, data) in tasks.items() for row in data.published])
    yield f"\n  pytest evals -m {suite} --ab-model=MODEL"


def _section(suite: str, table: Mapping[str, Any], data: Declaration, where: Places) -> Iterator[tuple[str, str]]:
    """All that is known of a task but for its published values."""
    source = data.source
    yield "title", (source.title or "") if "/" in data.name else ""
    yield "task", _words(source.task)
    yield "domain", _words(source.domain)
    yield "language", _words(source.language)
    yield "source", source.repository or ""
    yield "data", f"the samples of {data.samples_of}" if data.samples_of else ""
    yield "licence", source.licence or "not said in its file: see its source"
    yield "access", _access(data)
    yield "fetch", _fetched_from(suite, data)
    yield "size", _size(suite, data)
    yield "cases", _cases(data)
    yield "suites", ", ".join(data.suites)
    yield "averages", "; ".join(f"{name} of {', '.join(parts)}" for name, parts in data.averages.items())
    yield "rows", _numbers(data, data.data.count, "{:,.0f}")
    yield "clips", _numbers(data, data.sample.first_seconds, "the first {:g} s")
    yield "note", data.note
    yield from _asking(table, data)
    yield from _presence(table, data, where)


def _words(written: str | Sequence[str]) -> str:
    return written if isinstance(written, str) else ", ".join(written)


def _access(data: Declaration) -> str:
    admitted = "the hub asks for an account that its publisher has admitted, and its token"
    return data.source.obtain or (admitted if data.source.gated else "open" if data.fetch else "")


def _fetched_from(name: str, data: Declaration) -> str:
    from pytest_audiobench.cli._benchmark_page import place_of

    if not data.fetch:
        return "not by us: point to it with --ab-data"
    return f"audiobench fetch {name}, from {'; '.join(dict.fromkeys(map(place_of, data.fetch)))}".replace("`", "")


def _size(name: str, data: Declaration) -> str:
    """What a declaration says of the size of its data, and of how much it says nothing."""
    known = [part.bytes for part in data.fetch if part.bytes]
    if not data.fetch or len(known) == len(data.fetch):
        return f"{sum(known) / 1e6:,.0f} MB" if known else ""
    asked = f"audiobench fetch {name} --dry-run asks its publisher"
    of_all = f"{sum(known) / 1e6:,.0f} MB in {len(known)} of {len(data.fetch)} parts, the others "
    return f"{of_all * bool(known)}not declared: {asked}"


def _published_n(data: Declaration) -> str:
    """How many samples others measured, which says about how many there are."""
    counts = sorted({row.n for row in data.published if row.n})
    return f"published values are of {', '.join(f'{count:,}' for count in counts)}" if counts else ""


def _cases(data: Declaration) -> str:
    from pytest_audiobench.datasets.declaration import values_of

    grid = [f"{name} {', '.join(values_of(values))}" for name, values in data.parameters.items()]
    withheld = [value for values in data.withheld.values() for value in values]
    return "; ".join([*grid, *([f"answers withheld of {', '.join(withheld)}"] if withheld else [])])


def _numbers(data: Declaration, written: float | str | None, form: str) -> str:
    """What a number of a declaration is of each case."""
    numbers = [("-".join(case.values()), data.number(written, case)) for case in data.cases({})]
    return "; ".join(f"{name} {form.format(number)}".strip() for name, number in numbers if number is not None)


def _asking(table: Mapping[str, Any], data: Declaration) -> Iterator[tuple[str, str]]:
    """How one task is asked, and what is measured."""
    from pytest_audiobench.metrics.registry import metric_kind
    from pytest_audiobench.protocols.catalogue import FAMILIES

    protocol = protocol_of(table)
    yield "protocol", f"{protocol.name}: {FAMILIES.get(protocol.name, '')}"
    headline = protocol.scorers[0]
    yield "metric", "; ".join(_in_short(metric_kind(name).name) for name in headline.metrics[:1])
    yield "also", ", ".join(headline.metrics[1:])
    published = dict.fromkeys(row.scorer for row in data.published if row.scorer)
    yield "scorer", f"{headline.name}" + (f"; of its publishers: {', '.join(published)}" if published else "")
    for name, prompt in data.prompts.items():
        words = "no words of its own" if "prompt" in prompt else "the words that are asked by default"
        words = repr(prompt["prompt"]) if prompt.get("prompt") else words
        yield "prompt", f"--ab-prompt={name}: {words} ({prompt.get('source', 'no source')})"
    yield "proven", f"no: {data.unproven}" if data.unproven else "yes: published rows, cases of their code, a miniature"


def protocol_of(table: Mapping[str, Any]) -> Protocol:
    from pytest_audiobench.cli._benchmark_page import protocol_name
    from pytest_audiobench.protocols.catalogue import options_of, protocol

    name, scorers = protocol_name(table), table.get("scorers") or ()
    # A file's own "task" is its tables, and that of a protocol a text.
    options = {key: value for key, value in table.items() if key in options_of(name)}
    asked = protocol(name, **{key: value for key, value in options.items() if key != "task" or isinstance(value, str)})
    if judges := table.get("judge"):
        from pytest_audiobench.protocols.judged.task import judged

        asked = judged(asked, *([judges] if isinstance(judges, str) else judges))
    named = [scorers] if isinstance(scorers, str) else list(scorers)
    return asked.with_scorers(*named) if named else asked


def _presence(table: Mapping[str, Any], data: Declaration, where: Places) -> Iterator[tuple[str, str]]:
    """Where a task's data is on this machine, how much it is, and what asking it takes."""
    from pytest_audiobench.datasets.declared import declared_dataset

    lengths: list[str] = []
    missing = ""
    folder: Path | None = None
    requests, seconds, is_estimate = 0, 0.0, False
    stages = sum(stage.role == "subject" for stage in protocol_of(table).stages)
    for case in data.ids():
        try:
            samples = declared_dataset(data, case).read(where)
        except DataNotFound as error:
            missing = missing or f"no: {error}"
            continue
        except UsageError as error:
            missing = missing or f"cannot be read: {str(error).splitlines()[0]}"
            continue
        clips = [clip for sample in samples[:_MEASURED] for clip in sample.clips]
        folder = folder or next((root for clip in clips if (root := _folder_of(clip))), None)
        requests += stages * len(samples)
        seconds += _seconds(clips) * len(samples) / max(1, min(_MEASURED, len(samples)))
        is_estimate = is_estimate or len(samples) > _MEASURED
        lengths.append(f"{'-'.join(case.values())} {len(samples):,}".strip())
    yield "here", f"yes, {folder or ''}" if lengths else missing
    yield "lacking", missing if lengths else ""
    yield "samples", "; ".join(lengths) or _published_n(data)
    if lengths:
        yield "cost", f"{requests:,} requests, {'about ' if is_estimate else ''}{duration(seconds)} of sound"


def _folder_of(clip: Any) -> Path | None:
    source = getattr(clip.source, "file", clip.source)
    root = getattr(source, "root", None)
    return root.folder if root else None


def _seconds(clips: Sequence[Any]) -> float:
    """How long ``clips`` are together; the mean of the others stands for one whose header does not say it."""
    from pytest_audiobench.audio.index import AudioIndex, ClipFacts

    with AudioIndex(None) as index:
        facts = index.facts_of(clips)
    known = [fact.duration_s for fact in facts if isinstance(fact, ClipFacts) and fact.duration_s is not None]
    return sum(known) / len(known) * len(clips) if known else 0.0


def duration(seconds: float) -> str:
    """A length of time in words."""
    for size, unit in ((3600.0, "h"), (60.0, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:,.1f} {unit}"
    return f"{seconds:,.1f} s"


def _published(rows: Sequence[tuple[str, Published]]) -> Iterator[str]:
    if not rows:
        return
    yield "\n  published"
    values_by_source: dict[str, dict[str, None]] = {}
    for task, row in rows:
        values_by_source.setdefault(f"{row.conditions}. {row.source}", {})[_value_text(task, row)] = None
    for source, values in values_by_source.items():
        yield from values
        yield wrapped(source, 8)


def _value_text(task: str, row: Published) -> str:
    of = row.average or ", ".join(filter(None, [task, *row.parameters.values()]))
    rule = f", scorer {row.scorer}" if row.scorer else ""
    prompt = f", prompt {row.prompt}" if row.prompt else ""
    return wrapped(f"{row.model}: {row.metric} {row.value:g}{f' of {of}' if of else ''}{rule}{prompt}", 4, 6)


# The other kinds


def _in_short(name: str) -> str:
    from pytest_audiobench.metrics.metric import value_range
    from pytest_audiobench.metrics.registry import metric_kind

    kind = metric_kind(name)
    span = value_range(kind)
    return f"{name}, {kind.direction} is better, in {kind.unit}{f' ({span})' if span else ''}"


def _about(code: object) -> str:
    """The docstring for those who do not write code: without its marks, and without what it raises."""
    return (inspect.getdoc(code) or "").replace("``", "").partition("Raises ")[0].strip()


def _metric(name: str, _: Places) -> Iterator[str]:
    from pytest_audiobench.metrics.registry import metric_kind
    from pytest_audiobench.protocols.catalogue import FAMILIES, family

    measured = []
    for each in FAMILIES:
        if scorers := [scorer.name for scorer in family(each).available.values() if name in scorer.metrics]:
            measured.append(f"{each}: {', '.join(scorers)}")
    yield f"{name}: a metric"
    yield from labelled(
        [
            ("is", metric_kind(name).about),
            ("values", _in_short(name).partition(", ")[2]),
            ("scorers", "; ".join(measured)),
        ]
    )


def _protocol(name: str, _: Places) -> Iterator[str]:
    from pytest_audiobench.protocols.catalogue import FAMILIES, family, function_of, options_of

    about = _about(inspect.unwrap(function_of(name)))
    known = family(name)
    yield wrapped(f"{name}: a protocol. {FAMILIES[name]}", 0, 2)
    yield from ("", *(wrapped(paragraph, 2) for paragraph in about.split("\n\n")), "")
    yield from labelled(
        [
            ("stages", ", ".join(f"{stage.name} ({stage.role})" for stage in known.stages)),
            ("options", ", ".join(options_of(name))),
            ("default", f"{known.scorers[0].name}: {', '.join(known.scorers[0].metrics)}"),
            ("scorers", ", ".join(known.available)),
        ]
    )


def _scorer(name: str, _: Places) -> Iterator[str]:
    from pytest_audiobench.protocols.catalogue import FAMILIES, family

    for each in FAMILIES:
        if scorer := family(each).available.get(name):
            yield from (*_scorer_text(each, scorer), "")


def _scorer_text(family_name: str, scorer: Scorer) -> Iterator[str]:
    from pytest_audiobench.protocols.scorer_documentation import documentation_of

    documentation = documentation_of(family_name, scorer)
    yield f"{scorer.name}: a scorer of {family_name}"
    yield from labelled(
        [
            ("rule", documentation.rule),
            ("source", documentation.source),
            ("defects", documentation.defects),
            ("metrics", ", ".join(scorer.metrics)),
            ("signature", scorer.signature),
            ("lacking here", scorer.missing_parts()),
        ]
    )


def model_kinds() -> dict[str, str]:
    """The kinds of models, each with the first line of what its maker says about itself."""
    from pytest_audiobench.models.registry import KINDS, factory_of

    return {name: " ".join(_about(factory_of(name)).partition("\n\n")[0].split()) for name in sorted(KINDS)}


def _model(name: str, _: Places) -> Iterator[str]:
    from pytest_audiobench.models.hf.families import FAMILIES
    from pytest_audiobench.models.registry import KINDS, factory_of

    if name in KINDS:
        about = _about(factory_of(name))
        yield wrapped(f"{name}: a kind of model, --ab-model={name}:…", 0, 2)
        yield from (wrapped(paragraph, 2) for paragraph in about.split("\n\n"))
    if name in FAMILIES:
        family = FAMILIES[name]
        clips = f"{family.max_clips} in a request" if family.max_clips > 1 else "one in a request"
        yield f"{name}: a type of checkpoint, --ab-model=hf:FOLDER or hf:owner/name"
        yield from labelled(
            [
                ("status", f"{family.status} by this project's tests"),
                ("tasks", ", ".join(family.tasks)),
                ("clips", clips + (f", of up to {duration(family.window_s)}" if family.window_s else "")),
                ("options", ", ".join(family.options)),
            ]
        )
