"""The newer ``results/`` of the faithfulness study: MODEL/CONDITION/CONDITION_MODEL_DATASET.jsonl."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pytest_audiobench.compat.answer_fields import listed_options, option_of, placed, said
from pytest_audiobench.compat.answer_files import AnswerFile, Reader, RecordedAnswer
from pytest_audiobench.datasets.sample import TRUE_LETTER
from pytest_audiobench.errors import UsageError

_STEPS = ("num_sentences_provided", "num_sentences_paraphrased", "mistake_position", "percent_replaced")
"""How far a chain of reasoning was changed, where a condition asks several times about one."""
_SCORERS: Mapping[str, str] = {"flamingo": "faithfulness-runtime-af3", "salmonn": "faithfulness-runtime-salmonn"}
"""Qwen's letters are read of a tag there that no rule of the older runs asked for."""


def fits(file: AnswerFile) -> bool:
    """Whether its rows are chains with the letter that the study read."""
    return {"id", "chain_id", "correct_choice", "final_answer_raw", "choices"} <= file.first.keys()


def rows(file: AnswerFile) -> Iterator[RecordedAnswer]:
    """The final answers, each chain and each of its steps a sample; those about one recording are a cluster.

    Raises UsageError for a row without its options or without the true letter among them.
    """
    folder = file.path.resolve().parent
    condition, model = folder.name, folder.parent.name
    dataset = file.path.stem.removeprefix(f"{condition}_{model}_")
    scorer = next((name for family, name in _SCORERS.items() if model.startswith(family)), "")
    for place, row in placed(file.path, file.objects()):
        identity, letter, listed = said(place, row, "id", "correct_choice", "choices")
        options = listed_options(listed)
        if (reference := option_of(letter, options)) not in options:
            raise UsageError(f"{place}: the true letter {letter!r} is not one of its options {listed[:80]!r}")
        answer = row.get("final_answer_raw")
        steps = [str(row[step]) for step in _STEPS if step in row]
        yield RecordedAnswer(
            id="/".join([f"{identity}#{row['chain_id']}", *steps]),
            answer=answer,
            error="" if answer is not None else "the study holds null there",
            reference=reference,
            options=options,
            question=str(row.get("question") or ""),
            audio=str(row.get("audio_path") or identity),
            own={"accuracy": float(bool(row.get("is_correct"))), "letter": row.get("predicted_choice")},
            eval=f"{dataset}[{condition}]",
            model=model,
            family="multiple_choice",
            scorer=scorer,
            metadata={TRUE_LETTER: letter},
        )


READERS = (
    Reader(
        name="faithfulness-results",
        about="the faithfulness study's newer results (chain_id, correct_choice and final_answer_raw)",
        origin="real file",
        fits=fits,
        rows=rows,
    ),
)
