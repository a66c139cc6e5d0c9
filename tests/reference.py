"""The reference of the public names, docs/reference, drawn from the source: ``python -m tests.reference`` writes it.

Everything is read from the files, not from the imported modules: signatures as they are written, and the string behind
a field as its documentation.
"""

from __future__ import annotations

import ast
import re
import textwrap
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PACKAGE = "pytest_audiobench"
FOLDER = ROOT / "docs" / "reference"
OPENING = """# API reference

What `pytest_audiobench` and `pytest_audiobench.ext` offer; every other module is private, and changes without notice.
`python -m tests.reference` draws these pages from the docstrings. Beside them: how evals are
[written](../writing-evals.md), what [your own package](../extending.md#an-extension-as-a-package) is made of,
what every [scorer](../scorers/README.md) does, all [options](../options.md), and the JSON Schemas of
[run.json](../run.schema.json) and of a [submission](../submission.schema.json).

| page | names |
|---|---|
"""
PARTS = ("pytest_audiobench", "pytest_audiobench.ext")
PAGES = {
    "tests": ("For tests", "`from pytest_audiobench import …`: what a test file needs.", ()),
    "models": (
        "Models",
        "`from pytest_audiobench.ext import …`: your own model, what it is asked, how it is served.",
        ("models", "serving", "training"),
    ),
    "data": (
        "Data sets and audio",
        "`from pytest_audiobench.ext import …`: samples, clips, where data lies, and what is done to clips.",
        ("audio", "datasets"),
    ),
    "scoring": (
        "Protocols, scorers and metrics",
        "`from pytest_audiobench.ext import …`: how a task is asked, answers are read and numbers made.",
        ("protocols", "metrics", "stats"),
    ),
    "extensions": (
        "Extensions, fixtures and errors",
        "`from pytest_audiobench.ext import …`: what registers all this, fixtures, and what is raised.",
        (),
    ),
}
"""The pages: title, opening, and the parts of the package of which names stand there; the rest is on the last."""


class Definition(NamedTuple):
    """Where something is defined: its module's syntax tree, its statement, and the string behind that, if any."""

    module: str
    node: ast.stmt
    text: str


@cache
def tree(module: str) -> ast.Module:
    path = ROOT / module.replace(".", "/")
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return ast.parse(path.read_text(encoding="utf-8"))


def definition(module: str, name: str) -> Definition | None:
    """What ``name`` is in ``module``, followed through imports; None for a module."""
    body = tree(module).body
    for node, following in zip(body, [*body[1:], None], strict=True):
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == name:
            return Definition(module, node, ast.get_docstring(node) or "")
        if isinstance(node, ast.Assign | ast.AnnAssign) and name in target_names(node):
            return Definition(module, node, string_of(following))
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                if (alias.asname or alias.name) == name and node.module.startswith(PACKAGE):
                    return definition(node.module, alias.name)
    return None


def target_names(node: ast.Assign | ast.AnnAssign) -> list[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return [
        name.id
        for target in targets
        for name in ast.walk(target)
        if isinstance(name, ast.Name) and name is not node.value
    ]


def string_of(node: ast.stmt | None) -> str:
    """The documentation that ``node`` is, for what stands before it."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return textwrap.dedent(node.value.value)
    return ""


def public_places(module: str) -> dict[str, tuple[str, str]]:
    """The public names of ``module``, each with the module and the name that it is defined by."""
    stub = ROOT / module.replace(".", "/")
    stub = stub / "__init__.pyi" if stub.is_dir() else stub.with_suffix(".pyi")
    return {
        str(alias.asname): (str(node.module), alias.name)
        for node in ast.parse(stub.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def in_markdown(text: str) -> str:
    """A docstring as Markdown: code in single quotes, paragraphs in one line, lists and blocks of code kept."""
    text = re.sub(r":(?:class|func|meth|attr|data|mod):`~?\.?([^`]*)`", lambda match: f"`{match[1]}`", text)
    text = re.sub(r"`pytest_audiobench\.(?!ext\b)(?:\w+\.)*(\w+)`", r"`\1`", text.replace("``", "`"))
    blocks, is_code = [], False
    for block in filter(None, re.split(r"\n\s*\n", text.strip("\n"))):
        if block.startswith("    ") and is_code:
            blocks.append(f"```python\n{textwrap.dedent(block)}\n```")
            continue
        lines = block.strip().splitlines()
        is_code = lines[-1].endswith("::")
        joined = "\n".join(lines) if lines[0].startswith("- ") else " ".join(line.strip() for line in lines)
        blocks.append(joined[:-1] if is_code else joined)
    return "\n\n".join(blocks)


def signature(node: ast.FunctionDef, name: str, *, is_method: bool = False) -> str:
    arguments = ast.parse(ast.unparse(node)).body[0].args  # type: ignore[attr-defined]
    if is_method and arguments.args:
        arguments.args.pop(0)
    returns = f" -> {ast.unparse(node.returns)}" if node.returns is not None else ""
    line = f"{name}({spaced(arguments)}){returns}"
    if len(line) <= 110:
        return line
    marks = [spaced(argument) for argument in split(arguments)]
    return f"{name}(\n" + "".join(f"    {mark},\n" for mark in marks) + f"){returns}"


def spaced(arguments: ast.arguments) -> str:
    """The arguments as this project writes them: with spaces around the default of an annotated one."""
    return re.sub(r"(?<=[^\s=])=(?=[^\s=])", " = ", ast.unparse(arguments))


def split(arguments: ast.arguments) -> list[ast.arguments]:
    """Each argument alone, so that every one can stand on its own line."""
    empty = {"posonlyargs": [], "args": [], "kwonlyargs": [], "kw_defaults": [], "defaults": []}
    each = []
    first_default = len(arguments.args) - len(arguments.defaults)
    for place, argument in enumerate(arguments.args):
        defaults = [arguments.defaults[place - first_default]] if place >= first_default else []
        each.append(ast.arguments(**{**empty, "args": [argument], "defaults": defaults}))
    if arguments.vararg is not None:
        each.append(ast.arguments(**empty, vararg=arguments.vararg))
    elif arguments.kwonlyargs:
        each.append(ast.arguments(**empty, vararg=ast.arg("")))
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        defaults = [] if default is None else [default]
        each.append(ast.arguments(**{**empty, "args": [argument], "defaults": defaults}))
    if arguments.kwarg is not None:
        each.append(ast.arguments(**empty, kwarg=arguments.kwarg))
    return each


def members(module: str, node: ast.ClassDef) -> list[tuple[str, str, str]]:
    """The public members of a class, those of its bases in the package first: what it is called, written as, said."""
    inherited: dict[str, tuple[str, str, str]] = {}
    for base in node.bases:
        found = definition(module, ast.unparse(base)) if isinstance(base, ast.Name) else None
        if found is not None and isinstance(found.node, ast.ClassDef):
            inherited |= {name: (name, line, text) for name, line, text in members(found.module, found.node)}
    for child, following in zip(node.body, [*node.body[1:], None], strict=True):
        if isinstance(child, ast.AnnAssign) and isinstance(child.target, ast.Name):
            name = child.target.id
            line = f"{name}: {ast.unparse(child.annotation)}{default_of(child.value)}"
            text = string_of(following)
        elif isinstance(child, ast.FunctionDef):
            name, text = child.name, ast.get_docstring(child) or ""
            decorators = {ast.unparse(decorator) for decorator in child.decorator_list}
            if decorators & {"property", "cached_property"}:
                line = f"{name}: {ast.unparse(child.returns) if child.returns else 'Any'}"
            else:
                shown = "…" if name == "__call__" else name
                line = signature(child, shown, is_method="staticmethod" not in decorators)
                line = line.replace("…(", "evaluate(", 1) if name == "__call__" else line
        else:
            continue
        if not name.startswith("_") or name == "__call__":
            inherited[name] = (name, line, text)
    return list(inherited.values())


def default_of(value: ast.expr | None) -> str:
    if value is None:
        return ""
    private = any(isinstance(name, ast.Name) and name.id.startswith("_") for name in ast.walk(value))
    made = isinstance(value, ast.Call) and ast.unparse(value.func) == "field"
    return " = …" if private or made else f" = {ast.unparse(value)}"


def undocumented() -> list[str]:
    """The public names and members of classes of which no docstring says anything."""
    lacking = []
    for part in PARTS:
        for name, (module, attribute) in public_places(part).items():
            found = definition(module, attribute)
            if found is None:
                continue
            if not found.text:
                lacking.append(name)
            if isinstance(found.node, ast.ClassDef):
                each = members(found.module, found.node)
                said = found.text
                lacking += [f"{name}.{member}" for member, _, text in each if not text and f"``{member}``" not in said]
    return lacking


def pages() -> dict[str, str]:
    """Every page by its file's name."""
    sections: dict[str, dict[str, list[str]]] = {page: {} for page in PAGES}
    shown = set()
    for part in PARTS:
        for name, (module, attribute) in public_places(part).items():
            if (module, attribute) not in shown:
                shown.add((module, attribute))
                home = f"{module}.{attribute}".split(".")[1]
                kinds = (page for page, (_, _, folders) in PAGES.items() if home in folders)
                page = "tests" if part == PACKAGE else next(kinds, "extensions")
                sections[page][name] = section(name, module, attribute)
    index = OPENING
    for page, (title, _, _) in PAGES.items():
        links, seen = [], []
        for name in sections[page]:
            again = f"-{seen.count(name.lower())}" if name.lower() in seen else ""
            links.append(f"[`{name}`]({page}.md#{name.lower()}{again})")
            seen.append(name.lower())
        index += f"| [{title}]({page}.md) | {', '.join(links)} |\n"
    written = {"README.md": index}
    for page, (title, opening, _) in PAGES.items():
        lines = [f"# {title}", "", opening, "", *(line for each in sections[page].values() for line in each)]
        written[f"{page}.md"] = "\n".join(lines).rstrip("\n") + "\n"
    return written


def section(name: str, module: str, attribute: str) -> list[str]:
    lines = [f"## {name}", ""]
    found = definition(module, attribute)
    if found is None:
        return [*lines, *module_section(f"{module}.{attribute}", name)]
    if isinstance(found.node, ast.FunctionDef):
        return [*lines, "```python", signature(found.node, name), "```", "", in_markdown(found.text), ""]
    if isinstance(found.node, ast.ClassDef):
        lines += [in_markdown(found.text), ""]
        for _, line, text in members(found.module, found.node):
            lines += item(line, text)
        return [*lines, ""] if lines[-1] else lines
    return [*lines, "```python", ast.unparse(found.node), "```", "", in_markdown(found.text), ""]


def item(line: str, text: str) -> list[str]:
    """A member as an entry of a list: as it is written, then what is said of it."""
    if "\n" in line:
        shown = ["- ```python", *(f"  {each}" for each in line.splitlines()), "  ```"]
        return [*shown, *([textwrap.indent(in_markdown(text), "  ")] if text else [])]
    if not text:
        return [f"- `{line}`"]
    first, *others = in_markdown(text).split("\n\n")
    return [f"- `{line}`: {first}", *(line for each in others for line in ("", textwrap.indent(each, "  ")))]


def module_section(module: str, name: str) -> list[str]:
    """The public functions of a module, with those that it takes over from modules of its folder."""
    lines = [in_markdown(ast.get_docstring(tree(module)) or ""), ""]
    for node in tree(module).body:
        aliases = (
            [alias.name for alias in node.names if alias.asname == alias.name]
            if isinstance(node, ast.ImportFrom)
            else []
        )
        names = [node.name] if isinstance(node, ast.FunctionDef) and not node.name.startswith("_") else aliases
        for each in names:
            found = definition(module, each)
            if found is not None and isinstance(found.node, ast.FunctionDef):
                lines += item(signature(found.node, f"{name}.{each}"), found.text)
    return [*lines, ""]


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for file, text in pages().items():
        (FOLDER / file).write_text(text, encoding="utf-8")
    print(f"{FOLDER} written")
