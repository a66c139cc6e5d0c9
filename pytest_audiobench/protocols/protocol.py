"""What an answer means: how a model is asked about a sample, and how the answer is read and scored."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import wraps
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, ParamSpec, TypeAlias

from pytest_audiobench import extensions
from pytest_audiobench.datasets.sample import Field, Sample
from pytest_audiobench.errors import UsageError
from pytest_audiobench.io.mistakes import nearest
from pytest_audiobench.models.messages import Message, Response, Settings, Task
from pytest_audiobench.protocols.answer_failures import Expects

Status: TypeAlias = Literal["parsed", "unparsed", "refused", "empty", "out_of_range", "truncated"]
Role: TypeAlias = Literal["subject", "judge", "extractor", "rewriter"]
WEIGHING: frozenset[Role] = frozenset({"judge", "extractor"})
"""The roles of those who say something of an answer that is there, after everything else was asked."""
TRANSCRIBER, QUALITY, VOICE = "transcriber", "quality", "voice"
HEARING: Mapping[str, str] = {
    TRANSCRIBER: "hf:openai/whisper-base",
    QUALITY: "http:http://127.0.0.1:8000",
    VOICE: "http:http://127.0.0.1:8001",
}
"""The aliases of judges that are played spoken answers and are asked nothing else, each with an example of one."""
Earlier: TypeAlias = Mapping[str, Response]
"""The responses of a sample's earlier stages, by stage name."""


ANSWER, CLEAN, CONDITIONED, CHANGED = "answer", "clean", "conditioned", "changed"
"""Names of stages: the question, the same of the clips before a perturbation, the forced choices."""


class Answer(NamedTuple):
    """An answer as read: its value (an option's letter, a transcript) when parsed, else why there is none."""

    status: Status
    """"parsed" with a value; else "unparsed", "refused", "empty", "out_of_range" or "truncated"."""
    value: str | None = None
    """What was read; None unless it was parsed."""


class Compared(Answer):
    """An answer with the earlier one that it is compared with, and how many characters of reasoning there were."""

    before: Answer | None
    reasoned: int

    def __new__(cls, status: Status, value: str | None, before: Answer | None = None, reasoned: int = 0) -> Compared:
        self = super().__new__(cls, status, value)
        self.before, self.reasoned = before, reasoned
        return self


def at_wording(stage: str, number: int) -> str:
    """The name of ``stage`` in wording ``number``, counted from 1: ``answer@2``."""
    return stage if number == 1 else f"{stage}@{number}"


_FURTHER = re.compile(r"@\d{1,4}\Z")


def encoder_of(signature: str) -> str:
    """The encoder that a scorer's signature names, with its files; "" for a scorer without one."""
    parts = [part for part in signature.split("|") if part.startswith(("encoder:", "files:"))]
    return "|".join(parts).removeprefix("encoder:")


def gives_letters(signature: str) -> bool:
    """Whether a scorer with this signature gives an option's letter in place of its text."""
    return signature.startswith("mcq:")


def first_wording_stages(stages: Iterable[str]) -> list[str]:
    """The names of the subject's stages without those of further wordings."""
    return [stage for stage in stages if not _FURTHER.search(stage)]


def opening_stages(stages: Iterable[str]) -> list[str]:
    """Of the names of the subject's stages, in order, those that ask of the sample alone: one for each wording."""
    each = list(stages)
    return [stage for stage in each if _FURTHER.sub("", stage) == each[0]]


@dataclass(frozen=True)
class Stage:
    """One request per sample, to the run's model or, where ``judge`` names one by its alias, to that judge.

    A "rewriter" is another model, whose text the subject's later stages are shown. Where its ``render`` gives no
    messages there is nothing to rewrite, and its text is ""; where that raises SampleError, the sample fails. The run
    chooses who it is. What the subject is shown depends on it and on its prompt's ``version``.
    """

    name: str
    """By which later stages and scorers find its response."""
    render: Callable[[Sample, Earlier], tuple[Message, ...]]
    """The messages, from the sample and the earlier responses of the subject and of rewriters.

    No prompt has the reply of a judge or an extractor. Only a judge may know the answer: :meth:`messages`
    gives others the sample without references, and of its metadata only ``fields``.
    """
    task: Task = "open"
    """What listeners that are not language models do."""
    settings: Settings = field(default_factory=Settings)
    """How to generate."""
    role: Role = "subject"
    """Who is asked."""
    fields: tuple[str, ...] = ()
    """The metadata that ``render`` may see; a named field must not contain the answer."""
    judge: str = ""
    """The alias of the judge, extractor or rewriter that is asked."""
    wording: int = 1
    """The number of the wording, from 1; the stages of a further one are named by :func:`at_wording`."""
    offers: Callable[[Sample], tuple[str, ...]] | None = None
    """What listeners that are not language models choose among, where the sample itself has no choices."""
    unchanged: bool = False
    """Whether the clips are played as they were before a perturbation: the request of the unperturbed data set."""
    rewriter_digest: str = ""
    """The rewriter's identity; set by the run."""
    version: str = ""
    """The version of a rewriter's prompt."""
    hears: str = ""
    """The stage whose answer's audio the judge is played in place of the sample's clips; "" for none."""
    beside_clip: bool = False
    """Whether the sample's first clip is played before that."""

    def choices(self, sample: Sample) -> tuple[str, ...]:
        """What a listener that is not a language model chooses among; nothing for any but the subject."""
        if self.role != "subject":
            return ()
        return sample.choices if sample.choices or self.offers is None else self.offers(self._without_answer(sample))

    def messages(self, sample: Sample, earlier: Earlier) -> tuple[Message, ...]:
        """What is sent. Raises UsageError where ``render`` wants metadata that ``fields`` does not name."""
        return self.render(sample if self.role == "judge" else self._without_answer(sample), earlier)

    def _without_answer(self, sample: Sample) -> Sample:
        # Built again and not by dataclasses.replace, which takes three times as long for every sample.
        metadata = _VisibleMetadata(self.name, self.fields, sample.metadata) if sample.metadata else sample.metadata
        return Sample(sample.id, sample.clips, sample.question, sample.choices, "", metadata)


class _VisibleMetadata(dict[str, Field]):
    """The metadata that a stage's ``render`` may see; a field that it was not to see is a mistake, not an absence."""

    def __init__(self, stage: str, fields: tuple[str, ...], metadata: Mapping[str, Field]) -> None:
        super().__init__({name: metadata[name] for name in fields if name in metadata} if fields else {})
        self._stage, self._fields = stage, fields

    def __missing__(self, name: str) -> Field:
        self._check(name)
        raise KeyError(name)

    def get(self, name: str, default: Any = None) -> Any:
        self._check(name)
        return super().get(name, default)

    def _check(self, name: str) -> None:
        if name not in self._fields:
            raise UsageError(
                f"the stage {self._stage!r} renders its prompt from the metadata {name!r}, which might contain the "
                f"answer: if it does not, declare it with Stage(…, fields=({name!r},))"
            )


def no_missing_parts() -> str:
    return ""


def no_sample_problem(sample: Sample) -> str:
    return ""


@dataclass(frozen=True)
class Scorer:
    """A named, versioned way to read and score answers; its signature is reported with every number."""

    name: str
    """What tests, options and records call it."""
    signature: str
    """Name, version and what else decides a number, such as "mcq:letters|v:1|unanswered:wrong"."""
    parse: Callable[[Sample, Earlier], Answer]
    """From the sample and the responses by stage, what was answered."""
    score: Callable[[Sample, Answer], Mapping[str, float] | None]
    """A sample's sufficient statistics ({"correct": 1}, {"S": 1, "D": 0, "I": 0, "N": 7}), None to leave it out.

    It is called for every answer that was asked for, whatever its status.
    """
    metrics: tuple[str, ...]
    """Names of the registry of metrics."""
    together: Callable[[Sequence[tuple[Sample, Answer]]], Sequence[Mapping[str, float]]] | None = None
    """Further statistics that only the whole set of scored samples can give (CIDEr, an encoder's batch), in order."""
    companions: tuple[str, ...] = ()
    """The scorers that are always reported with this one: of one that leaves answers out, the one that keeps all."""
    missing_parts: Callable[[], str] = no_missing_parts
    """What must be installed for this scorer, in a sentence; "" where all is there."""
    sample_problem: Callable[[Sample], str] = no_sample_problem
    """What a sample lacks that this scorer needs, such as the words of the speech, in a sentence; "" for nothing."""
    judge: str = ""
    """The stage of a judge or an extractor whose verdict it reads.

    Where that is not available, the sample's asking counts as failed for this scorer alone.
    """
    further_judges: tuple[str, ...] = ()
    """Such stages in addition to it, if one verdict is not the score: the same question with places swapped."""
    words: Callable[[str, str], tuple[Sequence[str], Sequence[str]]] | None = None
    """What is aligned and counted of a reference and an answer's value, where the statistics are such counts."""
    stage: str | None = ""
    """The stage whose text it reads, and failures are looked for in: "" the answering one, None for several."""
    details: Callable[[Sample, Answer], str] | None = None
    """What the page shows of one sample beyond numbers, in JSON, where it shows more: which events were matched."""


_registered_scorers: dict[str, dict[str, Scorer]] = {}


def register_scorer(family: str, scorer: Scorer) -> None:
    """Make ``scorer`` one of those of every protocol of the ``family``.

    Raises UsageError for a name that means another of these, by the scorer's signature.
    """
    scorers = _registered_scorers.setdefault(family, {})
    known = scorers.get(scorer.name, scorer)
    if known.signature != scorer.signature:
        raise UsageError(f"two scorers of {family} are registered as {scorer.name!r}: rename one")
    scorers[scorer.name] = scorer


@dataclass(frozen=True)
class Judging:
    """What a judge is asked about an answer, and the scorers of its verdicts (``earlier[name]``).

    A "judge" sees the sample whole, an "extractor" no references (:class:`Stage`). A run asks each of its
    judges, a stage for each.
    """

    name: str
    """That of its stage, and of the verdict for its scorers."""
    prompt: Callable[[Sample, str], tuple[Message, ...]]
    """The messages, from the sample and the subject's text."""
    scorers: tuple[Scorer, ...]
    """They say ``judge=`` this name."""
    settings: Settings
    """How the judge generates."""
    role: Literal["judge", "extractor"] = "judge"
    """Whether it sees the references."""
    of: str = ""
    """The alias of the one judge that is asked, and is played the answer's audio; "" for all who read."""
    task: Task = "open"
    """What a judge that is not a language model does."""
    beside_clip: bool = False
    """Whether it is played the sample's first clip before the answer's audio."""


ALL = "all"
"""In place of names: every scorer that this machine has the parts for."""


Option: TypeAlias = str | int | float | bool | list[str] | None
"""A value of a family's option that a protocol can keep."""
P = ParamSpec("P")


def with_recorded_options(family: Callable[P, Protocol]) -> Callable[P, Protocol]:
    """A family's function whose protocols keep the options that it was called with.

    A protocol of another family, which it only adds to, keeps those that it has.
    """

    @wraps(family)
    def recording_family(*args: P.args, **kwargs: P.kwargs) -> Protocol:
        options: dict[str, Option] = {}
        for name, value in kwargs.items():
            if value is None or isinstance(value, (str, int, float, bool)):
                options[name] = value
            elif isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value):
                options[name] = list(value)
        protocol = family(*args, **kwargs)
        # Of an option that cannot be kept as it came, what the family itself put on record.
        others = (kwargs.keys() - options.keys()) & protocol.options.keys()
        options.update({name: protocol.options[name] for name in sorted(others)})
        return replace(protocol, options=options) if protocol.name == family.__name__ else protocol

    return recording_family


@dataclass(frozen=True)
class Protocol:
    """Prompt, and one or several scorers of the same answers; the first is the headline."""

    name: str
    """Its family's."""
    stages: tuple[Stage, ...]
    """In the order in which they are asked."""
    scorers: tuple[Scorer, ...]
    """Those that are reported; the first is the headline."""
    available: Mapping[str, Scorer]
    """Every scorer that there is for these answers, by name."""
    expects: Expects = "open"
    """What an answer should be, so that its failures can be distinguished."""
    options: Mapping[str, Option] = field(default_factory=dict)
    """What its family was called with, so that recorded answers can be read in the same way again."""
    notes: tuple[str, ...] = ()
    """What a reader of its numbers must know."""
    judgings: tuple[Judging, ...] = ()
    """What judges can be asked about the answers; those that a chosen scorer needs are asked."""
    swept: frozenset[str] = frozenset()
    """The scorers chosen by "all", not by name."""

    def __post_init__(self) -> None:
        registered = _registered_scorers.get(self.name, {})
        if further := {name: scorer for name, scorer in registered.items() if name not in self.available}:
            object.__setattr__(self, "available", MappingProxyType({**self.available, **further}))

    @property
    def answering(self) -> Stage:
        """The stage whose output is the model's answer: the last that the subject is asked in the first wording."""
        return [stage for stage in self.stages if stage.role == "subject" and stage.wording == 1][-1]

    @property
    def openings(self) -> tuple[Stage, ...]:
        """The stages that ask of the sample alone: the first of each wording."""
        names = opening_stages(stage.name for stage in self.stages if stage.role == "subject")
        return tuple(stage for stage in self.stages if stage.name in names)

    def without_references(self) -> Protocol:
        """The same questions, whose answers are read and neither right nor wrong: coverage is all that is measured.

        Raises UsageError for a judge's scorer, which has nothing to compare an answer with.
        """
        for scorer in self.scorers:
            if scorer.judge:
                raise UsageError(f"the scorer {scorer.name} judges answers by references, which are withheld here")
        # What an answer is compared with shows its failures, too, where words are required.
        expects: Expects = "option" if self.expects == "option" else "open"
        return replace(self, scorers=tuple(map(_unscored, self.scorers)), expects=expects)

    def with_scorers(self, *names: str) -> Protocol:
        """The same questions, read by the named scorers, the first as the headline; by every one for "all".

        A scorer that leaves answers out brings the one that keeps them, right after it. Raises UsageError when a name
        is not among ``available``, and for a named scorer whose parts are not installed.
        """
        known = self if self.available.keys() >= set(names) else self.extended()
        chosen: dict[str, None] = {}
        unavailable = known._unavailable() if ALL in names else {}
        for name in names:
            for scorer in known._sweep(unavailable) if name == ALL else (name,):
                chosen.update(dict.fromkeys((scorer, *known._scorer(scorer).companions)))
        if not chosen:
            why = "; ".join(unavailable.values()) or "name one"
            raise UsageError(f"{self.name} can be scored by no scorer here: {why}")
        notes = tuple(_omissions(unavailable))
        swept = frozenset(chosen) - frozenset(names) if ALL in names else frozenset()
        return replace(known, scorers=tuple(known._scorer(name) for name in chosen), notes=notes, swept=swept)

    def extended(self) -> Protocol:
        """The same with the scorers of every installed extension."""
        extensions.load()
        return replace(self)

    @property
    def fits_any_sample(self) -> bool:
        """Whether no scorer asks anything of the samples."""
        return all(scorer.sample_problem is no_sample_problem for scorer in self.scorers)

    def fitting(self, samples: Iterable[Sample]) -> Protocol:
        """Without those scorers chosen by "all" that cannot read every one of ``samples``; a note says why.

        Raises UsageError for a named scorer that cannot, and where none is left.
        """
        if self.fits_any_sample:
            return self
        first: dict[str, str] = {}
        for sample in samples:
            for scorer in self.scorers:
                if scorer.name not in first and (why := scorer.sample_problem(sample)):
                    first[scorer.name] = why
        problems = {scorer.name: first[scorer.name] for scorer in self.scorers if scorer.name in first}
        scorers = tuple(scorer for scorer in self.scorers if scorer.name not in problems)
        for name, why in problems.items():
            if name not in self.swept or not scorers:
                raise UsageError(f"the scorer {name} cannot be used here: {why}")
        return replace(self, scorers=scorers, notes=(*self.notes, *_omissions(problems)))

    def _sweep(self, unavailable: Mapping[str, str]) -> list[str]:
        headline = [scorer.name for scorer in self.scorers[:1] if scorer.name not in unavailable]
        # Another way to read costs nothing; another judge's prompt would be asked for every sample.
        judges = {"", *(name for scorer in self.scorers for name in (scorer.judge, *scorer.further_judges))}
        return headline + [
            name for name, scorer in self.available.items() if scorer.judge in judges and name not in unavailable
        ]

    def _unavailable(self) -> dict[str, str]:
        """Why this machine has not the parts for a scorer, or not for a companion, by the scorer's name."""
        reasons = {}
        for name, scorer in self.available.items():
            scorers = [self.available[other] for other in (name, *scorer.companions) if other in self.available]
            if why := next(filter(None, (other.missing_parts() for other in scorers)), ""):
                reasons[name] = why
        return reasons

    def _scorer(self, name: str) -> Scorer:
        if name not in self.available:
            there = nearest(name, self.available, f"it has {', '.join(sorted(self.available))}")
            raise UsageError("; ".join([f"{self.name} has no scorer {name!r}", there, *extensions.load()]))
        if why := self.available[name].missing_parts():
            raise UsageError(f"the scorer {name} cannot be used here: {why}")
        return self.available[name]


WITHHELD = "|references:withheld"
"""Ends the signature of a scorer that only reads answers."""


def _unscored(scorer: Scorer) -> Scorer:
    return replace(
        scorer,
        signature=f"{scorer.signature}{WITHHELD}",
        score=lambda _, answer: {answer.status: 1.0},
        metrics=("coverage",),
        together=None,
        sample_problem=no_sample_problem,
        words=None,
        details=None,
    )


def _omissions(reasons: Mapping[str, str]) -> list[str]:
    return [f"the scorer {name} was left out: {reason}" for name, reason in reasons.items()]
