"""The verdict of a whole run: advice that fits why; and its lines on a terminal."""

from pytest_audiobench.report.overall import overall
from pytest_audiobench.report.terminal import summary_lines

RIGHT = ("(a) cat", "parsed", True)


def gated(runs, *items, **changes):
    _, record = runs.gated(*items, **changes)
    return record


def said(record):
    verdict = overall(record)
    return f"{verdict.word} ({verdict.counts}). {verdict.advice}"


def test_more_samples_are_advised_only_where_there_are_pairs(runs):
    few = gated(runs, runs.item(0, "digits", [RIGHT], regressions=[runs.dropped("inconclusive")]))
    assert "audiobench power" in said(few)
    alone = runs.dropped("inconclusive", pairs=0)
    unknown = gated(runs, runs.item(0, "digits", [RIGHT], regressions=[alone]), name="unknown")
    assert "audiobench power" not in said(unknown)
    assert "The baseline does not know what is inconclusive" in said(unknown)


def test_a_number_is_not_parted_from_its_unit(runs):
    record = gated(runs, runs.item(0, "digits", [RIGHT]))
    record["notes"].append("padding of nearly all batches was as much as 65.6 % of what was played")
    for width in range(40, 70):
        assert not any(line.lstrip().startswith("%") for line, _ in summary_lines(record, width))
