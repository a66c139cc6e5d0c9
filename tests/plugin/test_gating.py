"""How a run's alpha is shared among its lines, which lines an eval has, and what a baseline holds beside them."""

from types import SimpleNamespace

import pytest

from pytest_audiobench.errors import UsageError
from pytest_audiobench.gate.config import Rules, read_rules
from pytest_audiobench.gate.thresholds import Line
from pytest_audiobench.plugin.regression_gate import Gate
from pytest_audiobench.plugin.run_folder import Expected

RULES = """
[[threshold]]
eval = "tones*"
require = ["accuracy >= 0.5", "accuracy[hop=multi].drop <= 2pp"]
max_drop = "3pp"

[[threshold]]
eval = "tones[1]"
max_drop = "none"

[[threshold]]
eval = "two:silent"
require = ["accuracy.drop <= 4pp"]
"""

HEADLINE = {"letters": ["accuracy", "coverage"]}


@pytest.fixture
def gate(tmp_path):
    def made(rules="", evals=("tones[0]", "tones[1]", "two:silent"), missing=(), limit=None, is_asked=False, **options):
        file = tmp_path / "audiobench.toml"
        file.write_text(rules)
        head = SimpleNamespace(missing=missing, limit=limit)
        sides = {name: SimpleNamespace(eval=name, headline="letters", metrics=HEADLINE) for name in evals}
        contents = SimpleNamespace(head=head, sides=sides)
        baseline = SimpleNamespace(
            source="main.json",
            models={"one": contents},
            only=contents,
            of=lambda alias: contents,
            recorded=None,
            is_asked=is_asked,
        )
        given = {"max_drop": "", "alpha": 0.05, "max_unmatched": 0.05, "inconclusive": "warn", **options}
        given = {"within_noise": "regressed", "max_errors": 0, "early_stop": False, "required": (), **given}
        return Gate(baseline, SimpleNamespace(**given), read_rules(file) if rules else Rules())

    return made


def test_an_eval_counts_for_its_lines_and_for_one_at_least(gate):
    found = gate(RULES)
    assert [found.declared(name, "one") for name in ("tones[0]", "tones[1]", "two")] == [2, 1, 1]
    assert gate(RULES, evals=["other"], max_drop="none").declared("other", "one") == 1
    assert gate(RULES, evals=["other"]).declared("other", "one", in_code=3) == 4
    assert gate(RULES, is_asked=True, evals=[]).declared("other", "one") == 1


def test_what_the_baseline_does_not_hold_takes_no_share_of_alpha(gate):
    found = gate()
    evals = ["tones[0]", "tones[1]", "two", *(f"new[{n}]" for n in range(537))]
    expected = [
        Expected(n, name, name, "", "one", 0, found.declared(name, "one"), found.evaluations_of(name, "one"))
        for n, name in enumerate(evals)
    ]
    found.share(expected)
    assert found.lines == 3
    assert found.unknown(expected) == [
        "537 of 540 selected evals are not in the baseline main.json: they are measured, not compared"
    ]
    assert found.unknown(expected[:4]) == []


def test_the_levels_of_all_that_is_tested_add_up_to_alpha_at_most(gate):
    """So an unchanged model has one false regression or more in at most alpha of its runs (Bonferroni's inequality)."""
    held = {"one": ["one"], "parts": ["parts:a", "parts:b", "parts:c"], "mixed": ["mixed", "mixed:x"]}
    found = gate(evals=[name for names in held.values() for name in names])
    counted = {test: found.declared(test, "one") for test in [*held, "new"]}
    found.share(Expected(0, test, test, "", "one", 0, lines) for test, lines in counted.items())
    assert found.lines == 6
    # What a body adds: lines in its code on each evaluation, and evaluations that the baseline does not hold.
    for in_code in range(4):
        levels = 0.0
        for test, names in held.items():
            tested = len(names) * (1 + in_code)
            terms = found.terms(counted[test], tested)
            levels += tested * terms.alpha / terms.lines
        assert levels <= 0.05 + 1e-12
        assert levels > 0.04 or in_code


def test_a_tests_parts_of_alpha_add_up_to_what_was_counted_for_it(gate):
    found = gate()
    found.lines = 10
    for counted in (1, 2, 3):
        for made in range(1, 9):
            terms = found.terms(counted, made)
            assert made / terms.lines <= counted / 10
            assert terms.lines >= 10
    assert found.terms(1, 1).lines == 10
    assert found.terms(1, 3).lines == 30


def test_the_later_rules_margin_goes_before_the_earlier_ones(gate):
    found = gate(RULES)
    multi = Line("accuracy", (("hop", "multi"),), "2pp")
    assert found.lines_of("tones[0]", "one", "accuracy", ()) == [Line("accuracy", (), "3pp"), multi]
    assert found.lines_of("tones[1]", "one", "accuracy", ()) == [multi]
    assert found.lines_of("other", "one", "accuracy", ()) == [Line("accuracy", (), "1pp")]


def test_a_declared_line_on_the_headline_stands_in_place_of_the_runs_and_beside_a_rules(gate):
    own = [Line("accuracy", (), "5pp")]
    multi = Line("accuracy", (("hop", "multi"),), "2pp")
    assert gate().lines_of("other", "one", "accuracy", own) == own
    assert gate(RULES).lines_of("tones[0]", "one", "accuracy", own) == [Line("accuracy", (), "3pp"), multi, *own]
    assert gate(RULES).lines_of("tones[0]", "one", "accuracy", [Line("accuracy", (), "3pp")]) == [
        Line("accuracy", (), "3pp"),
        multi,
    ]


def test_what_has_no_points_has_no_line_until_one_is_declared(gate):
    assert gate().lines_of("other", "one", "samples_per_s", ()) == []
    assert gate().has_no_points("samples_per_s")
    assert gate(max_drop="0.5").lines_of("other", "one", "samples_per_s", ()) == [Line("samples_per_s", (), "0.5")]


def test_what_the_baseline_holds_and_the_run_does_not_is_told(gate):
    found = gate(missing=["the run was interrupted"])
    gaps = "the baseline main.json is not whole: the run was interrupted"
    unselected = "1 eval of the baseline main.json was not selected: tones[1]"

    def missing(eval_):
        return (
            f"{eval_}, which the baseline main.json holds, was not collected: renamed, removed, or in none of the "
            "paths; renew the baseline, or leave the eval out by -k or --deselect"
        )

    some = (["tones[0]"], ["tones[0]", "tones[1]"], ["one"])
    none, all_ = (lambda eval_: False), (lambda eval_: True)
    assert found.coverage(*some, True, none) == ([gaps, unselected], [missing("two:silent")])
    assert found.coverage(*some, False, none)[1] == [missing("tones[1]"), missing("two:silent")]
    left_out = "2 evals of the baseline main.json were not selected: tones[1], two:silent"
    required = gate(required=("all",)).coverage(*some, True, all_)
    assert required == ([], [left_out.replace("selected: ", "selected, which --ab-require=all asks for: ")])
    assert found.coverage(*some, True, all_) == ([gaps, left_out], [])
    everything = ["tones[0]", "tones[1]", "two"]
    assert gate().coverage(everything, everything, ["one"], False, none) == ([], [])
    limited, _ = gate(limit=20).coverage(everything, everything, ["one"], False, none)
    assert limited == [
        "the baseline main.json is not whole: it took at most 20 samples of each eval, and what it did not take is "
        "compared with nothing"
    ]
    with pytest.raises(UsageError, match="holds none of the 1 selected evals"):
        found.coverage(["other"], ["other", "tones[0]"], ["one"], False, none)
