"""A table of what was said for what was true."""

import pytest
from sklearn.metrics import confusion_matrix

from pytest_audiobench import load_run
from pytest_audiobench.errors import UsageError
from pytest_audiobench.evaluation.confusion import LabelledAnswer, confusion

PLACES = ("cat", "dog", "hen")


def sample(value, reference="cat", choices=PLACES, error=None, references=()):
    return LabelledAnswer("s", choices, reference, references, value, error)


def test_letters_stand_for_the_options_of_their_own_question():
    table = confusion([sample("A"), sample("A", choices=("dog", "cat")), sample("B", "dog")], is_letter=True)
    assert table.loc["cat"].to_dict() == {"cat": 1, "dog": 1, "hen": 0}
    assert table.loc["dog", "dog"] == 1


def test_no_answer_and_what_is_no_label_have_columns_of_their_own():
    table = confusion([sample(None), sample("a big Cat"), sample("Dog."), sample("cat", error="timed out")], False)
    assert table.loc["cat"].to_dict() == {"cat": 0, "dog": 1, "hen": 0, "(other)": 1, "(unparsed)": 1}


def test_the_table_is_scikit_learns():
    said = ["cat", "dog", "dog", "hen", "cat", "hen"]
    true = ["cat", "cat", "dog", "dog", "hen", "hen"]
    table = confusion([sample(*pair) for pair in zip(said, true, strict=True)], is_letter=False)
    assert table.to_numpy().tolist() == confusion_matrix(true, said, labels=list(PLACES)).tolist()


def test_questions_without_one_true_label_of_a_list_have_no_table():
    with pytest.raises(UsageError, match="has no choices"):
        confusion([sample("A", choices=())], is_letter=True)
    with pytest.raises(UsageError, match="several true labels"):
        confusion([sample("cat", references=("cat", "dog"))], is_letter=False)
    with pytest.raises(UsageError, match="more than 1000 labels"):
        confusion([sample("A", choices=tuple(map(str, range(1001))))], is_letter=True)


def test_a_run_read_back_gives_the_same_table(pytester):
    pytester.makepyfile(
        """
        from pytest_audiobench import multiple_choice
        from pytest_audiobench.datasets.bundled import bundled

        def test_emotion(evaluate):
            result = evaluate(bundled("emotion"), multiple_choice(), samples=12)
            result.confusion().to_csv("table.csv")
        """
    )
    pytester.runpytest_subprocess("--ab-model=baseline:chance", "--ab-run=r").assert_outcomes(passed=1)
    run = load_run(pytester.path / "reports" / "r")
    (name,) = run.items["eval"]
    assert run.confusion(name).to_csv() == (pytester.path / "table.csv").read_text()
    assert run.confusion(name).to_numpy().sum() == 12
    with pytest.raises(UsageError, match="0 measured evals of this run are 'none'"):
        run.confusion("none")
