"""Pools of a user's own: a folder with what there is of each layer, speech, burst, sfx, music and ambience.

``LAYER.jsonl`` has a piece a line: ``{audio, text, speaker, gender, language, how, style, caption, label, also,
licence, attribution}``, of which only ``audio``, a path next to it, must be there; speech needs ``text`` and
``language``, too. ``LAYER.audiobench.toml`` declares how the files of ``LAYER/`` are to be read: metadata of those
names is what is known of a piece, and the answer is its text or label. Else ``LAYER/`` is Common Voice, Emilia,
Multilingual LibriSpeech or FSD50K as they are distributed, or sounds by label: a folder for each, ``clips.json`` or a
table as ESC-50 has it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from pytest_audiobench.audio.clip import Clip, DataRoot, FileSource
from pytest_audiobench.audio.events import EVENT_TYPES
from pytest_audiobench.datasets.catalogue import SUFFIX
from pytest_audiobench.datasets.declaration import read_declarations
from pytest_audiobench.datasets.declared import declared_dataset
from pytest_audiobench.datasets.packs.clips import clips_in
from pytest_audiobench.datasets.packs.labels import label_words
from pytest_audiobench.datasets.places import Places, holds, relative_path
from pytest_audiobench.datasets.soundscape.pieces import LAYERS, Piece, Pools
from pytest_audiobench.datasets.table_rows import jsonl_rows
from pytest_audiobench.errors import UsageError
from pytest_audiobench.io.mistakes import Mistakes

_DISTRIBUTED = tuple(sorted(Path(__file__).parent.glob(f"*{SUFFIX}")))
_TEXTS = (
    "text",
    "speaker",
    "gender",
    "language",
    "how",
    "style",
    "caption",
    "label",
    "licence",
    "attribution",
    "raw_caption",
)
_FIELDS = ("audio", *_TEXTS, "also")
_OTHERS = {"speech": "speech", "human_voice": "speech", "singing": "speech", "music": "music"}
"""What labels of AudioSet's ontology say is heard with a sound."""
_CLEAN = ("cc0", "cc-by-4", "cc-by-3", "cc by", "cc-by", "public domain", "pdm", "mit", "apache")
_UNCLEAN = ("nc", "nd", "sampling")


def folder_pools(folder: Path) -> Pools:
    """The pools in ``folder``. Raises UsageError for none, and with all mistakes in what was written by hand."""
    mistakes, refused = Mistakes(), list[str]()
    layers = {layer: tuple(_checked(layer, _pieces(folder, layer, mistakes), refused)) for layer in LAYERS}
    mistakes.check()
    if not any(layers.values()):
        raise UsageError(
            f"{folder} holds no pool: put {LAYERS[0]}.jsonl or a folder {LAYERS[0]}/ there; the other layers are "
            f"{', '.join(LAYERS[1:])}"
        )
    needs = Counter(layer for layer, pieces in layers.items() for piece in pieces if piece.raw_caption == _MISSING)
    layers = {layer: tuple(replace(p, raw_caption=_raw(p)) for p in pieces) for layer, pieces in layers.items()}
    return Pools(folder.name, layers, needs_caption=dict(needs), refused=tuple(refused))


_MISSING = "\0"


def _raw(piece: Piece) -> str:
    return "" if piece.raw_caption == _MISSING else piece.raw_caption


def cleanly_licensed(pools: Pools) -> Pools:
    """The pools without pieces whose licence is not known to allow any use with attribution."""
    refused = list(pools.refused)

    def clean(piece: Piece) -> bool:
        words = piece.licence.lower()
        is_clean = any(name in words for name in _CLEAN) and not any(
            part in words.replace("_", "-").replace(" ", "-").split("-") for part in _UNCLEAN
        )
        if not is_clean:
            refused.append(f"{piece.source}: its licence is {piece.licence or 'unknown'}")
        return is_clean

    layers = {layer: tuple(filter(clean, pieces)) for layer, pieces in pools.layers.items()}
    return replace(pools, layers=layers, refused=tuple(refused))


def _checked(layer: str, pieces: Iterator[Piece], refused: list[str]) -> Iterator[Piece]:
    """Those of which is known what a reference needs; a caption is made of a label."""
    for piece in pieces:
        lacks = [name for name in ("text", "language") if layer == "speech" and not getattr(piece, name)]
        if layer != "speech" and not (piece.caption or piece.label):
            lacks = ["caption"]
        if lacks:
            refused.append(f"{piece.source}: nothing is known of its {' and '.join(lacks)}")
        elif layer != "speech" and not piece.caption:
            yield replace(piece, caption=f"the sound of {piece.label}", raw_caption=piece.raw_caption or _MISSING)
        else:
            yield piece


def _pieces(folder: Path, layer: str, mistakes: Mistakes) -> Iterator[Piece]:
    lines, declaration, inner = folder / f"{layer}.jsonl", folder / f"{layer}{SUFFIX}", folder / layer
    if lines.is_file():
        yield from _listed(lines, DataRoot(layer, folder), mistakes)
    elif declaration.is_file():
        yield from _declared(layer, inner if inner.is_dir() else folder, declaration)
    elif inner.is_dir():
        known = next((file for file in _DISTRIBUTED if _is_laid_out(inner, file)), None)
        if known is not None:
            yield from _declared(layer, inner, known)
        elif layer == "speech":
            yield from _multilingual_librispeech(DataRoot(layer, inner))
        else:
            for label, clips in clips_in(DataRoot(layer, inner)).items():
                for clip in clips:
                    yield Piece(str(clip.source), clip, label=label_words(label))


def _listed(file: Path, root: DataRoot, mistakes: Mistakes) -> Iterator[Piece]:
    for number, row in jsonl_rows(file, mistakes.add):
        where = f"{file}, line {number}"
        mistakes.check_keys(where, row, _FIELDS)
        for name in _TEXTS:
            if not isinstance(row.get(name, ""), str):
                mistakes.add(f"{where}: its {name!r} is not text; write one")
        also = row.get("also", [])
        if not isinstance(also, list) or any(kind not in EVENT_TYPES for kind in also):
            mistakes.add(f"{where}: its 'also' is not a list of {', '.join(EVENT_TYPES)}; add what else is heard")
            also = []
        audio = row.get("audio", "")
        if not isinstance(audio, str):
            mistakes.add(f"{where}: its 'audio' is not text; write the path of a file beside it")
            continue
        try:
            path = relative_path(audio)
        except ValueError as error:
            mistakes.add(f"{where}: its 'audio' cannot be used: {error}")
            continue
        known = {name: row[name] for name in _TEXTS if isinstance(row.get(name), str)}
        yield Piece(path, Clip(FileSource(root, path)), also=tuple(also), **cast(Any, known))


def _is_laid_out(folder: Path, file: Path) -> bool:
    return any(
        holds(folder, landmark) for declared in read_declarations(file).values() for landmark in declared.files({})
    )


def _declared(layer: str, folder: Path, file: Path) -> Iterator[Piece]:
    for declared in read_declarations(file).values():
        places = Places(folder, {declared.root: folder})
        for sample in declared_dataset(declared, {}).read(places):
            known = {name: str(sample.metadata[name]) for name in _TEXTS if sample.metadata.get(name)}
            answers = sample.reference.split(",")
            also = tuple(dict.fromkeys(_OTHERS[a.lower()] for a in answers if a.lower() in _OTHERS))
            answer = {"text": sample.reference} if layer == "speech" else {"label": label_words(answers[0].lower())}
            shared = {"licence": declared.source.licence or ""}
            piece = Piece(sample.id, sample.clips[0], **cast(Any, {**shared, **answer, **known}))
            yield piece if layer == "speech" else replace(piece, also=also)


_CODES: Mapping[str, str] = {
    "mls_dutch": "nl",
    "mls_english": "en",
    "mls_french": "fr",
    "mls_german": "de",
    "mls_italian": "it",
    "mls_polish": "pl",
    "mls_portuguese": "pt",
    "mls_spanish": "es",
}


def _multilingual_librispeech(root: DataRoot) -> Iterator[Piece]:
    """``mls_german/test/transcripts.txt`` and ``audio/SPEAKER/BOOK/ID.flac``, as OpenSLR's archives unpack (94).

    A path is made of parts of an id, which no declaration can say.
    """
    tables = sorted(file for name in _CODES for file in root.folder.glob(f"{name}*/*/transcripts.txt"))
    if not tables:
        raise UsageError(f"{root.folder} holds no speech that is read; list it in {root.folder.name}.jsonl beside it")
    for table in tables:
        within = table.parent.relative_to(root.folder).as_posix()
        code = next(code for name, code in _CODES.items() if within.startswith(name))
        for line in table.read_text(encoding="utf-8").splitlines():
            name, _, text = line.partition("\t")
            speaker, _, rest = name.partition("_")
            stem = f"{within}/audio/{speaker}/{rest.partition('_')[0]}/{name}"
            ending = ".opus" if (root.folder / f"{stem}.opus").is_file() else ".flac"
            clip = Clip(FileSource(root, relative_path(stem + ending)))
            yield Piece(name, clip, text.strip(), f"mls-{speaker}", language=code, licence="CC BY 4.0")
