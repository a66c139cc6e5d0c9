"""The ``model`` fixture's object: the model of a run, for a plain test to ask."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pytest_audiobench.audio.clip import Clip, DataRoot, FileSource
from pytest_audiobench.datasets.dataset import Dataset
from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import SampleError
from pytest_audiobench.evaluation.answer_collection import collect_answers
from pytest_audiobench.evaluation.batch_executor import BatchExecutor
from pytest_audiobench.evaluation.model_handle import ModelHandle
from pytest_audiobench.evaluation.selection import select
from pytest_audiobench.models.messages import AudioSlot, Message, Response, Settings
from pytest_audiobench.plugin.error_mapping import test_errors
from pytest_audiobench.plugin.session import EvalSession
from pytest_audiobench.protocols.protocol import Earlier, Protocol, Stage
from pytest_audiobench.studies.evaluate import ModelFacts


class ModelFixture(ModelFacts):
    """A model to ask one thing at a time; answers are kept in the run's store like any other."""

    def __init__(self, session: EvalSession, handle: ModelHandle) -> None:
        super().__init__(handle)
        self._session = session

    def ask(
        self,
        clips: Clip | str | Path | Sequence[Clip],
        question: str,
        *,
        choices: Sequence[str] = (),
        max_new_tokens: int = 256,
    ) -> Response:
        """Put ``question`` about one or several clips (or a file) and return the answer; ``.text`` is its text.

        The question is sent as it stands; ``choices`` only tell listeners that are not language models what
        may be answers. A clip that cannot be read, and a model that fails, fail the test with one sentence.
        """
        if isinstance(clips, (str, Path)):
            path = Path(clips).resolve()
            clips = Clip(FileSource(DataRoot(path.parent.name, path.parent), path.name))
        clips = (clips,) if isinstance(clips, Clip) else tuple(clips)
        sample = Sample("asked", clips, question, tuple(choices))
        task = "choice" if choices else "open"
        stage = Stage("answer", _plain, task, Settings(max_new_tokens=max_new_tokens))  # type: ignore[arg-type]
        dataset = Dataset("asked", lambda places: [sample])
        with test_errors():
            bench, places = self._session.bench, self._session.places(Path.cwd())
            selection = select(dataset, places, bench.index, self._handle)
            asker = BatchExecutor(self._handle, bench.store, bench.locks, lambda done, total: None, bench.reuse.fresh)
            answers = collect_answers(selection, Protocol("asked", (stage,), (), {}), asker, epochs=1)[0]
            if answers.error is not None:
                raise SampleError(answers.error)
            return answers.responses["answer"]


def _plain(sample: Sample, earlier: Earlier) -> tuple[Message, ...]:
    return (Message("user", (*map(AudioSlot, range(len(sample.clips))), sample.question)),)
