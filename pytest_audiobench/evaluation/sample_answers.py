"""The answers to one sample, and those of an eval of any length: what is beyond the first waits in a file."""

from __future__ import annotations

import os
import pickle
from array import array
from collections.abc import Mapping, Sequence
from tempfile import TemporaryFile
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from pytest_audiobench.datasets.spool import MOST_IN_MEMORY, LazySequence, room_for_samples
from pytest_audiobench.evaluation.selection import SelectedSample
from pytest_audiobench.models.messages import Message, Response
from pytest_audiobench.protocols.protocol import Earlier

NONE: Mapping[str, Response] = MappingProxyType({})


class SampleAnswers(NamedTuple):
    """The answers to one sample in one epoch, by stage."""

    selected: SelectedSample
    epoch: int
    responses: Mapping[str, Response]
    keys: Mapping[str, str]
    """The requests' keys."""
    messages: Mapping[str, tuple[Message, ...]]
    error: str | None
    """Why the sample could not be asked to its end."""
    verdicts: Mapping[str, Response] = NONE
    """What judges and extractors said about the answer; one that could not be had carries its own error."""
    rewritten: Mapping[str, Response] = NONE
    """The texts of rewriters, without which the later stages could not be asked."""
    lasting: bool = False
    """Whether the error stays until a user acts, as that of a clip that cannot be read."""

    @property
    def sample_id(self) -> str:
        return self.selected.sample.id

    @property
    def all_responses(self) -> Earlier:
        """What scorers read: the responses, the rewriters' texts and the verdicts."""
        if self.verdicts or self.rewritten:
            return {**self.responses, **self.rewritten, **self.verdicts}
        return self.responses

    def failure(self, judge: str) -> str | None:
        """Why there is nothing to read for a scorer of ``judge``'s verdicts ("" for one of the answers)."""
        verdict = self.verdicts.get(judge) if judge else None
        return self.error if verdict is None else verdict.error


class _Written(msgspec.Struct, array_like=True):
    """What is written of an answer that did not fail."""

    responses: dict[str, Response]
    keys: dict[str, str]
    messages: dict[str, tuple[Message, ...]]


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_Written).decode
_PICKLED = pickle.PROTO


class AnswerSpool(LazySequence[SampleAnswers]):
    """The answers of an eval, epoch by epoch in the order of its samples: some in memory, those behind them in a file
    without a name, which goes when the sequence does.
    """

    def __init__(self, samples: Sequence[SelectedSample]) -> None:
        self._samples = samples
        self._first: list[SampleAnswers] = []
        self._ends = array("Q", [0])

    def extend(self, answers: Sequence[SampleAnswers]) -> None:
        """Add answers behind the others. Raises UsageError where they cannot be written."""
        room = max(0, MOST_IN_MEMORY - len(self._first))
        self._first += answers[:room]
        if len(answers) <= room:
            return
        with room_for_samples():
            if len(self._ends) == 1:
                self._file = TemporaryFile()  # noqa: SIM115 - it lasts as long as the sequence
            for each in answers[room:]:
                written = _written(each)
                self._file.write(written)
                self._ends.append(self._ends[-1] + len(written))
            self._file.flush()

    def __len__(self) -> int:
        return len(self._first) + len(self._ends) - 1

    def element(self, place: int) -> SampleAnswers:
        number = place - len(self._first)
        if number < 0:
            return self._first[number]
        start, end = self._ends[number], self._ends[number + 1]
        content = os.pread(self._file.fileno(), end - start, start)
        epoch, position = divmod(place, len(self._samples))
        if content.startswith(_PICKLED):
            return SampleAnswers(self._samples[position], epoch, *pickle.loads(content))
        read = _decode(content)
        return SampleAnswers(self._samples[position], epoch, read.responses, read.keys, read.messages, None)


def _written(answers: SampleAnswers) -> bytes:
    _, _, responses, keys, messages, error, verdicts, rewritten, lasting = answers
    if error is None and not verdicts and not rewritten:
        return _encode(_Written(dict(responses), dict(keys), dict(messages)))
    return pickle.dumps(
        (dict(responses), dict(keys), dict(messages), error, dict(verdicts), dict(rewritten), lasting),
        pickle.HIGHEST_PROTOCOL,
    )
