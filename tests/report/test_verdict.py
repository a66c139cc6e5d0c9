"""The verdict of a whole run: advice that fits why; and its lines on a terminal."""

import msgspec

from pytest_audiobench.gate.regression_text import RUNAWAYS
from pytest_audiobench.records.run import DrawsRecord, VerdictRecord
from pytest_audiobench.report import view_model
from pytest_audiobench.report.terminal import summary_lines
from pytest_audiobench.report.verdict import parse_rate_hint, run_verdict

RIGHT = ("(a) cat", "parsed", True)
WRONG = ("(b) dog", "parsed", False)


def gated(runs, *items, **changes):
    _, record = runs.gated(*items, **changes)
    return record


def said(record):
    verdict = run_verdict(record)
    return f"{verdict.word} ({verdict.counts}). {verdict.advice}"


def test_more_samples_are_advised_only_where_there_are_pairs(runs):
    few = gated(runs, runs.item(0, "digits", [RIGHT], regressions=[runs.dropped("inconclusive", p=0.3)]))
    assert "audiobench power" in said(few)
    within_noise = gated(
        runs, runs.item(0, "digits", [RIGHT], regressions=[runs.dropped("inconclusive")]), name="noise"
    )
    assert "audiobench power" not in said(within_noise)
    assert "Worse by no more than the model's own noise" in said(within_noise)
    alone = runs.dropped("inconclusive", pairs=0)
    unknown = gated(runs, runs.item(0, "digits", [RIGHT], regressions=[alone]), name="unknown")
    assert "audiobench power" not in said(unknown)
    assert "The baseline has none of what is inconclusive" in said(unknown)


def test_runaway_answers_that_hide_a_word_error_rate_are_named_in_place_of_more_samples(runs):
    line = msgspec.structs.replace(runs.dropped("inconclusive", p=0.3), metric="wer")
    hidden = msgspec.structs.replace(line, detail=f"{line.detail}{RUNAWAYS}wer_trimmed beside it")
    advice = [
        said(gated(runs, runs.item(0, "speech", [RIGHT], regressions=[each]), name=name))
        for name, each in (("hidden", hidden), ("few", line))
    ]
    assert "Runaway answers dominate wer: look at them first, and also gate wer_trimmed." in advice[0]
    assert "audiobench power" in advice[1]


def test_a_run_in_which_most_improved_is_named_by_that_unless_it_fails_for_what_is_undecided(runs):
    better, open_ = runs.regression("pass", -0.2, p_better=0.0001, q_better=0.0002), runs.dropped("inconclusive", p=0.3)
    items = [runs.item(n, f"e{n}", [RIGHT], regressions=[line]) for n, line in enumerate((better, better, open_))]
    counts = "(2 improved, 0 regressed, 1 inconclusive (e2))"
    assert said(gated(runs, *items, name="a")).startswith(f"improved {counts}. Too few samples to decide that one: ")
    assert said(gated(runs, *items, name="b", exit_status=1)).startswith(f"inconclusive {counts}.")
    half = gated(runs, items[0], items[2], name="c")
    assert said(half).startswith("inconclusive (1 improved, 0 regressed, 1 inconclusive (e2)).")


def test_an_assertion_that_failed_is_told_beside_an_inconclusive_line(runs):
    item = runs.item(0, "digits", [RIGHT], regressions=[runs.dropped("inconclusive")], outcome="failed")
    record = runs.with_items(gated(runs, item, exit_status=1), message="assert accuracy 0.25 > 0.9")
    assert said(record).startswith("failed (0 regressed, 1 inconclusive (digits); 1 eval failed).")


def test_an_inconclusive_line_that_fails_its_test_is_no_other_failure(runs):
    line = runs.dropped("inconclusive")
    record = gated(runs, runs.item(0, "digits", [RIGHT], regressions=[line], outcome="failed"), exit_status=1)
    record = runs.with_items(record, message=f"accuracy.drop <= 1pp: {line.detail}")
    assert said(record).startswith("inconclusive (0 regressed, 1 inconclusive (digits)).")


def test_a_threshold_that_draws_break_is_no_other_failure(runs):
    fail = VerdictRecord("fail", "accuracy >= 0.9", 0.5, "0.5 is not >= 0.9")
    drawn = runs.item(0, "noise", [RIGHT, WRONG], verdicts=[fail], outcome="failed")
    draws = DrawsRecord("at 5 dB SNR accuracy is 0.500", "1", "6", [])
    record = runs.with_items(gated(runs, drawn, exit_status=1), message=draws.summary, draws=draws)
    assert "otherwise" not in said(record)


def test_the_evaluations_of_one_test_fail_once(runs):
    fail = VerdictRecord("fail", "accuracy >= 0.9", 0.5, "0.5 is not >= 0.9")
    heard = runs.item(0, "heard", [RIGHT, WRONG], verdicts=[fail], outcome="failed")
    silence = runs.item(1, "silence", [RIGHT, WRONG], outcome="failed")
    record = runs.with_items(gated(runs, heard, silence, exit_status=1), nodeid="test_listening.py::test_listening")
    assert said(record).startswith("failed (nothing was compared with the baseline; 1 threshold failed).")


def test_a_number_is_not_parted_from_its_unit(runs):
    note = "padding of nearly all batches was as much as 65.6 % of what was played"
    record = gated(runs, runs.item(0, "digits", [RIGHT]), notes=[note])
    for width in range(40, 70):
        assert not any(line.lstrip().startswith("%") for line, _ in summary_lines(record, width))


def test_many_answers_that_could_not_be_parsed_give_one_hint(runs):
    odd = ("a cat, I think", "unparsed", False)
    items = [runs.item(0, "low", [RIGHT] * 6 + [odd] * 4), runs.item(1, "high", [RIGHT] * 9 + [odd])]
    (hint,) = parse_rate_hint(items_of(runs, *items))
    assert hint.startswith("hint: many answers could not be parsed (low: 4 of 10): look at some (report.html, or")
    assert parse_rate_hint(items_of(runs, items[1], name="fine")) == []
    none = runs.item(2, "none", [odd] * 3)
    (hint,) = parse_rate_hint(items_of(runs, *items, none, name="worst-first"))
    assert "(none: 3 of 3, low: 4 of 10)" in hint
    assert "multiple_choice" not in hint
    labelled = msgspec.structs.replace(items_of(runs, none, name="labels")[0], protocol="classification")
    assert parse_rate_hint([labelled])[0].endswith('; protocol = "multiple_choice" asks with lettered options')


def test_an_eval_of_which_only_the_asking_is_required_is_not_gated(runs):
    asked = VerdictRecord("pass", "errors <= 0", 0.0, "0 is <= 0")
    run = runs.collected(runs.item(0, "calls", [RIGHT], verdicts=[asked]))[1]
    assert [item.verdict for item in view_model.evals(run)] == ["not gated"]
    assert "1 of 1 eval is not gated (nothing is required of its score" in run_verdict(run).advice


def items_of(runs, *items, **more):
    return runs.collected(*items, **more)[1].items
