"""Models of the Hub, brought into the Hub's own cache, from which ``hf:owner/name`` is read offline."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path

from pytest_audiobench.datasets.declaration import Fetch
from pytest_audiobench.datasets.remote_places import is_remote
from pytest_audiobench.errors import AudiobenchError, FatalError, InfrastructureError, UsageError
from pytest_audiobench.fetching.download import tried
from pytest_audiobench.fetching.hub import HubDataset, judged
from pytest_audiobench.fetching.progress import size_text
from pytest_audiobench.models.hf.checkpoint import CODE, NEEDED, Checkpoint
from pytest_audiobench.models.hf.options import split_target
from pytest_audiobench.models.model import Model
from pytest_audiobench.models.remote.api_keys import hub_token
from pytest_audiobench.models.spec import ModelSpec, parse_spec

KIND = "hf:"


class _Model(HubDataset):
    kind = "model"


def fetch_model(text: str, say: Callable[[str], None], dry: bool) -> None:
    """Fetch what ``hf:owner/name`` needs, and the adapter of ``hf:owner/name+owner/adapter``; of code only what
    ``trust=yes`` runs.

    Raises FatalErrors of one sentence.
    """
    spec = parse_spec(text)
    patterns = [*NEEDED, CODE] if spec.options.get("trust") == "yes" else NEEDED
    base, adapter = split_target(spec.target)
    for name in filter(None, (base, adapter)):
        if Path(name).expanduser().exists():
            say(f"{name}: a folder of this machine, used directly")
            continue
        if name.count("/") != 1:
            raise UsageError(f"{text}: {name[:80]!r} is neither a folder nor a name on the hub: write hf:owner/name")
        _fetch(name, spec.options.get("revision"), patterns, say, dry)


def _fetch(name: str, revision: str | None, patterns: list[str], say: Callable[[str], None], dry: bool) -> None:
    from huggingface_hub import constants, snapshot_download

    place = _Model(Fetch(hub=name))
    listing = place.listing(revision)
    files = [file for file in listing.files if any(fnmatch(file.path, pattern) for pattern in patterns)]
    if not any(file.path.endswith(".safetensors") for file in files):
        raise FatalError(
            f"{name} has no safetensors, and weights of another kind could run any code: choose another model"
        )
    size, cache = sum(file.bytes or 0 for file in files), Path(constants.HF_HUB_CACHE)
    cache.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(cache).free
    say(
        f"{name} at {listing.revision[:12]}: {len(files)} files, {size_text(size)}; into {cache}, "
        f"where {size_text(free)} are free"
    )
    if size > free:
        raise InfrastructureError(
            f"{name} takes {size_text(size)}, and {cache} has {size_text(free)} free: make room, or set HF_HOME"
        )
    if dry:
        return

    def snapshot() -> None:
        with judged(f"the model {name}", place.page, revision):
            # By the revision that was asked for, so that the cache knows its name when it is read offline.
            snapshot_download(name, revision=revision, allow_patterns=patterns, token=hub_token())

    tried(snapshot)
    say(f"{name}: fetched; --ab-model={KIND}{name} runs offline from now on")


def lacking_of_model(spec: ModelSpec, make: Callable[[ModelSpec], Model]) -> list[str]:
    """What asking a model lacks on this machine, with the remedies: files, libraries, a key. Nothing is fetched, not
    even where the spec allows it.
    """
    targets = filter(None, split_target(spec.target)) if spec.kind in ("hf", "vllm") else ()
    lacking = [text for name in targets if (text := _lacking_files(name, spec))]
    options = {key: value for key, value in spec.options.items() if key != "download"}
    try:
        parts = getattr(make(replace(spec, options=options)), "missing_parts", str)()
    except AudiobenchError as error:
        parts = "" if lacking else str(error)
    return [*lacking, parts] if parts else lacking


def _lacking_files(name: str, spec: ModelSpec) -> str:
    if is_remote(name):
        return f"{name} is read over the network when the run begins: copy it to this machine"
    is_base = name == split_target(spec.target)[0]
    try:
        checkpoint = Checkpoint.find(name, spec.options.get("revision") if is_base else None)
        _ = checkpoint.weights() if is_base else None
    except UsageError as error:
        if name.count("/") != 1 or Path(name).expanduser().exists():
            return str(error)
        return f"{name} is not complete in the Hugging Face cache: audiobench fetch {KIND}{name}"
    return ""
