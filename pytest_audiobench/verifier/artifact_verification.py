"""The verification of a run file of THENIROCK's audiobench, by that tool's own rules, and what these leave out."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from contextlib import suppress

from pytest_audiobench.compat.thenirock_audiobench.artifact import (
    BUNDLED,
    HALLUCINATION,
    ROBUST,
    SOUND,
    Artifact,
    run_hash,
    stable_digest,
)
from pytest_audiobench.compat.thenirock_audiobench.figures import answered_yes, figures, raw_answers, recorded_figure
from pytest_audiobench.protocols.presence.task import says_yes
from pytest_audiobench.protocols.prompt_sets import YESNO
from pytest_audiobench.verifier.checks import Check, CheckedItem, Verification, fails, not_recomputed, ok, same
from pytest_audiobench.verifier.clip_checks import Folders

_COPIES = (
    *("packs", "profile", "model", "seed", "prompt_version", "parser_version", "prompt_ensemble", "prompt_source"),
    "prompt_paraphrases_used",
)
"""Members of a sound run that are in its hashed config too."""
_CLOSE = 1e-12
_MOST_MANIFEST = 16_000_000
_ALL = (
    "this scheme hashes answers and the names of clips, and no audio: equal hashes do not say that the same sounds "
    "were played; it does not cover the figures, which are compared with what the answers give to twelve digits"
)
_NOTES: Mapping[str, str] = {
    ROBUST: "what was done to the clips is in the hash by the conditions' names only",
    SOUND: "the demo pack of 0.1 draws sounds by Python's salted hash(): demo://siren@3 is another sound in each run",
    HALLUCINATION: "latency and cost are in the hash, so that two equal runs differ",
}


def verify_artifact(run: Artifact, folders: Folders) -> Verification:
    """Recompute what a run file says. ``folders`` may hold one called as the suite, with its manifest.json.

    Raises UsageError for a manifest that is none.
    """
    of_sound = (*_parsed(run), *_copies(run)) if run.suite == SOUND else ()
    checks = [*_hashes(run, folders), *of_sound, *_figures(run)]
    notes = [_ALL, _NOTES[run.suite]]
    return Verification(str(run.file), [CheckedItem("artifact", run.suite, run.model, checks)], notes)


def _hashes(run: Artifact, folders: Folders) -> Iterator[Check]:
    digest = None
    with suppress(ValueError, RecursionError):
        digest = run_hash(run)
    if digest is None:
        packs = ", ".join(map(str, run.content["packs"]))
        yield not_recomputed("run_hash", f"it covers the manifests of the packs {packs}, which are not known here")
    else:
        yield same("run_hash", run.content["run_hash"], digest, "the file")
    if run.suite == SOUND:
        yield from _paraphrases(run)
    else:
        yield _manifest(run, folders)


def _manifest(run: Artifact, folders: Folders) -> Check:
    folder, recorded = folders.folder(run.suite), run.content["manifest_hash"]
    if folder is not None:
        try:
            with (folder / "manifest.json").open("rb") as file:
                digest = stable_digest(json.loads(file.read(_MOST_MANIFEST)))
        except (OSError, ValueError, RecursionError) as error:
            return not_recomputed("manifest_hash", f"{folder / 'manifest.json'} cannot be read as JSON ({error})")
        return same("manifest_hash", recorded, digest, "the file")
    if recorded == BUNDLED and run.suite == ROBUST:
        return ok("manifest_hash")
    return not_recomputed(
        "manifest_hash", f"the manifest is not in the file; --data {run.suite}=FOLDER, with manifest.json"
    )


def _paraphrases(run: Artifact) -> Iterator[Check]:
    config = run.content["config"]
    recorded, used = config.get("prompt_paraphrases_hash"), config.get("prompt_paraphrases_used")
    if recorded is None:
        return
    # The hash may be of all wordings of the set, where the file holds those that were asked.
    of_set = recorded == YESNO.digest and used == list(YESNO.paraphrases[: len(used or ())])
    if of_set or (isinstance(used, list) and stable_digest(used) == recorded):
        yield ok("prompt_paraphrases_hash")
    else:
        yield not_recomputed("prompt_paraphrases_hash", "it is that of a whole set, of which the file holds a part")


def _parsed(run: Artifact) -> Iterator[Check]:
    for mixture, probe in run.probes():
        paraphrases = probe.get("paraphrase_answers", [])
        odd = any(says_yes(answer["raw_answer"]) != answer["answered_yes"] for answer in paraphrases)
        if answered_yes(probe) != probe["answered_yes"] or odd or raw_answers(probe)[0] != probe["raw_answer"]:
            where = f"{probe['label']!r} of {mixture['mixture_name']!r}"
            yield fails("answered_yes", f"{where} is not what its parser makes of the raw answers")
            return
    yield ok("answered_yes")


def _copies(run: Artifact) -> Iterator[Check]:
    config = run.content["config"]
    odd = [name for name in _COPIES if name in run.content and name in config and run.content[name] != config[name]]
    yield fails("config", f"{', '.join(odd)} of the file is not that of its hashed config") if odd else ok("config")


def _figures(run: Artifact) -> Iterator[Check]:
    try:
        recomputed = figures(run)
    except (KeyError, TypeError, IndexError) as error:
        yield fails("figures", f"they cannot be recomputed: {error} is not among the answers")
        return
    for place, value in recomputed.items():
        recorded = recorded_figure(run, place)
        if not _alike(recorded, value):
            yield fails("figures", f"{'.'.join(place)} is {recorded!r} in the file and {value!r} recomputed")
            return
    yield ok("figures")
    if run.suite == HALLUCINATION:
        yield not_recomputed("findings", "they rest on that tool's bootstrap, which is not repeated here")


def _alike(recorded: object, value: float | None) -> bool:
    """Whether two figures are the same; sums of Python 3.12 and later differ from earlier ones in the last digit."""
    if value is None or isinstance(recorded, bool) or not isinstance(recorded, int | float):
        return value is None and recorded is None
    return math.isclose(recorded, value, rel_tol=_CLOSE, abs_tol=_CLOSE)
