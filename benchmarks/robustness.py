"""A whole study of robustness over 400 real clips, asked of a model that is played each and answers at once.

Run ``python benchmarks/robustness.py [--data FOLDER] [--rounds N]`` where SAKURA lies; model and figures are those of
``faithfulness.py``. Each of eight slices (four tracks of 100 clips, each asked about twice) is asked as it is, in four
orders of its options, by its text alone, by three fragments of each clip, and in three wordings; lift and the worst
order are required. Limits: 60 s of wall time; each file decoded once a worker.
"""

from __future__ import annotations

from faithfulness import measure

EVALS = """
import pytest
from pytest_audiobench import dataset, multiple_choice, with_prompt_variants

SLICES = [(track, hop) for track in ("animal", "emotion", "gender", "language") for hop in ("single", "multi")]
pytestmark = pytest.mark.study

@pytest.mark.audiobench(perturbations=["order", "text", "fragments"])
@pytest.mark.parametrize(("track", "hop"), SLICES)
def test_robust(evaluate, track, hop):
    evaluate.require("order_worst >= 0", "order_same >= 0", "lift >= -50pp")
    evaluate(dataset("sakura", track, hop), multiple_choice())

@pytest.mark.parametrize(("track", "hop"), SLICES)
def test_wordings(evaluate, track, hop):
    evaluate(dataset("sakura", track, hop), with_prompt_variants(multiple_choice(), "wordings.yaml"))
"""
WORDINGS = """version: letters-3
paraphrases:
  - "{question}\\n{options}\\nAnswer with the letter of the correct option."
  - "{question} {options_in_line} Which letter?"
  - "Listen first.\\n{options}\\n{question}"
"""


def main() -> None:
    files = {"test_robustness.py": EVALS, "wordings.yaml": WORDINGS}
    measure(__doc__, files, {"as they are": "robust and not order and not text and not 3s", "the study": "robust"})


if __name__ == "__main__":
    main()
