"""A model that is asked nothing: it gives the answers of an earlier run, ours or another tool's, to be scored again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Literal

from pytest_audiobench.errors import UsageError
from pytest_audiobench.models.messages import Ask, Response
from pytest_audiobench.models.model import Limits
from pytest_audiobench.models.replay.recorded_run import Answers, RunAnswers, recorded_style, records
from pytest_audiobench.models.spec import check_options, written

_RUN_FILE = "predictions.jsonl"
_RUN_OPTIONS = ("model", "eval")
_STUDY_OPTIONS = ("answers", "manifests", "crashes")
_CRASHES = ("error", "unanswered")


class Replay:
    """``replay:TARGET``: a run's folder or ``predictions.jsonl``, a study's folder or one of its files, or the files
    of any tool that has a reader.

    Options for a run, and for another tool's: ``model=ALIAS``, ``eval=PART_OF_A_NAME``, each needed only where answers
    would be ambiguous. For a study: ``answers=reas|no_reas|…`` to whatever is asked (else each request says which it
    wants), ``manifests=FOLDER`` (else those in the folder or above it), ``crashes=error|unanswered``.
    """

    batching: Literal["planned", "opaque"] = "opaque"
    listens = False
    device = "recorded"
    limits = Limits(max_batch=1024, max_batch_s=1e9, max_clips=1024, speaks=True)

    def __init__(self, target: str, options: Mapping[str, str]) -> None:
        check_options("replay", options, _RUN_OPTIONS + _STUDY_OPTIONS)
        if (crashes := options.get("crashes", "error")) not in _CRASHES:
            raise UsageError(f"crashes={crashes} is not among {', '.join(_CRASHES)}")
        self.spec = written("replay", target, options)
        self._target, self._options = Path(target).expanduser(), dict(options)

    def fingerprint(self) -> Mapping[str, str]:
        return self._answers.fingerprint

    def load(self) -> None:
        """Nothing is left to load: the answers were read for their fingerprint."""

    def ask(self, batch: Sequence[Ask]) -> list[Response]:
        return [self._answers.response(ask.request) for ask in batch]

    def close(self) -> None:
        """Nothing is held but the answers' texts."""

    @cached_property
    def style(self) -> str:
        """The style in which a run's choices were asked with reasoning; "" where it tells none, or several."""
        file = self._target / _RUN_FILE if self._target.is_dir() else self._target
        if not file.is_file() or _is_of_others(file) or not _is_run(file):
            return ""
        return recorded_style(file.with_name("run.json"), self.fingerprint()["recorded_model"])

    @cached_property
    def _answers(self) -> Answers:
        target = self._target
        if not target.exists():
            raise UsageError(f"there is nothing at {target} to replay; name a run's folder or a folder of answers")
        if target.is_file():
            if _is_of_others(target):
                return self._texts(target)
            return self._run_answers(target) if _is_run(target) else self._study([target], target.parent)
        if (target / _RUN_FILE).is_file():
            return self._run_answers(target / _RUN_FILE)
        from pytest_audiobench.compat.faithfulness_study.replay import files_of_answers

        files = files_of_answers(target)
        if not files or all(map(_is_of_others, files)):
            return self._texts(target)
        return self._study(files, target)

    def _texts(self, target: Path) -> Answers:
        from pytest_audiobench.models.replay.recorded_texts import TextAnswers

        self._refuse(_STUDY_OPTIONS, f"{target} holds another tool's answers, whose options are", _RUN_OPTIONS)
        return TextAnswers(target, self._options.get("model"), self._options.get("eval"))

    def _run_answers(self, file: Path) -> Answers:
        self._refuse(_STUDY_OPTIONS, f"{file} holds a run of this project, whose options are", _RUN_OPTIONS)
        return RunAnswers(file, self._options.get("model"), self._options.get("eval"))

    def _study(self, files: list[Path], folder: Path) -> Answers:
        # A study's files are rare, and a later part's: no other replay pays for them.
        from pytest_audiobench.compat.faithfulness_study.question_join import QuestionJoin, manifests_beside
        from pytest_audiobench.compat.faithfulness_study.replay import StudyAnswers
        from pytest_audiobench.compat.faithfulness_study.variants import variant_of

        self._refuse(_RUN_OPTIONS, f"{folder} holds a study's answers, whose options are", _STUDY_OPTIONS)
        given, answers = self._options.get("manifests"), self._options.get("answers")
        join = QuestionJoin(Path(given).expanduser() if given else manifests_beside(folder))
        if answers is None and self._target.is_file():
            answers = variant_of(self._target, folder, join.datasets)
        return StudyAnswers(files, folder, join, answers, self._options.get("crashes", "error"))

    def _refuse(self, others: tuple[str, ...], why: str, own: tuple[str, ...]) -> None:
        given = next((option for option in others if option in self._options), None)
        if given is not None:
            raise UsageError(f"{given}=… does not apply: {why} {', '.join(own)}")


def _is_of_others(file: Path) -> bool:
    """Whether it holds objects or a table that are neither a run's nor a study's."""
    from pytest_audiobench.compat.answer_files import AnswerFile
    from pytest_audiobench.compat.faithfulness_study.replay import FIELDS

    answers = AnswerFile(file)
    is_ours = any(field in answers.first for field in FIELDS) or {"outputs", "sample_id"} <= answers.first.keys()
    return not is_ours and (bool(answers.first) or file.suffix.lower() not in (".jsonl", ".ndjson"))


def _is_run(file: Path) -> bool:
    from pytest_audiobench.compat.faithfulness_study.replay import FIELDS

    for line, row in records(file):
        if any(field in row for field in FIELDS):
            return False
        if "outputs" in row and "sample_id" in row:
            return True
        raise UsageError(
            f"{file}, line {line} is neither a run's prediction nor a study's answer ({', '.join(FIELDS)})"
        )
    raise UsageError(f"{file} is empty: there is nothing to replay")
