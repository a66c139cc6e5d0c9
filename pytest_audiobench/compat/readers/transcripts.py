"""Transcripts of utterances in pairs of files: NIST's ``trn`` and the ``text`` of Kaldi and all that came after it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from pytest_audiobench.compat.answer_files import AnswerFile, Reader, RecordedAnswer, ids_lost, with_ids_of
from pytest_audiobench.compat.transcript_alternatives import held_to
from pytest_audiobench.errors import UsageError

_TRN_NAMES = ("ref.trn", "*.ref.trn", "ref_*.trn", "*_ref.trn", "reference.trn", "ref.wrd.trn")
_KALDI_NAMES = ("ref", "ref.txt", "text.ref", "ref.text", "*.ref.txt", "*_ref.txt", "ref_*.txt")
_LOOKED_AT = 50
_LONGEST_ID = 1_000


def trn_fits(file: AnswerFile) -> bool:
    """Whether each of the first lines ends with an id in parentheses, or any of them in a file called ``.trn``."""
    if file.path.suffix.lower() in (".json", ".jsonl", ".csv", ".tsv", ".parquet") or file.is_binary:
        return False
    lines = [line for _, line in file.first_lines(_LOOKED_AT) if line.strip() and not line.startswith(";;")]
    enough = any if file.path.suffix.lower() == ".trn" else all
    return bool(lines) and enough(_text_and_id(line) for line in lines)


def trn_texts(file: AnswerFile) -> dict[str, str]:
    """The texts of a trn file by id. Raises UsageError for a line without an id and for an id that comes twice."""
    texts: dict[str, str] = {}
    for number, line in file.lines():
        if not line.strip() or line.startswith(";;"):
            continue
        if (pair := _text_and_id(line)) is None:
            raise UsageError(f"{file.path}, line {number} does not end with an id in parentheses, such as (utt-01)")
        text, id_ = pair
        _add(file, number, texts, id_, text)
    return texts


def _text_and_id(line: str) -> tuple[str, str] | None:
    """What stands before the last parentheses of a line, and in them; None where these hold no id."""
    line = line.strip()
    depth = 0
    for place in range(len(line) - 1, max(-1, len(line) - _LONGEST_ID), -1):
        depth += (line[place] == ")") - (line[place] == "(")
        if not depth:
            break
    else:
        return None
    id_ = line[place + 1 : -1]
    # A blank is in an id only within brackets of its own; what else has one is words that may be left out.
    outside = re.sub(r"\([^()]*\)", "", id_)
    is_id = bool(id_) and line.endswith(")") and not re.search(r"\s", outside)
    return (line[:place].strip(), id_) if is_id else None


def kaldi_fits(file: AnswerFile) -> bool:
    """Whether it is called ``text`` or named as hypotheses with a file of references, an id before each text."""
    path = file.path
    if path.suffix.lower() not in ("", ".txt", ".text", ".tra", ".hyp") or file.is_binary or trn_fits(file):
        return False
    lines = [line for _, line in file.first_lines(_LOOKED_AT) if line.strip()]
    ids = [line.split(maxsplit=1)[0] for line in lines]
    # Ids are told from sentences by being different, and by what is no word; a broken line is named when it is read.
    looks = 2 * len({id_ for id_ in ids if re.search(r"[\d_\-]", id_)}) > len(ids)
    return looks and (path.stem == "text" or file.references_beside(_KALDI_NAMES) is not None)


def kaldi_texts(file: AnswerFile) -> dict[str, str]:
    """The texts of a Kaldi ``text`` by id, of which any may be empty. Raises UsageError for an id that comes twice."""
    texts: dict[str, str] = {}
    for number, line in file.lines():
        if line.strip():
            id_, _, text = line.strip().partition(" ") if "\t" not in line else line.strip().partition("\t")
            _add(file, number, texts, id_, text.strip())
    return texts


def _add(file: AnswerFile, number: int, texts: dict[str, str], id_: str, text: str) -> None:
    if id_ in texts:
        raise UsageError(f"{file.path}, line {number}: the id {id_!r} comes twice: keep one hypothesis of each")
    texts[id_] = text


def _rows(texts_of: Callable[[AnswerFile], dict[str, str]], names: tuple[str, ...], nist: bool) -> Rows:
    def rows(file: AnswerFile) -> Iterator[RecordedAnswer]:
        hypotheses = texts_of(file)
        place = file.references_beside(names)
        references = {} if place is None else _references(AnswerFile(place), texts_of)
        note = ""
        if place is not None:
            references = with_ids_of(hypotheses, references)
            ids_lost(file.path, place, hypotheses, references)
            note = "" if file.terms.references else f"the references of {file.path.name} are those of {place.name}"
        eval_, model = file.names_with(place)
        for id_, text in hypotheses.items():
            reference: str | None = references.get(id_)
            if nist and reference is not None:
                reference, text = held_to(reference, text)
            yield RecordedAnswer(id_, text, reference, eval=eval_, model=model, family="transcription", note=note)

    return rows


def _references(file: AnswerFile, texts_of: Callable[[AnswerFile], dict[str, str]]) -> Mapping[str, str]:
    """Of either form: a Kaldi ``text`` may be compared with a trn file."""
    return trn_texts(file) if trn_fits(file) else kaldi_texts(file) if texts_of is not trn_texts else texts_of(file)


Rows = Callable[[AnswerFile], Iterator[RecordedAnswer]]

READERS = (
    Reader(
        name="trn",
        about="sclite's trn (text (id) a line, with the references in their own trn)",
        origin="real file",
        fits=trn_fits,
        rows=_rows(trn_texts, _TRN_NAMES, nist=True),
        endings=(".trn",),
        beside=_TRN_NAMES,
        general=True,
    ),
    Reader(
        name="kaldi-text",
        about="a Kaldi text (id text a line, with the references in their own text)",
        origin="imitation",
        fits=kaldi_fits,
        rows=_rows(kaldi_texts, _KALDI_NAMES, nist=False),
        endings=("text", ".txt"),
        beside=_KALDI_NAMES,
        general=True,
    ),
)
