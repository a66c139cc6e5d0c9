"""FLEURS: the sentences of FLoRes read aloud in 102 languages.

Conneau et al., "FLEURS: Few-shot Learning Evaluation of Universal Representations of Speech", SLT 2022;
huggingface.co/datasets/google/fleurs. A language lies in ``data/<config>/``: ``<split>.tsv`` without a header, and
``audio/<split>.tar.gz``, which unpacks into ``audio/<split>/*.wav``. Its columns, as the repository's fleurs.py reads
them: the sentence's number, the file, the raw transcript, the normalised one (small letters, no punctuation), that in
characters, the number of samples, the speaker's gender. Up to three speakers read a sentence, and they are not named:
a sentence is the cluster.
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

FleursSplit: TypeAlias = Literal["test", "dev", "train"]

_COLUMNS = ("sentence", "file", "raw", "transcription", "characters", "samples", "gender")


def fleurs(config: str, split: FleursSplit) -> Dataset:
    """One split of one language ("en_us", "cmn_hans_cn"), from its own layout; the reference is the normalised text.

    Metadata: sentence (the cluster), gender. Raises UsageError for a split that FLEURS does not have.
    """
    if split not in get_args(FleursSplit):
        raise UsageError(f"FLEURS has no split {split!r}; it has {', '.join(get_args(FleursSplit))}")
    if not re.fullmatch(r"[a-z0-9]+(_[a-z0-9]+)*", config):
        raise UsageError(f"{config!r} is no language of FLEURS; write its folder's name, as 'en_us' or 'cmn_hans_cn'")
    return Dataset(f"fleurs/{config}/{split}", partial(_read, config, split), cluster="sentence", groups=("gender",))


def _read(config: str, split: str, places: Places) -> list[Sample]:
    # The repository keeps languages in its folder data: either that one or the repository is pointed to.
    root = places.find("fleurs", f"{config}/{split}.tsv", f"data/{config}/{split}.tsv")
    inside = config if (root.folder / config / f"{split}.tsv").is_file() else f"data/{config}"
    entries = tsv_entries(root.folder / inside / f"{split}.tsv", _COLUMNS)
    return [_sample(root, f"{inside}/audio/{split}", entry) for entry in entries]


def _sample(root: DataRoot, folder: str, entry: Entry) -> Sample:
    file = entry.text("file")
    return Sample(
        id=file.removesuffix(".wav"),
        clips=(entry.clip(root, f"{folder}/{file}"),),
        question="",
        reference=entry.text("transcription"),
        metadata={"sentence": entry.text("sentence"), **entry.optional_texts("gender")},
    )
