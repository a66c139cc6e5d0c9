"""Common Voice: sentences read by volunteers, in many languages.

Ardila et al., "Common Voice: A Massively-Multilingual Speech Corpus", LREC 2020. Mozilla's archive of a language
unpacks into ``cv-corpus-<version>/<language>/``: ``<split>.tsv`` with a header (client_id, path, sentence, …, age,
gender, …) and ``clips/*.mp3``. The tables are written without quoting, and quotation marks in them need not balance
(github common-voice/common-voice, issue 5189; github pytorch/audio, issue 2838). ``client_id`` is a speaker.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Literal, TypeAlias, get_args

from pytest_audiobench.audio.clip import DataRoot
from pytest_audiobench.datasets.dataset import Dataset
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.datasets.published_layouts import Entry, tsv_entries
from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError

CommonVoiceSplit: TypeAlias = Literal["test", "dev", "train", "validated", "other", "invalidated"]

_OPTIONAL = ("age", "gender", "accents", "accent", "variant", "locale")


def common_voice(language: str, split: CommonVoiceSplit) -> Dataset:
    """One split of one language (its folder's name, as "en" or "zh-CN"), from its own layout.

    Metadata: speaker (the cluster), and of age, gender, accents, variant and locale what is given.
    Raises UsageError for a split that Common Voice does not have.
    """
    if split not in get_args(CommonVoiceSplit):
        raise UsageError(f"Common Voice has no split {split!r}; it has {', '.join(get_args(CommonVoiceSplit))}")
    if not re.fullmatch(r"[A-Za-z]+(-[A-Za-z]+)*", language):
        raise UsageError(f"{language!r} is no language of Common Voice; write its folder's name, as 'en' or 'zh-CN'")
    read = partial(_read, language, split)
    return Dataset(f"common_voice/{language}/{split}", read, cluster="speaker", groups=("gender", "age"))


def _read(language: str, split: str, places: Places) -> list[Sample]:
    root = places.find("common_voice", f"{language}/{split}.tsv")
    return [_sample(root, language, entry) for entry in tsv_entries(root.folder / language / f"{split}.tsv")]


def _sample(root: DataRoot, language: str, entry: Entry) -> Sample:
    file = entry.text("path")
    # The first releases left the ending out.
    file = file if file.endswith(".mp3") else f"{file}.mp3"
    return Sample(
        id=file.removesuffix(".mp3"),
        clips=(entry.clip(root, f"{language}/clips/{file}"),),
        question="",
        reference=entry.text("sentence"),
        metadata={"speaker": entry.text("client_id"), **entry.optional_texts(*_OPTIONAL)},
    )
