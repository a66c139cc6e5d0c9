"""Speech with times: NIST's STM and CTM, words assigned to segments, and RTTM, who spoke when."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeVar

from pytest_audiobench.audio.events import AudioEvent, events_text
from pytest_audiobench.compat.answer_files import AnswerFile, Reader, RecordedAnswer, ids_lost, with_ids_of
from pytest_audiobench.compat.transcript_alternatives import held_to
from pytest_audiobench.errors import UsageError
from pytest_audiobench.io.mistakes import listed

_STM_NAMES = ("ref.stm", "*.stm")
_RTTM_NAMES = ("ref.rttm", "*.ref.rttm", "ref_*.rttm", "*_ref.rttm", "reference.rttm")
_IGNORED = "IGNORETIMESEGMENTINSCORING"
"""Without its underscores, which may be left out."""
_LOOKED_AT = 50
_MOST_TURNS = 500
"""What the scorer of meetings reads of a recording."""
T = TypeVar("T")


class Recording(NamedTuple):
    """A channel of a recording; the channel is "" where the recording has only one."""

    name: str
    channel: str

    def __str__(self) -> str:
        return f"{self.name}-{self.channel}" if self.channel else self.name


class Segment(NamedTuple):
    """A line of an STM."""

    speaker: str
    start: float
    end: float
    label: str
    text: str

    @property
    def ignored(self) -> bool:
        return self.text.strip().upper().replace("_", "") == _IGNORED


class Word(NamedTuple):
    """A line of a CTM."""

    start: float
    duration: float
    text: str

    @property
    def middle(self) -> float:
        return self.start + self.duration / 2


def stm_segments(file: AnswerFile) -> dict[Recording, list[Segment]]:
    """The segments of an STM by recording, in order of time. Raises UsageError for a line that is none."""
    recordings: dict[Recording, list[Segment]] = defaultdict(list)
    for number, line in _written_lines(file):
        cells = line.split(maxsplit=5)
        times = _times(cells[3:5])
        if times is None or times[1] < times[0]:
            raise UsageError(
                f"{file.path}, line {number} is not a segment: file channel speaker begin end [<label>] text"
            )
        text = cells[5] if len(cells) > 5 else ""
        label = ""
        if text.startswith("<") and ">" in text and "," in text[: text.index(">")]:
            label, _, text = text.partition(">")
            label = label.removeprefix("<")
        recordings[Recording(cells[0], cells[1].upper())].append(Segment(cells[2], *times, label, text.strip()))
    return {name: sorted(segments, key=lambda segment: segment.start) for name, segments in recordings.items()}


def ctm_words(file: AnswerFile) -> dict[Recording, list[Word]]:
    """The words of a CTM by recording, in order of time, of which one may be an alternation.

    Raises UsageError for a line that is none.
    """
    recordings: dict[Recording, list[Word]] = defaultdict(list)
    alternatives: list[list[Word]] | None = None
    for number, line in _written_lines(file):
        cells = line.split()
        mark = cells[4].upper() if len(cells) > 4 else ""
        if len(cells) < 5 or (mark not in _MARKS and _times(cells[2:4]) is None):
            raise UsageError(f"{file.path}, line {number} is not a word: file channel begin duration word [confidence]")
        words = recordings[Recording(cells[0], cells[1].upper())]
        if mark == "<ALT_BEGIN>":
            alternatives = [[]]
        elif mark == "<ALT>" and alternatives is not None:
            alternatives.append([])
        elif mark == "<ALT_END>" and alternatives is not None:
            words += _alternation(alternatives)
            alternatives = None
        elif (times := _times(cells[2:4])) is not None:
            (words if alternatives is None else alternatives[-1]).append(Word(*times, cells[4]))
    return {name: sorted(words, key=lambda word: word.start) for name, words in recordings.items()}


_MARKS = ("<ALT_BEGIN>", "<ALT>", "<ALT_END>")


def _alternation(alternatives: Sequence[Sequence[Word]]) -> Iterator[Word]:
    """The alternatives as one word, where any of them has one."""
    words = [word for alternative in alternatives for word in alternative]
    if words:
        start, end = words[0].start, max(word.start + word.duration for word in words)
        text = " / ".join(" ".join(word.text for word in alternative) or "@" for alternative in alternatives)
        yield Word(start, end - start, f"{{ {text} }}")


def _written_lines(file: AnswerFile) -> Iterator[tuple[int, str]]:
    for number, line in file.lines():
        if line.strip() and not line.lstrip().startswith((";;", "#")):
            yield number, line.strip()


def _times(cells: Sequence[str]) -> tuple[float, float] | None:
    try:
        first, second = map(float, cells)
    except ValueError:
        return None
    return (first, second) if 0 <= first < math.inf and 0 <= second < math.inf else None


def ctm_fits(file: AnswerFile) -> bool:
    """Whether its first lines are words with times."""
    if file.path.suffix.lower() != ".ctm" or file.is_binary:
        return False
    lines = [line.split() for _, line in file.first_lines(_LOOKED_AT) if line.strip() and line[:2] != ";;"]
    return bool(lines) and all(len(cells) >= 5 for cells in lines)


def ctm_rows(file: AnswerFile) -> Iterator[RecordedAnswer]:
    """The words of each segment, in whose time their middle lies; of a recording as a whole where that is several's.

    A word between two segments is of the one behind it, as sclite has it, and one behind the last is of the last.
    """
    place = file.references_beside(_STM_NAMES)
    if place is None:
        raise UsageError(f"{file.path} holds words with times and no references: name their STM by --references FILE")
    references, hypotheses = stm_segments(AnswerFile(place)), ctm_words(file)
    references = with_ids_of(hypotheses, references)
    if {name.channel for name in references} != {name.channel for name in hypotheses}:
        references, hypotheses = _without_channel(references, file), _without_channel(hypotheses, file)
    ids_lost(file.path, place, [*map(str, hypotheses)], [*map(str, references)])
    whole: list[str] = []
    rows: list[RecordedAnswer] = []
    for name, segments in references.items():
        said = [(word, _segments_of(word, segments)) for word in hypotheses[name]]
        scored = [segment for segment in segments if not segment.ignored]
        in_several = sum(len(places) > 1 for _, places in said)
        if not in_several:
            rows += _of_segments(name, scored, [(places[0], word.text) for word, places in said])
        else:
            whole.append(f"{name} ({in_several} words)")
            text = " ".join(word.text for word, places in said if not all(place.ignored for place in places))
            rows.append(_row(str(name), name, " ".join(segment.text for segment in scored), text, {}))
    note = "" if file.terms.references else f"the segments of {file.path.name} are those of {place.name}"
    if whole:
        note += f"{'; ' * bool(note)}scored as a whole, since words lie in several segments: "
        note += listed(whole, 3)
    eval_, model = file.names_with(place)
    yield from (replace(row, note=note, eval=eval_, model=model) for row in rows)


def _segments_of(word: Word, segments: Sequence[Segment]) -> list[Segment]:
    inside = [segment for segment in segments if segment.start <= word.middle < segment.end]
    return inside or [next((segment for segment in segments if word.middle < segment.end), segments[-1])]


def _without_channel(recordings: Mapping[Recording, list[T]], file: AnswerFile) -> dict[Recording, list[T]]:
    """The same by name alone, since the two files call the channels otherwise."""
    if len({name.name for name in recordings}) < len(recordings):
        raise UsageError(f"{file.path} and its references call the channels of a recording otherwise: name them alike")
    return {Recording(name.name, ""): listed for name, listed in recordings.items()}


def _of_segments(
    name: Recording, segments: Sequence[Segment], said: Sequence[tuple[Segment, str]]
) -> Iterator[RecordedAnswer]:
    words: dict[Segment, list[str]] = {segment: [] for segment in segments}
    if len(words) < len(segments):
        raise UsageError(f"the references of {name} hold a segment twice: keep one of each")
    for segment, word in said:
        if not segment.ignored:
            words[segment].append(word)
    for segment, texts in words.items():
        id_ = f"{name}-{segment.speaker}-{segment.start:.3f}-{segment.end:.3f}"
        groups = {"speaker": segment.speaker, **({"label": segment.label} if segment.label else {})}
        yield _row(id_, name, segment.text, " ".join(texts), groups)


def _row(id_: str, recording: Recording, reference: str, text: str, groups: Mapping[str, str]) -> RecordedAnswer:
    reference, text = held_to(reference, text)
    return RecordedAnswer(
        id=id_, answer=text, reference=reference, audio=str(recording), groups=groups, family="transcription"
    )


class Turn(NamedTuple):
    """A speaker's turn in an RTTM."""

    speaker: str
    start: float
    duration: float


def rttm_turns(file: AnswerFile) -> dict[str, list[Turn]]:
    """The turns of speakers by recording. Raises UsageError for a line that is none."""
    recordings: dict[str, list[Turn]] = defaultdict(list)
    for number, line in _written_lines(file):
        cells = line.split()
        if cells[0] != "SPEAKER":
            continue
        times = _times(cells[3:5])
        if len(cells) < 8 or times is None:
            raise UsageError(
                f"{file.path}, line {number} is not a turn: SPEAKER file channel begin duration <NA> <NA> speaker <NA>"
            )
        recordings[cells[1]].append(Turn(cells[7], *times))
    return dict(recordings)


def rttm_fits(file: AnswerFile) -> bool:
    """Whether its first lines are of the kinds that an RTTM has."""
    if file.path.suffix.lower() != ".rttm" or file.is_binary:
        return False
    return any(line.startswith(("SPEAKER ", "SPEAKER\t")) for _, line in file.first_lines(_LOOKED_AT))


def rttm_rows(file: AnswerFile) -> Iterator[RecordedAnswer]:
    """Each recording's turns as a list of events, for the scorer of meetings."""
    place = file.references_beside(_RTTM_NAMES)
    if place is None:
        raise UsageError(f"{file.path} holds turns of speakers and no references: name their RTTM by --references FILE")
    hypotheses = rttm_turns(file)
    references = with_ids_of(hypotheses, rttm_turns(AnswerFile(place)))
    ids_lost(file.path, place, hypotheses, references)
    eval_, model = file.names_with(place)
    for name, turns in references.items():
        said = hypotheses[name]
        end = max(turn.start + turn.duration for turn in (*turns, *said))
        too_many = f"{len(said)} turns are more than the {_MOST_TURNS} that are read" if len(said) > _MOST_TURNS else ""
        yield RecordedAnswer(
            id=name,
            answer=None if too_many else _events(said),
            reference=_events(turns),
            audio=name,
            metadata={"duration": end},
            error=too_many,
            eval=eval_,
            model=model,
            family="soundscape",
            scorers=("meeting",),
            note="" if file.terms.references else f"the references of {file.path.name} are those of {place.name}",
        )


def _events(turns: Sequence[Turn]) -> str:
    return events_text(
        [
            AudioEvent("speech", turn.start, turn.start + turn.duration, speaker_id=turn.speaker)
            for turn in turns
            if turn.duration > 0
        ]
    )


READERS = (
    Reader(
        name="ctm",
        about="sclite's CTM (words with times, with the segments in an STM)",
        origin="real file",
        fits=ctm_fits,
        rows=ctm_rows,
        endings=(".ctm",),
        beside=_STM_NAMES,
        general=True,
    ),
    Reader(
        name="rttm",
        about="an RTTM (who spoke when, with the references in an RTTM of their own)",
        origin="written by the tool",
        fits=rttm_fits,
        rows=rttm_rows,
        endings=(".rttm",),
        beside=_RTTM_NAMES,
        general=True,
    ),
)
