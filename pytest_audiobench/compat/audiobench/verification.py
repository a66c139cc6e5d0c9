"""A run file of the audiobench tool verified by that tool's own rules, and what those rules do not cover."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping

from pytest_audiobench.compat.audiobench.artifact import HALLUCINATION, ROBUST, SOUND, Artifact
from pytest_audiobench.compat.audiobench.figures import answered_yes, figures, raw_answers, recorded
from pytest_audiobench.compat.audiobench.hashing import BUNDLED, run_hash, stable_digest
from pytest_audiobench.protocols.presence.family import says_yes
from pytest_audiobench.protocols.prompt_sets import YESNO
from pytest_audiobench.verification.checks import Check, Checked, Verification, fails, ok, same, unknown
from pytest_audiobench.verification.clip_checks import Folders

_COPIES = (
    "packs", "profile", "model", "seed", "prompt_version", "parser_version", "prompt_ensemble", "prompt_source",
    "prompt_paraphrases_used",
)  # fmt: skip
"""Members of a sound run that stand in its hashed config too."""
_CLOSE = 1e-12
_MOST_MANIFEST = 16_000_000
_ALL = (
    "this scheme hashes answers and the names of clips, and no audio: equal hashes do not say that the same sounds "
    "were heard; it does not cover the figures, which are held to twelve digits of what the answers give"
)
_NOTES: Mapping[str, str] = {
    ROBUST: "what was done to the clips is in the hash by the conditions' names only",
    SOUND: "the demo pack of 0.1 draws sounds by Python's salted hash(): demo://siren@3 is another sound in each run",
    HALLUCINATION: "latency and cost are in the hash, so that two equal runs differ",
}


def verify_artifact(run: Artifact, folders: Folders) -> Verification:
    """Recompute what a run file tells. ``folders`` may hold one called as the suite, with its manifest.json.

    Raises UsageError for a manifest that is none.
    """
    checks = [*_hashes(run, folders), *_parsed(run), *_copies(run), *_figures(run)]
    notes = [_ALL, _NOTES[run.suite]]
    return Verification(str(run.file), [Checked("artifact", run.suite, run.model, checks)], notes)


def _hashes(run: Artifact, folders: Folders) -> Iterator[Check]:
    found = _of(lambda: run_hash(run))
    if found is None:
        packs = ", ".join(map(str, run.content["packs"]))
        yield unknown("run_hash", f"it covers the manifests of the packs {packs}, which are not known here")
    else:
        yield same("run_hash", run.content["run_hash"], found, "the file")
    if run.suite == SOUND:
        yield from _paraphrases(run)
    else:
        yield _manifest(run, folders)


def _of(compute: Callable[[], str | None]) -> str | None:
    try:
        return compute()
    except (ValueError, RecursionError):
        return None


def _manifest(run: Artifact, folders: Folders) -> Check:
    folder, told = folders.folder(run.suite), run.content["manifest_hash"]
    if folder is not None:
        try:
            with (folder / "manifest.json").open("rb") as file:
                found = stable_digest(json.loads(file.read(_MOST_MANIFEST)))
        except (OSError, ValueError, RecursionError) as error:
            return unknown("manifest_hash", f"{folder / 'manifest.json'} cannot be read as JSON ({error})")
        return same("manifest_hash", told, found, "the file")
    if told == BUNDLED and run.suite == ROBUST:
        return ok("manifest_hash")
    return unknown("manifest_hash", f"the manifest is not in the file; --data {run.suite}=FOLDER, with manifest.json")


def _paraphrases(run: Artifact) -> Iterator[Check]:
    config = run.content["config"]
    told, used = config.get("prompt_paraphrases_hash"), config.get("prompt_paraphrases_used")
    if told is None:
        return
    if isinstance(used, list) and stable_digest(used) == told:
        yield ok("prompt_paraphrases_hash")
    elif told == YESNO.digest and used == list(YESNO.paraphrases[: len(used or ())]):
        # The hash is of all wordings of the set, the file holds those that were asked.
        yield ok("prompt_paraphrases_hash")
    else:
        yield unknown("prompt_paraphrases_hash", "it is that of a whole set, of which the file holds a part")


def _parsed(run: Artifact) -> Iterator[Check]:
    if run.suite != SOUND:
        return
    for mixture, probe in run.probes():
        each = [
            one for one in probe.get("paraphrase_answers", []) if says_yes(one["raw_answer"]) != one["answered_yes"]
        ]
        if answered_yes(probe) != probe["answered_yes"] or each or raw_answers(probe)[0] != probe["raw_answer"]:
            where = f"{probe['label']!r} of {mixture['mixture_name']!r}"
            yield fails("answered_yes", f"{where} is not what its parser makes of the raw answers")
            return
    yield ok("answered_yes")


def _copies(run: Artifact) -> Iterator[Check]:
    if run.suite != SOUND:
        return
    config = run.content["config"]
    odd = [name for name in _COPIES if name in run.content and name in config and run.content[name] != config[name]]
    if odd:
        yield fails("config", f"{', '.join(odd)} of the file is not that of its hashed config")
    else:
        yield ok("config")


def _figures(run: Artifact) -> Iterator[Check]:
    try:
        found = figures(run)
    except (KeyError, TypeError, IndexError) as error:
        yield fails("figures", f"they cannot be recomputed: {error} is not among the answers")
        return
    for place, value in found.items():
        told = recorded(run, place)
        if not _alike(told, value):
            yield fails("figures", f"{'.'.join(place)} is {told!r} in the file and {value!r} recomputed")
            return
    yield ok("figures")
    if run.suite == HALLUCINATION:
        yield unknown("findings", "they rest on that tool's bootstrap, which is not repeated here")


def _alike(told: object, value: float | None) -> bool:
    """Whether two figures are the same; sums of Python 3.12 and later differ from earlier ones in the last digit."""
    if value is None or isinstance(told, bool) or not isinstance(told, int | float):
        return value is None and told is None
    return math.isclose(told, value, rel_tol=_CLOSE, abs_tol=_CLOSE)
