"""What a model, a protocol, a scorer, a metric, a data set or a perturbation of one's own is made of.

An extension is a package that registers such things under an entry point (:class:`Extension`); a conftest.py registers
them for the tests beside it (``pytest_audiobench_register``).
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_audiobench.audio import combining as combining
    from pytest_audiobench.audio import edits as edits
    from pytest_audiobench.audio import synthesis as synthesis
    from pytest_audiobench.audio.audio_fixture import AudioFixture as AudioFixture
    from pytest_audiobench.audio.clip import Clip as Clip
    from pytest_audiobench.audio.clip import DataRoot as DataRoot
    from pytest_audiobench.audio.clip import FileSource as FileSource
    from pytest_audiobench.audio.clip import PlayedAudio as PlayedAudio
    from pytest_audiobench.datasets.dataset import Dataset as Dataset
    from pytest_audiobench.datasets.packs.discovery import pack_from_labels as pack_from_labels
    from pytest_audiobench.datasets.perturbations.perturbation import Perturbation as Perturbation
    from pytest_audiobench.datasets.perturbations.perturbation import per_clip as per_clip
    from pytest_audiobench.datasets.places import Places as Places
    from pytest_audiobench.datasets.sample import Sample as Sample
    from pytest_audiobench.datasets.sample import letter_of as letter_of
    from pytest_audiobench.datasets.voices import Line as Line
    from pytest_audiobench.datasets.voices import Speech as Speech
    from pytest_audiobench.datasets.voices import bundled_digits as bundled_digits
    from pytest_audiobench.datasets.voices import espeak as espeak
    from pytest_audiobench.datasets.voices import first_available_voices as first_available_voices
    from pytest_audiobench.datasets.voices import speech_files as speech_files
    from pytest_audiobench.errors import AudioError as AudioError
    from pytest_audiobench.errors import DataNotFound as DataNotFound
    from pytest_audiobench.errors import FatalError as FatalError
    from pytest_audiobench.errors import SampleError as SampleError
    from pytest_audiobench.errors import TransientError as TransientError
    from pytest_audiobench.errors import UsageError as UsageError
    from pytest_audiobench.extensions import CONTRACT as CONTRACT
    from pytest_audiobench.identity import seed as seed
    from pytest_audiobench.metrics.metric import Clusters as Clusters
    from pytest_audiobench.metrics.metric import Estimate as Estimate
    from pytest_audiobench.metrics.metric import MetricKind as MetricKind
    from pytest_audiobench.metrics.metric import Statistics as Statistics
    from pytest_audiobench.metrics.value import Metric as Metric
    from pytest_audiobench.models.hf.engine import Engine as Engine
    from pytest_audiobench.models.hf.families import Family as Family
    from pytest_audiobench.models.hf.transcribers import features_of as features_of
    from pytest_audiobench.models.messages import Ask as Ask
    from pytest_audiobench.models.messages import AudioSlot as AudioSlot
    from pytest_audiobench.models.messages import Message as Message
    from pytest_audiobench.models.messages import Output as Output
    from pytest_audiobench.models.messages import Part as Part
    from pytest_audiobench.models.messages import Request as Request
    from pytest_audiobench.models.messages import Response as Response
    from pytest_audiobench.models.messages import Settings as Settings
    from pytest_audiobench.models.model import Hearing as Hearing
    from pytest_audiobench.models.model import Limits as Limits
    from pytest_audiobench.models.model import Model as Model
    from pytest_audiobench.plugin.hookspecs import Extension as Extension
    from pytest_audiobench.plugin.hookspecs import Registration as Registration
    from pytest_audiobench.plugin.model_fixture import ModelFixture as ModelFixture
    from pytest_audiobench.protocols.embedding_similarity import embedded as embedded
    from pytest_audiobench.protocols.judged.default_judgings import parse_yes_no as parse_yes_no
    from pytest_audiobench.protocols.judged.default_judgings import score_yes_no as score_yes_no
    from pytest_audiobench.protocols.judged.verdicts import marked as marked
    from pytest_audiobench.protocols.judged.verdicts import verdict_scorers as verdict_scorers
    from pytest_audiobench.protocols.multiple_choice.letters import read_choice as read_choice
    from pytest_audiobench.protocols.multiple_choice.task import option_lines as option_lines
    from pytest_audiobench.protocols.prompt_sets import PromptSet as PromptSet
    from pytest_audiobench.protocols.prompt_sets import prompt_set as prompt_set
    from pytest_audiobench.protocols.protocol import Answer as Answer
    from pytest_audiobench.protocols.protocol import Earlier as Earlier
    from pytest_audiobench.protocols.protocol import Judging as Judging
    from pytest_audiobench.protocols.protocol import Protocol as Protocol
    from pytest_audiobench.protocols.protocol import Scorer as Scorer
    from pytest_audiobench.protocols.protocol import Stage as Stage
    from pytest_audiobench.report.run_reader import Run as Run
    from pytest_audiobench.serving.options import ServeOptions as ServeOptions
    from pytest_audiobench.serving.server import serve as serve
    from pytest_audiobench.stats.intervals import mean_interval as mean_interval

_PLACES = {
    "Answer": "protocols.protocol:Answer",
    "Ask": "models.messages:Ask",
    "AudioError": "errors:AudioError",
    "AudioFixture": "audio.audio_fixture:AudioFixture",
    "AudioSlot": "models.messages:AudioSlot",
    "CONTRACT": "extensions:CONTRACT",
    "Clip": "audio.clip:Clip",
    "Clusters": "metrics.metric:Clusters",
    "DataNotFound": "errors:DataNotFound",
    "DataRoot": "audio.clip:DataRoot",
    "Dataset": "datasets.dataset:Dataset",
    "Earlier": "protocols.protocol:Earlier",
    "Engine": "models.hf.engine:Engine",
    "Estimate": "metrics.metric:Estimate",
    "Extension": "plugin.hookspecs:Extension",
    "Family": "models.hf.families:Family",
    "FatalError": "errors:FatalError",
    "FileSource": "audio.clip:FileSource",
    "Hearing": "models.model:Hearing",
    "Judging": "protocols.protocol:Judging",
    "Limits": "models.model:Limits",
    "Line": "datasets.voices:Line",
    "Message": "models.messages:Message",
    "Metric": "metrics.value:Metric",
    "MetricKind": "metrics.metric:MetricKind",
    "Model": "models.model:Model",
    "ModelFixture": "plugin.model_fixture:ModelFixture",
    "Output": "models.messages:Output",
    "Part": "models.messages:Part",
    "Perturbation": "datasets.perturbations.perturbation:Perturbation",
    "Places": "datasets.places:Places",
    "PlayedAudio": "audio.clip:PlayedAudio",
    "PromptSet": "protocols.prompt_sets:PromptSet",
    "Protocol": "protocols.protocol:Protocol",
    "Registration": "plugin.hookspecs:Registration",
    "Request": "models.messages:Request",
    "Response": "models.messages:Response",
    "Run": "report.run_reader:Run",
    "Sample": "datasets.sample:Sample",
    "SampleError": "errors:SampleError",
    "Scorer": "protocols.protocol:Scorer",
    "ServeOptions": "serving.options:ServeOptions",
    "Settings": "models.messages:Settings",
    "Speech": "datasets.voices:Speech",
    "Stage": "protocols.protocol:Stage",
    "Statistics": "metrics.metric:Statistics",
    "TransientError": "errors:TransientError",
    "UsageError": "errors:UsageError",
    "bundled_digits": "datasets.voices:bundled_digits",
    "combining": "audio.combining",
    "edits": "audio.edits",
    "embedded": "protocols.embedding_similarity:embedded",
    "espeak": "datasets.voices:espeak",
    "features_of": "models.hf.transcribers:features_of",
    "first_available_voices": "datasets.voices:first_available_voices",
    "letter_of": "datasets.sample:letter_of",
    "marked": "protocols.judged.verdicts:marked",
    "mean_interval": "stats.intervals:mean_interval",
    "option_lines": "protocols.multiple_choice.task:option_lines",
    "pack_from_labels": "datasets.packs.discovery:pack_from_labels",
    "parse_yes_no": "protocols.judged.default_judgings:parse_yes_no",
    "per_clip": "datasets.perturbations.perturbation:per_clip",
    "prompt_set": "protocols.prompt_sets:prompt_set",
    "read_choice": "protocols.multiple_choice.letters:read_choice",
    "score_yes_no": "protocols.judged.default_judgings:score_yes_no",
    "seed": "identity:seed",
    "serve": "serving.server:serve",
    "speech_files": "datasets.voices:speech_files",
    "synthesis": "audio.synthesis",
    "verdict_scorers": "protocols.judged.verdicts:verdict_scorers",
}
"""Where each name lies in this package: what is imported when the name is first used, by nobody before."""


if not TYPE_CHECKING:  # A checker that sees it takes every name for one that is there.

    def __getattr__(name: str) -> Any:
        if name == "__all__":
            return sorted(_PLACES)
        if name not in _PLACES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module, _, attribute = _PLACES[name].partition(":")
        imported = importlib.import_module(f"pytest_audiobench.{module}")
        return getattr(imported, attribute) if attribute else imported


def __dir__() -> list[str]:
    return sorted(_PLACES)
