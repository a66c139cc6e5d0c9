"""Tables of answers that no tool in particular writes: a row for each sample, with columns that the user names.

If they are not named, columns are taken by common names, if only one column has such a name for a field.
"""

from __future__ import annotations

import ast
import csv
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_audiobench.compat.answer_files import AnswerFile, Reader, ReadingTerms, RecordedAnswer, unanswered_note
from pytest_audiobench.datasets.columns import it_has
from pytest_audiobench.datasets.sample import LETTERS
from pytest_audiobench.errors import UsageError, install_command

FIELDS = (
    *("id", "answer", "reference", "references", "options", "question", "audio", "groups", "own"),
    *("eval", "model", "family", "error", "epoch"),
)
"""What a column can be named for. ``choices`` is another name of ``options``, ``group`` of ``groups``."""
_ALIASES: Mapping[str, str] = {"choices": "options", "group": "groups"}
_SEVERAL = ("groups", "own")
"""Fields of several columns, with a plus sign between them."""

_COMMON: Mapping[str, tuple[str, ...]] = {
    "id": ("id", "utt", "utt_id", "utterance_id", "uttid", "sample_id", "question_id", "qid", "key", "uid", "uuid"),
    "answer": (
        *("prediction", "predictions", "pred", "pred_text", "predicted", "predicted_text", "hyp", "hypothesis"),
        *("response", "model_response", "output", "model_output", "model_prediction", "model_answer", "generated"),
        *("generated_text", "prediction_text", "predicted_answer"),
    ),
    "reference": (
        *("reference", "ref", "target", "ground_truth", "groundtruth", "gt", "gold", "truth", "label", "transcript"),
        *("transcription", "answer", "text", "ref_text", "reference_text", "sentence"),
    ),
    "options": ("options", "choices"),
    "question": ("question", "prompt", "instruction", "query"),
    "audio": ("audio", "audio_path", "audio_filepath", "audio_file", "wav", "wav_path", "file_name", "filename"),
}
_MISSING = ("NaN", "nan", "<NA>", "#N/A")
_LETTERED = re.compile(r"\(?([A-Z])[).:]\s+")


def fits(file: AnswerFile) -> bool:
    """Whether it is a table, and, of JSON, one whose columns are named or can be guessed."""
    if file.path.suffix.lower() in (".csv", ".tsv", ".parquet"):
        return True
    if not (names := tuple(map(str, file.first))):
        return False
    return bool(file.terms.columns) or bool(_likely(names).get("answer"))


def rows(file: AnswerFile) -> Iterator[RecordedAnswer]:
    """The answers of a table. Raises UsageError for columns that do not exist or cannot be distinguished."""
    records = list(table_rows(file))
    if not records:
        raise UsageError(f"{file.path} is empty: there is nothing to score")
    names = tuple(dict.fromkeys(name for _, record in records[:1000] for name in record))
    columns, guesses = columns_of(file.path, names, file.terms, ("answer",))
    notes = []
    if guesses:
        taken = ",".join(f"{field}={columns[field]}" for field in guesses)
        notes.append(f"the columns of {file.path.name} were guessed by their names: --columns {taken}")
    if "id" not in columns:
        by = f"by {columns['audio']!r}" if "audio" in columns else "by their place"
        notes.append(f"{file.path.name} has no column of ids that is known, so samples are called {by}")
    elif nameless := sum(_text(_cell(record, columns["id"])) == "" for _, record in records):
        notes.append(f"{nameless:,} rows have no id in {columns['id']!r}, so these samples are called by their place")
    notes += _suspicions([record.get(columns["answer"]) for _, record in records], "answers", columns["answer"])
    if (column := columns.get("reference")) is not None:
        notes += _suspicions([record.get(column) for _, record in records], "references", column)
    beside = references_beside(file) if file.terms.references is not None else {}
    if file.terms.references is not None:
        answered = {_id(record, columns, place) for place, (_, record) in enumerate(records, 1)}
        notes.append(unanswered_note(file.terms.references, len(beside.keys() - answered), len(beside)))
    note = "; ".join(filter(None, notes))
    for place, (line, record) in enumerate(records, 1):
        try:
            yield _answer(record, columns, place, note, beside)
        except ValueError as error:
            raise UsageError(f"{file.path}, line {line}: {error}") from None


def _id(record: Mapping[str, Any], columns: Mapping[str, str], place: int) -> str:
    named = (_text(_cell(record, columns[field])) for field in ("id", "audio") if field in columns)
    return next(filter(None, named), f"{place:06d}")


def _cell(record: Mapping[str, Any], column: str) -> Any:
    """None also for the float that pandas writes where a value is missing."""
    cell = record.get(column)
    return None if isinstance(cell, float) and cell != cell else cell


def _suspicions(values: Sequence[Any], what: str, column: str) -> Iterator[str]:
    """What would give a figure that means something else than it seems to."""
    if objects := sum(isinstance(value, dict) for value in values):
        yield f"{objects:,} {what} in {column!r} are JSON objects, and are scored as JSON: put a text there"
    if missing := sum(isinstance(value, str) and value.strip() in _MISSING for value in values):
        yield f"{missing:,} {what} in {column!r} are the word NaN, as tables write a missing value: scored as a word"


def _answer(
    record: Mapping[str, Any],
    columns: Mapping[str, str],
    place: int,
    note: str,
    beside: Mapping[str, str | tuple[str, ...]],
) -> RecordedAnswer:
    def value(field: str) -> Any:
        return _cell(record, columns[field]) if field in columns else None

    def text(field: str) -> str:
        return _text(value(field))

    options = _options(value("options"))
    reference = _references(value("references")) if "references" in columns else _reference(value("reference"))
    id_ = _id(record, columns, place)
    reference = beside.get(id_) if beside else reference
    answer, error = value("answer"), text("error")
    return RecordedAnswer(
        id=id_,
        answer=None if answer is None or error else _text(answer),
        reference=_option_named(reference, options),
        options=options,
        question=text("question"),
        audio=text("audio"),
        groups={name: _text(record.get(name)) for name in _names(columns, "groups")},
        own={name: record.get(name) for name in _names(columns, "own")},
        error=error,
        eval=text("eval"),
        model=text("model"),
        family=text("family") or ("multiple_choice" if options else ""),
        epoch=_epoch(value("epoch")),
        note=note,
    )


def columns_of(
    path: Path, names: Sequence[str], terms: ReadingTerms, required: Sequence[str]
) -> tuple[dict[str, str], list[str]]:
    """The column of each field, and which fields were guessed.

    Raises UsageError for a column or a field that there is not, and for required fields that several columns, or none,
    could be.
    """
    columns: dict[str, str] = {}
    for written, column in terms.columns.items():
        field = _ALIASES.get(written, written)
        if field not in FIELDS:
            raise UsageError(f"{path.name}: {written}={column}: a column is named for {', '.join(FIELDS)}")
        columns[field] = column
        for name in column.split("+") if field in _SEVERAL and column not in names else (column,):
            if name not in names:
                raise UsageError(f"{path} has no column {name!r}, which {written}= names: {it_has(names)}")
    guesses = []
    likely = _likely([name for name in names if name not in columns.values()])
    for field, candidates in likely.items():
        # A reference that is read from elsewhere is in no column.
        is_elsewhere = field == "reference" and ("references" in columns or terms.references is not None)
        if field in columns or not candidates or is_elsewhere:
            continue
        if len(candidates) > 1 and field in ("answer", "reference"):
            several = " or ".join(map(repr, candidates))
            raise UsageError(f"{path}: the {field} could be in {several}: say which by --columns {field}=…")
        if len(candidates) == 1:
            columns[field] = candidates[0]
            if _ALIASES.get(candidates[0], candidates[0]) != field:
                guesses.append(field)
    for field in required:
        if field not in columns:
            raise UsageError(
                f"{path} has no column of the {field} that is known by its name: {it_has(names)}: name it by "
                f"--columns {field}=…"
            )
    return columns, guesses


def _likely(names: Sequence[str]) -> dict[str, list[str]]:
    """The columns whose names are common for each field."""
    plain = {name: re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_") for name in names}
    likely = {field: [name for name in names if plain[name] in common] for field, common in _COMMON.items()}
    # "answer" is what a model said only where nothing else is, which is ambiguous.
    if len(likely["reference"]) > 1:
        surer = [name for name in likely["reference"] if plain[name] not in ("text", "answer", "label", "sentence")]
        likely["reference"] = surer or likely["reference"]
    return likely


def table_rows(file: AnswerFile) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The rows of a JSON, JSONL, CSV, TSV or Parquet file, with lines or places."""
    kind = file.path.suffix.lower()
    if kind == ".parquet":
        yield from _parquet_rows(file.path)
    elif kind in (".csv", ".tsv"):
        yield from _csv_rows(file, "," if kind == ".csv" else "\t")
    else:
        yield from file.objects()


def _csv_rows(file: AnswerFile, delimiter: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    if file.is_binary:
        raise UsageError(f"{file.path} is not UTF-8 text: write it again in UTF-8")
    style: dict[str, Any] = {"delimiter": delimiter}
    if delimiter == "\t" and not any(cell.startswith('"') and cell.endswith('"') for cell in file.header):
        style["quoting"] = csv.QUOTE_NONE
    reader = csv.reader((f"{line}\n" for _, line in file.lines()), **style)
    header: list[str] = []
    try:
        for cells in reader:
            if not header:
                header = [cell.strip() for cell in cells]
                if repeated := [name for name in header if header.count(name) > 1]:
                    raise UsageError(f"{file.path} has the column {repeated[0]!r} twice: make column names differ")
                if len(header) == 1 and (other := next((mark for mark in ";\t|," if mark in header[0]), "")):
                    raise UsageError(
                        f"{file.path} has one column, {header[0][:80]!r}: are its cells put apart by {other!r}? write "
                        f"{delimiter!r} between them"
                    )
            elif len(cells) == len(header):
                yield reader.line_num, dict(zip(header, cells, strict=True))
            elif any(cells):
                advice = "put cells that hold the delimiter in quotes" if len(cells) > len(header) else "was it cut?"
                raise UsageError(
                    f"{file.path}, line {reader.line_num} has {len(cells)} cells under a header of {len(header)}: "
                    f"{advice}"
                )
    except csv.Error as error:
        raise UsageError(f"{file.path}, line {reader.line_num} cannot be read ({error}): correct its quotes") from None


def _parquet_rows(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ModuleNotFoundError:
        raise UsageError(f"{path} needs pyarrow: {install_command('parquet')}") from None
    place = 0
    try:
        for batch in ParquetFile(path).iter_batches(batch_size=1000):
            for row in batch.to_pylist():
                yield (place := place + 1), row
    except (ArrowException, OSError) as error:
        raise UsageError(f"{path} is not a Parquet file that can be read ({error})") from None


def references_beside(file: AnswerFile) -> dict[str, str | tuple[str, ...]]:
    """The references of the table that the user named, by id. Raises UsageError for an id that comes twice."""
    path = file.terms.references
    assert path is not None
    table = AnswerFile(path, ReadingTerms())
    records = list(table_rows(table))
    names = tuple(dict.fromkeys(name for _, record in records[:1000] for name in record))
    own = {
        field: column
        for field, column in file.terms.columns.items()
        if field in ("id", "reference", "references") and column in names
    }
    columns, _ = columns_of(path, names, ReadingTerms(columns=own), ("id",))
    references: dict[str, str | tuple[str, ...]] = {}
    for line, record in records:
        id_ = _text(record.get(columns["id"]))
        if id_ in references:
            raise UsageError(f"{path}, line {line}: the id {id_!r} comes twice")
        column = columns.get("references") or columns.get("reference")
        if column is None:
            raise UsageError(f"{path} has no column of the reference that is known by its name: {it_has(names)}")
        reference = (_references if "references" in columns else _reference)(record.get(column))
        if reference is not None:
            references[id_] = reference
    return references


def _names(columns: Mapping[str, str], field: str) -> Sequence[str]:
    return columns[field].split("+") if field in columns else ()


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, (list, dict)):
        # The first of several tries is what was answered.
        if isinstance(value, list) and value and isinstance(value[0], str):
            return str(value[0])
        return json.dumps(value, ensure_ascii=False)
    return str(value)


def _reference(value: Any) -> str | tuple[str, ...] | None:
    if value is None:
        return None
    if isinstance(value, list):
        return tuple(map(_text, value)) or None
    return _text(value)


def _references(value: Any) -> tuple[str, ...] | None:
    """All of a cell's references: a list, or texts with bars between them."""
    written = _written_list(value)
    if written is not None:
        return tuple(map(_text, written)) or None
    return tuple(_text(value).split("|")) if _text(value).strip() else None


def _written_list(value: Any) -> list[Any] | None:
    """A list, or a text that writes one as JSON or Python do."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return list(value.values())
    if isinstance(value, (list, tuple)):
        return list(value)
    if isinstance(value, str) and value.lstrip().startswith("["):
        for read in (json.loads, ast.literal_eval):
            try:
                listed = read(value.strip())
            except (ValueError, SyntaxError, RecursionError, MemoryError):
                continue
            if isinstance(listed, list):
                return listed
    return None


def _options(value: Any) -> tuple[str, ...]:
    """The texts of a cell's options, without letters before them."""
    written = _written_list(value)
    if written is None:
        text = _text(value).strip()
        written = text.split("|") if "|" in text else text.splitlines()
    texts = [_text(option).strip() for option in written]
    letters = [match[1] if (match := _LETTERED.match(text)) else "" for text in texts]
    if texts and letters == list(LETTERS[: len(texts)]):
        texts = [_LETTERED.sub("", text, count=1) for text in texts]
    return tuple(filter(None, texts))


def _option_named(reference: str | tuple[str, ...] | None, options: Sequence[str]) -> str | tuple[str, ...] | None:
    """The reference as an option's text where it is the option's letter, or has one before it."""
    if not isinstance(reference, str) or not options or reference in options:
        return reference
    text = _LETTERED.sub("", reference, count=1).strip()
    if text in options:
        return text
    letter = reference.strip().strip("().:").upper()
    place = LETTERS.find(letter) if len(letter) == 1 else -1
    return options[place] if 0 <= place < len(options) else reference


def _epoch(value: Any) -> int:
    try:
        return int(value or 0)
    except (TypeError, ValueError):
        raise ValueError(f"the epoch is {value!r}, and not a number from 0") from None


READERS = (
    Reader(
        name="table",
        about="a table with a row for each answer (--columns names its columns)",
        origin="real file",
        fits=fits,
        rows=rows,
        endings=(".json", ".jsonl", ".csv", ".tsv", ".parquet"),
        general=True,
    ),
)
