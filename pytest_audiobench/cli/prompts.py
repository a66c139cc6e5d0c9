"""``audiobench prompts show|export [NAME]``."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_audiobench.cli._options import add_reports, place
from pytest_audiobench.cli._text import table
from pytest_audiobench.errors import AudiobenchError, UsageError

if TYPE_CHECKING:
    from pytest_audiobench.datasets.declaration import Declaration
    from pytest_audiobench.datasets.sample import Sample
    from pytest_audiobench.protocols.prompt_sets import PromptSet
    from pytest_audiobench.protocols.protocol import Stage

HELP = "show or export what is asked: prompt sets, the prompts of declared benchmarks, and those that a run sent"

_ENDINGS = (".json", ".toml")


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("action", choices=("show", "export"), help="print them, or write them into FILE")
    add(
        "name",
        nargs="?",
        metavar="NAME|EVAL",
        help="a prompt set or its file, a benchmark or one of its tasks, with --run an eval; all sets without one",
    )
    add("file", nargs="?", metavar="FILE", type=place, help="a .json or .toml file; that of a set can be asked again")
    add("--run", dest="sent", metavar="RUN", help="what this run sent to the first sample of an eval")
    add("--force", action="store_true", help="replace FILE if it exists")
    add_reports(parser)


def run(args: argparse.Namespace) -> int:
    """0. Raises UsageError for a name that nothing has, and for a file that already exists."""
    if args.action == "show":
        if args.file is not None:
            raise UsageError(f"show writes no file: audiobench prompts export {args.name} {args.file} does")
        for line in _shown(args):
            print(line)
        return 0
    if args.name is None or args.file is None:
        raise UsageError("export takes a name and a file: audiobench prompts export yesno mine.json")
    if args.file.suffix.lower() not in _ENDINGS:
        raise UsageError(f"{args.file} is neither JSON nor TOML by its name; let it end with {' or '.join(_ENDINGS)}")
    if args.file.exists() and not args.force:
        raise UsageError(f"{args.file} already exists: --force replaces it")
    content = _content(args)
    text = json.dumps(content, indent=2, ensure_ascii=False) + "\n" if args.file.suffix == ".json" else _toml(content)
    args.file.write_text(text, encoding="utf-8")
    print(f"written to {args.file}")
    if "paraphrases" in content:
        print(f"give it another version where you change a word; --ab-prompts={args.file} asks in these words")
    return 0


def _shown(args: argparse.Namespace) -> Iterator[str]:
    from pytest_audiobench.protocols.prompt_sets import GROUPS, PROMPT_SETS
    from pytest_audiobench.report.formatting import printable

    if args.name is None:
        if args.sent:
            raise UsageError("--run shows what an eval was asked: name one")
        rows = [
            (name, str(len(prompts.paraphrases)), ", ".join(prompts.families), prompts.digest[:12])
            for name, prompts in PROMPT_SETS.items()
        ]
        yield from table([("set", "wordings", "for", "SHA-256"), *rows], right=(1,))
        yield ""
        yield from (f"{group}: {', '.join(names)}" for group, names in GROUPS.items())
        yield "audiobench prompts show NAME shows one, or the prompts of a benchmark"
        return
    content = _content(args)
    if "paraphrases" in content:
        yield printable(
            f"{content['version']}: {len(content['paraphrases'])} wordings, parser {content['parser_version']}"
        )
        yield f"  SHA-256 {_set(args.name).digest}"
        for number, wording in enumerate(content["paraphrases"], 1):
            yield from _indented(f"{number}", wording)
        return
    before = None
    for prompt in content["prompt"]:
        if (head := _head(prompt)) != before:
            yield from ([""] if before else [])
            yield printable(head)
            yield f"  SHA-256 {prompt['sha256']}"
            before = head
        yield from _indented(prompt["role"], prompt["text"])


def _head(prompt: Mapping[str, str]) -> str:
    asked = f", --ab-prompt={prompt['prompt']}" if prompt.get("prompt") else ""
    return f"{prompt['eval']}{asked}, stage {prompt['stage']}"


def _indented(label: str, text: str) -> Iterator[str]:
    """The text as it is, with its lines, and nothing in it that a terminal would obey."""
    from pytest_audiobench.report.formatting import printable

    for number, line in enumerate(text.split("\n")):
        yield printable(f"  {label if not number else '':<6}{line}").rstrip()


def _content(args: argparse.Namespace) -> dict[str, Any]:
    """What is shown and exported: a set as its file has it, else a list of prompts."""
    from pytest_audiobench.cli._benchmark_page import benchmarks

    if args.sent is not None:
        return {"prompt": _of_run(args)}
    if args.name.partition("/")[0] in benchmarks() and not Path(args.name).suffix:
        return {"prompt": list(_of_benchmark(args.name))}
    prompts = _set(args.name)
    return {
        "version": prompts.version,
        "parser_version": prompts.parser_version,
        "paraphrases": list(prompts.paraphrases),
    }


def _set(name: str) -> PromptSet:
    from pytest_audiobench.cli._benchmark_page import benchmarks
    from pytest_audiobench.io.mistakes import nearest
    from pytest_audiobench.protocols.prompt_sets import PROMPT_SETS, prompt_set

    if name not in PROMPT_SETS and not Path(name).suffix:
        known = [*PROMPT_SETS, *benchmarks()]
        raise UsageError(
            f"no prompt set and no benchmark is called {name!r} ({nearest(name, known)}); the prompts of an eval of a "
            "test file are in its runs: --run RUN"
        )
    return prompt_set(name)


def _of_benchmark(name: str) -> Iterator[dict[str, str]]:
    """The opening prompts of each task, by default and as published, with braces for what a sample brings."""
    from pytest_audiobench.cli._benchmark_page import benchmarks, task_tables
    from pytest_audiobench.cli.describe import protocol_of

    suite, _, wanted = name.partition("/")
    tasks = task_tables(benchmarks()[suite])
    if wanted and wanted not in tasks:
        raise UsageError(f"{suite} has no task {wanted!r}; it has {', '.join(filter(None, tasks)) or 'one'}")
    for task, (own, data) in tasks.items():
        for prompt in ("", *data.prompts) if wanted in ("", task) else ():
            options = {
                key: value for key, value in data.prompts.get(prompt, {}).items() if key not in ("source", "clips")
            }
            protocol = protocol_of({**own, **options})
            for stage in protocol.openings:
                yield from _rows(f"{suite}/{task}" if task else suite, prompt, stage, _placeholders(stage, data))


def _placeholders(stage: Stage, data: Declaration) -> Sample:
    """A sample whose texts are their names in braces; a question where the data has one, which goes before a prompt."""
    from pytest_audiobench.audio import synthesis
    from pytest_audiobench.audio.clip import Clip
    from pytest_audiobench.datasets.sample import Sample

    choices = tuple(f"{{option {number}}}" for number in range(1, 5))
    question = "{question}" if data.sample.question is not None else ""
    metadata = {name: f"{{{name}}}" for name in stage.fields}
    return Sample("{id}", (Clip(synthesis.silence(0.1)),), question, choices, "", metadata)


def _rows(eval_: str, prompt: str, stage: Stage, sample: Sample) -> Iterator[dict[str, str]]:
    from pytest_audiobench.evaluation.requests import messages_payload

    try:
        messages = messages_payload(stage.messages(sample, {}))
    except (AudiobenchError, LookupError, ValueError) as error:
        messages = [["none", [f"from the sample alone: {error}; --run RUN shows what was sent"]]]
    yield from _messages({"eval": eval_, "prompt": prompt, "stage": stage.name}, messages)


def _messages(about: Mapping[str, str], messages: Sequence[Any]) -> Iterator[dict[str, str]]:
    from pytest_audiobench.identity import digest

    sha256 = digest([[role, list(parts)] for role, parts in messages])
    for role, parts in messages:
        text = "".join(f"<audio {part + 1}>\n" if isinstance(part, int) else part for part in parts)
        yield {**about, "role": str(role), "text": text, "sha256": sha256}


def _of_run(args: argparse.Namespace) -> list[dict[str, str]]:
    from pytest_audiobench.gate.config import chosen
    from pytest_audiobench.report.joined_samples import joined
    from pytest_audiobench.report.run_reader import load_run

    loaded = load_run(args.sent, args.reports)
    names = [item.eval for item in loaded.record.items]
    wanted = chosen(args.name or "*", names, f"eval of {loaded.folder}")
    rows: list[dict[str, str]] = []
    seen: set[str] = set()
    for sample in joined(loaded.folder):
        first = sample.predictions[0]
        if first.eval in wanted - seen and any(row.prompt for row in sample.predictions):
            seen.add(first.eval)
            for row in sample.predictions:
                about = {"eval": first.eval, "sample": first.sample_id, "stage": row.stage}
                rows.extend(_messages(about, row.prompt or ()))
    if not rows:
        raise UsageError(f"{loaded.folder} sent no prompt of {', '.join(sorted(wanted))}: name another eval")
    return rows


def _toml(content: Mapping[str, Any]) -> str:
    """Texts, lists of texts and a list of tables of texts as TOML, whose strings are those of JSON but for DEL."""

    def text(value: str) -> str:
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")

    lines = []
    for name, value in content.items():
        if isinstance(value, str):
            lines.append(f"{name} = {text(value)}")
        elif value and isinstance(value[0], str):
            lines += [f"{name} = [", *(f"  {text(each)}," for each in value), "]"]
        else:
            for row in value:
                lines += ["", f"[[{name}]]", *(f"{key} = {text(each)}" for key, each in row.items())]
    return "\n".join(lines).strip() + "\n"
