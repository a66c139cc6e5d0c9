"""Who speaks when: what segments a clip, each a function of its samples that is loaded by the first clip."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any, TypeAlias

from pytest_audiobench.audio.clip import Samples
from pytest_audiobench.errors import FatalError, UsageError
from pytest_audiobench.identity import digest, file_digest
from pytest_audiobench.models.pipeline.file import PYTHON

RATE_HZ = 16_000

Spans: TypeAlias = list[tuple[float, float, str]]
"""Begin and end in seconds, and a voice's label."""
Segmenter: TypeAlias = Callable[[Samples], Spans]

_PACKAGES = {"silero": "silero-vad", "pyannote": "pyannote.audio", "sortformer": "nemo_toolkit"}
_VERSIONS = {"silero": "silero/2"}
"""Of how spans are read: raised where others come of it, since answers are stored by it."""
_CHECKPOINTS = {"pyannote": "pyannote/speaker-diarization-3.1", "sortformer": "nvidia/diar_sortformer_4spk-v1"}


def segmenter_identity(use: str, model: str) -> Mapping[str, str]:
    """What a segmenter's spans depend on, as far as it can be known without loading it."""
    if use == "energy":
        from pytest_audiobench.models.bundled.listener import Listener

        return {"segmenter": use, **Listener().fingerprint()}
    name, release = _VERSIONS.get(use, use), _release(_PACKAGES[use])
    return {"segmenter": name, "release": release, "model": model or _CHECKPOINTS.get(use, "")}


def missing_package(use: str) -> str:
    """Which package a segmenter needs that is not installed; "" where none is."""
    package = _PACKAGES.get(use)
    lacking = package is not None and _release(package) == "absent"
    return f"{package} is not installed: pip install {package}" if lacking else ""


def segmenter(use: str, model: str) -> Segmenter:
    """The segmenter, with its weights. Raises FatalError where its package is not installed."""
    if lacking := missing_package(use):
        raise FatalError(f"the segmenter {use}: {lacking}")
    return _LOADERS[use](model or _CHECKPOINTS.get(use, ""))


def _release(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "absent"


def _energy(model: str) -> Segmenter:
    """What stands out of the bed and is taken for speech by the bundled listener, which tells voices apart."""
    from pytest_audiobench.models.bundled.scenes import SceneListener
    from pytest_audiobench.models.bundled.trained import Trained

    listener = SceneListener(Trained.read(), lambda samples: "")

    def spans(samples: Samples) -> Spans:
        events = listener.events(samples)
        return [(event.start_time, event.end_time, event.speaker_id) for event in events if event.type == "speech"]

    return spans


def _silero(model: str) -> Segmenter:
    import torch
    from silero_vad import get_speech_timestamps, load_silero_vad

    network = load_silero_vad()

    def spans(samples: Samples) -> Spans:
        # Asked for seconds it rounds them to tenths, which cuts words off.
        times = get_speech_timestamps(torch.from_numpy(samples), network, sampling_rate=RATE_HZ)
        return [(time["start"] / RATE_HZ, time["end"] / RATE_HZ, "") for time in times]

    return spans


def _pyannote(model: str) -> Segmenter:
    import torch
    from pyannote.audio import Pipeline

    pipeline: Any = Pipeline.from_pretrained(model)

    def spans(samples: Samples) -> Spans:
        result = pipeline({"waveform": torch.from_numpy(samples)[None], "sample_rate": RATE_HZ})
        # From release 4 on the annotation is a field of the result.
        tracks = getattr(result, "speaker_diarization", result).itertracks(yield_label=True)
        return [(float(turn.start), float(turn.end), str(label)) for turn, _, label in tracks]

    return spans


def _sortformer(model: str) -> Segmenter:
    from nemo.collections.asr.models import SortformerEncLabelModel

    network: Any = SortformerEncLabelModel.from_pretrained(model)
    network.eval()

    def spans(samples: Samples) -> Spans:
        (lines,) = network.diarize(audio=[samples], sample_rate=RATE_HZ, batch_size=1)
        return [(float(start), float(end), label) for start, end, label in (line.split() for line in lines)]

    return spans


_LOADERS: Mapping[str, Callable[[str], Segmenter]] = {
    "energy": _energy,
    "silero": _silero,
    "pyannote": _pyannote,
    "sortformer": _sortformer,
}


def python_function(use: str, folder: Path) -> tuple[Callable[[Any], Any], str]:
    """The function of ``python:MODULE:FUNCTION`` and a digest of its source; modules next to the file come first.

    Raises UsageError where there is none.
    """
    name, _, attribute = use.removeprefix(PYTHON).partition(":")
    beside = folder / f"{name.replace('.', '/')}.py"
    if beside.is_file():
        unique = f"audiobench_pipeline_{digest(str(beside))[:16]}"
        if unique not in sys.modules:
            spec = importlib.util.spec_from_file_location(unique, beside)
            if spec is None or spec.loader is None:
                raise UsageError(f"{beside} is not a Python module")
            module = importlib.util.module_from_spec(spec)
            try:
                spec.loader.exec_module(module)
            except Exception as error:
                raise UsageError(f"{beside} cannot be run: {type(error).__name__}: {error}") from error
            sys.modules[unique] = module
        module = sys.modules[unique]
    else:
        try:
            module = importlib.import_module(name)
        except ImportError as error:
            raise UsageError(f"{use} cannot be imported ({error}), and {beside} does not exist") from None
    function = getattr(module, attribute, None)
    if not callable(function):
        raise UsageError(f"{use}: {name} has no function {attribute!r}")
    return function, file_digest(Path(str(module.__file__))) if module.__file__ else name
