"""Sound identification: mixtures of one to four sounds of a pack, asked about one label at a time.

After the suite ab/sound-id of github THENIROCK/audiobench, with its conditions, names and probes; mixtures, clips and
distractors are drawn in another way, since there they changed with Python's hash seed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from pytest_audiobench.audio import combining
from pytest_audiobench.audio.clip import Clip
from pytest_audiobench.datasets.dataset import Dataset
from pytest_audiobench.datasets.packs.discovery import LabelledPack, find_pack
from pytest_audiobench.datasets.packs.draws import DrawnMixture, Draws
from pytest_audiobench.datasets.packs.labels import label_words
from pytest_audiobench.datasets.packs.pack import CONDITIONS, MOST_MIXTURES, Pack
from pytest_audiobench.datasets.packs.recipes import Recipe, mix_recipes, pinned_clip, read_recipes
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import DataNotFound, UsageError
from pytest_audiobench.io.mistakes import Mistakes

CUSTOM = "custom"


def sound_id(
    pack: str | LabelledPack = "demo",
    condition: str | None = None,
    *,
    recipes: str | Path | None = None,
    mixtures: int | None = None,
    seed: int = 0,
) -> Dataset:
    """Mixtures of a pack's sounds; a sample asks whether one label is in one of them: "yes" or "no".

    ``condition`` is "solo", "pair" (the default), "triple", "quad", or "custom": the mixtures of the file ``recipes``,
    a relative path being read from the test file's folder, else those of ``--ab-mix``. All labels of a mixture are
    asked for, and the pack's distractor_count of labels that are not in it; it draws the pack's mixture_counts unless
    ``mixtures`` says how many. ``seed`` gives other draws, under other names. ``pack`` is a name, or any labelled data
    set by :func:`pack_from_labels`.

    Metadata: label (in the words of a question), pack, condition, mixture (the cluster), sources (how many). Raises
    UsageError for a condition that there is not; when it is read, DataNotFound where the pack is not on this machine,
    has too few labels, or no mixture was asked for.
    """
    condition = condition or (CUSTOM if recipes is not None else "pair")
    if condition not in (*CONDITIONS, CUSTOM):
        raise UsageError(f"there is no condition {condition!r}; there are {', '.join(CONDITIONS)} and {CUSTOM}")
    if recipes is not None and condition != CUSTOM:
        raise UsageError(f"recipes are mixtures of their own: leave the condition {condition!r} or the recipes away")
    if mixtures is not None and not (type(mixtures) is int and 1 <= mixtures <= MOST_MIXTURES):
        raise UsageError(f"mixtures={mixtures!r} cannot be drawn; ask for a whole number from 1 to {MOST_MIXTURES:,}")
    name = pack if isinstance(pack, str) else pack.name
    read = (
        partial(_custom, pack, recipes, seed)
        if condition == CUSTOM
        else partial(_read, pack, condition, mixtures, seed)
    )
    return Dataset(
        f"sound_id/{name}/{condition}{_suffix(seed)}", read, cluster="mixture", groups=("pack", "condition", "label")
    )


def _read(pack: str | LabelledPack, condition: str, mixtures: int | None, seed: int, places: Places) -> list[Sample]:
    source = _pack(pack, places)
    sources, has = CONDITIONS[condition], len(source.clips)
    if has < sources:
        raise DataNotFound(
            f"the pack {source.id} ({source.where}) has {has} labels, and a {condition} is made of {sources}"
        )
    drawn = draw_mixtures(source, condition, mixtures, seed)
    if not drawn:
        raise DataNotFound(f"the pack {source.id} ({source.where}) has no mixture of the condition {condition}")
    return _samples(condition, [(source, mixture, (0.0,) * sources) for mixture in drawn])


def draw_mixtures(pack: Pack, condition: str, mixtures: int | None = None, seed: int = 0) -> list[DrawnMixture]:
    """The mixtures of a condition, as many as the pack says or ``mixtures``, and none where it has too few labels."""
    sources = CONDITIONS[condition]
    count = pack.manifest.mixture_counts.get(condition, 0) if mixtures is None else mixtures
    if sources > len(pack.clips):
        return []
    names = [f"{pack.id}-{condition}-{number:03d}{_suffix(seed)}" for number in range(1, count + 1)]
    return _draws(pack, seed).mixtures(names, sources, pack.manifest.distractor_count)


def _custom(pack: str | LabelledPack, recipes: str | Path | None, seed: int, places: Places) -> list[Sample]:
    if recipes is not None:
        wanted = read_recipes((places.here / Path(recipes).expanduser()).resolve())
    else:
        wanted = mix_recipes(places.mixes)
    if not wanted:
        raise DataNotFound("no --ab-mix given: name a mixture (siren+rain@-6) or a file of recipes")
    packs: dict[str | None, Pack] = {}
    mixtures = []
    mistakes = Mistakes()
    for recipe in wanted:
        if recipe.pack not in packs:
            packs[recipe.pack] = _pack(recipe.pack or pack, places)
        _check_recipe(packs[recipe.pack], recipe, mistakes)
    mistakes.check()
    for recipe in wanted:
        source = packs[recipe.pack]
        mixtures.append((source, mixture_of_recipe(source, recipe, seed), recipe.levels_db))
    return _samples(CUSTOM, mixtures)


def mixture_of_recipe(pack: Pack, recipe: Recipe, seed: int) -> DrawnMixture:
    """The recipe's mixture, drawn by its name alone. Raises UsageError for a label or clip that the pack lacks."""
    mistakes = Mistakes()
    _check_recipe(pack, recipe, mistakes)
    mistakes.check()
    pins = {label: pinned_clip(recipe, label, pack.clips[label]) for label in recipe.pins}
    return _draws(pack, seed).of(recipe.name + _suffix(seed), recipe.labels, pins, pack.manifest.distractor_count)


def _check_recipe(pack: Pack, recipe: Recipe, mistakes: Mistakes) -> None:
    for label in recipe.labels:
        if label not in pack.clips:
            mistakes.add(f"{recipe.where}: the pack {pack.id} has no label {label!r}", label, pack.clips)
        elif label in recipe.pins:
            with mistakes.catching():
                pinned_clip(recipe, label, pack.clips[label])


def _samples(condition: str, mixtures: Sequence[tuple[Pack, DrawnMixture, tuple[float, ...]]]) -> list[Sample]:
    return [sample for pack, drawn, levels_db in mixtures for sample in _probes(condition, pack, drawn, levels_db)]


def clips_of(pack: Pack, drawn: DrawnMixture) -> list[Clip]:
    """The clips of a mixture, in the order of its labels."""
    return [pack.clips[label][number] for label, number in zip(drawn.labels, drawn.clips, strict=True)]


def _probes(condition: str, pack: Pack, drawn: DrawnMixture, levels_db: tuple[float, ...]) -> Iterator[Sample]:
    mixture = combining.mixture(clips_of(pack, drawn), levels_db)
    for label in (*drawn.labels, *drawn.absent):
        yield Sample(
            id=f"{drawn.name}/{label}",
            clips=(mixture,),
            question="",
            reference="yes" if label in drawn.labels else "no",
            metadata={
                "label": label_words(label),
                "pack": pack.id,
                "condition": condition,
                "mixture": drawn.name,
                "sources": len(drawn.labels),
            },
        )


def _pack(pack: str | LabelledPack, places: Places) -> Pack:
    return find_pack(pack, places) if isinstance(pack, str) else pack.read(places)


def _draws(pack: Pack, seed: int) -> Draws:
    return Draws(pack.id, {label: len(clips) for label, clips in pack.clips.items()}, seed)


def _suffix(seed: int) -> str:
    return f"-seed{seed}" if seed else ""
