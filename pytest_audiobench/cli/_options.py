"""The arguments that several verbs share, and where their output goes."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_audiobench.cli._text import say

if TYPE_CHECKING:
    from pytest_audiobench.compat.answer_files import ReadingTerms
    from pytest_audiobench.datasets.places import Places

FORMATS = ("table", "markdown", "csv", "json")
COMPONENTS = ("data", "audio", "prompts", "settings", "seeds", "protocols")


def level(text: str) -> float:
    """A level of significance. Raises argparse's error for what is none."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.0 < value <= 0.5:
        raise argparse.ArgumentTypeError(f"{text!r} is not a level: write a share above 0 and up to 0.5, such as 0.05")
    return value


def count(text: str) -> int:
    """A number of things. Raises argparse's error for what is none."""
    if not (text.isascii() and text.isdigit() and 0 < int(text[:9]) == int(text)):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 up")
    return int(text)


class Adding(argparse.Action):
    """Adds each further list with commas behind a comma; the first takes the default's place."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, value: Any, *_: object) -> None:
        before = getattr(namespace, self.dest)
        setattr(namespace, self.dest, value if before is self.default else f"{before},{value}")


_SELECTION: Mapping[str, Mapping[str, Any]] = {
    "--eval": {
        "metavar": "PATTERN",
        "action": "append",
        "default": [],
        "help": "only evals with this in their names; with * or ? a pattern of the whole name; repeatable",
    },
    "--model": {
        "metavar": "PATTERN",
        "action": "append",
        "default": [],
        "help": "only models with this in their aliases, as --eval (default: all); repeatable",
    },
    "--metric": {
        "metavar": "headline|all|NAME,…",
        "action": Adding,
        "default": "headline",
        "help": "the metrics (default: each eval's headline metric)",
    },
    "--scorers": {
        "metavar": "headline|all|NAME,…",
        "action": Adding,
        "default": "headline",
        "help": "the scorers (default: the headline scorer)",
    },
    "--max-drop": {
        "metavar": "MARGIN",
        "default": "1pp",
        "help": "the largest drop that is not a regression (default 1pp)",
    },
    "--alpha": {
        "metavar": "SHARE",
        "type": level,
        "default": 0.05,
        "help": "significance level of the tests (default 0.05)",
    },
}


def add_selection(parser: argparse.ArgumentParser, *options: str) -> None:
    """Declare those of :data:`_SELECTION`; ``--metric`` may be written as ``--metrics``."""
    for option in options:
        further = ["--metrics"] if option == "--metric" else []
        parser.add_argument(option, *further, **_SELECTION[option])


def add_compared(parser: argparse.ArgumentParser) -> None:
    """What is compared: runs and files, and which models, evals, metrics and scorers of them."""
    parser.add_argument(
        "runs",
        metavar="RUN|FILE",
        nargs="+",
        help="runs' folders, their run.json, baselines, or answers that any tool wrote (see audiobench list readers)",
    )
    add_reports(parser)
    add_selection(parser, "--eval", "--model", "--metric", "--scorers", "--alpha")


def add_reports(parser: argparse.ArgumentParser, text: str = "where runs lie that are named alone") -> None:
    """Declare ``--reports``, with its help."""
    parser.add_argument("--reports", metavar="FOLDER", type=Path, default=Path("reports"), help=text)


def add_terms_of_reading(parser: argparse.ArgumentParser) -> None:
    """How files of other tools are read."""
    add = parser.add_argument
    add(
        "--columns",
        metavar="FIELD=COLUMN,…",
        action=Adding,
        default="",
        help="a table's columns, such as id=utt,answer=pred,reference=ref,choices=options,groups=accent+age",
    )
    add("--references", metavar="FILE", type=Path, help="the references of hypotheses that lie in their own file")
    add("--reader", metavar="NAME", default="", help="read the files by this reader (see audiobench list readers)")


def terms_of_reading(args: argparse.Namespace) -> ReadingTerms:
    """What the user says of files of answers. Raises UsageError for columns that are not pairs."""
    from pytest_audiobench.compat.answer_files import ReadingTerms
    from pytest_audiobench.errors import UsageError

    columns = {}
    for pair in names(args.columns):
        field, _, column = pair.partition("=")
        if not (field.strip() and column.strip()):
            raise UsageError(f"--columns: {pair!r} is not a FIELD=COLUMN, such as answer=pred")
        columns[field.strip()] = column.strip()
    return ReadingTerms(columns, args.references, args.reader)


def add_output(parser: argparse.ArgumentParser, further: tuple[str, ...] = ()) -> None:
    """In which form the numbers are printed."""
    parser.add_argument(
        "--format", choices=(*FORMATS, *further), default="table", help="how to print it (default table)"
    )


def add_data(parser: argparse.ArgumentParser) -> None:
    """Declare ``--data``."""
    parser.add_argument(
        "--data",
        metavar="[NAME=]FOLDER",
        action="append",
        default=[],
        help="where packs lie, as --ab-data: packs=FOLDER for a folder of packs, PACK=FOLDER for one; repeatable",
    )


def add_data_folders(parser: argparse.ArgumentParser, about: str) -> None:
    """Declare ``--data`` for the audio of a run's data sets."""
    parser.add_argument("--data", metavar="NAME=FOLDER", action="append", default=[], type=data_folder, help=about)


def add_places(parser: argparse.ArgumentParser) -> None:
    """Declare ``--data`` for any data sets."""
    about = "where data sets lie, as --ab-data; repeatable"
    parser.add_argument("--data", metavar="[NAME=]FOLDER", action="append", default=[], help=about)


def add_data_root(parser: argparse.ArgumentParser) -> None:
    """Declare ``--data-root``."""
    parser.add_argument(
        "--data-root",
        metavar="FOLDER",
        type=Path,
        help="where fetched data lies, as --ab-data-root (default: AUDIOBENCH_DATA, else in the user's cache)",
    )


def places(args: argparse.Namespace) -> Places:
    """The places that ``--data`` names. Raises UsageError for what is no folder."""
    from pytest_audiobench.datasets.places import Places, data_root, folders

    here = Path.cwd()
    by_name, shelves = folders(args.data, here, "--data")
    return Places(here, by_name, [*shelves, here / "data", data_root()])


def local(named: str) -> str:
    """``named``, or where a copy lies of what is behind its address (``s3://…``)."""
    if "://" not in named:
        return named
    from pytest_audiobench.datasets.remote_places import is_remote, local_copy

    return str(local_copy(named)) if is_remote(named) else named


def data_folder(text: str) -> tuple[str, Path]:
    """NAME=FOLDER. Raises argparse's error for what is none."""
    name, equals, folder = text.partition("=")
    if not name or not equals or not folder:
        raise argparse.ArgumentTypeError(f"{text!r} is not a NAME=FOLDER")
    return name, Path(folder).expanduser()


def place(text: str) -> Path:
    """A file that can be written. Raises argparse's error before any work is done where its folder is not there."""
    path = Path(text)
    if path.is_dir() or not path.parent.is_dir():
        raise argparse.ArgumentTypeError(
            f"{text!r} is a folder: name a file" if path.is_dir() else f"there is no folder {str(path.parent)!r}"
        )
    return path


def names(text: str) -> tuple[str, ...]:
    """The names in a list with commas."""
    return tuple(stripped for name in text.split(",") if (stripped := name.strip()))


def put_or_page(
    args: argparse.Namespace,
    text: Callable[[], str],
    summary: str,
    remarks: Sequence[str],
    write_page: Callable[[Path], None],
) -> None:
    """Put out the text as ``--format`` and ``--out`` say, or the page where that names one, and its summary.

    Remarks are apart from what a program reads; other forms have them in their text. A form for programs is printed
    with the page too.
    """
    page = args.out is not None and args.out.suffix.lower() in (".html", ".htm")
    if page:
        write_page(args.out)
        say(f"written to {args.out}")
    shown = f"{summary}\n" if page and args.format == "table" else text()
    put(shown, remarks if args.format in ("csv", "json") else (), None if page else args.out)


def put(text: str, remarks: Sequence[str], file: Path | None) -> None:
    """Write ``text`` into ``file``, or print it; ``remarks`` go where they are in no program's way."""
    from pytest_audiobench.report.atomic_files import write_text
    from pytest_audiobench.report.formatting import printable

    text = text.encode("utf-8", "replace").decode()
    if file is None:
        sys.stdout.write(text)
    else:
        write_text(file, text)
        say(f"written to {file}")
    for remark in remarks:
        say(f"note: {printable(remark)}")
