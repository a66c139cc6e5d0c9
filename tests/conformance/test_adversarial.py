"""Cases that nobody here has seen: whatever a file holds, the command ends in a table and never in a traceback."""

import copy
import json
import random
from pathlib import Path

import pytest

from pytest_audiobench.cli import main
from pytest_audiobench.conformance.cases import ReferenceCase, read_cases
from pytest_audiobench.conformance.comparison import compared

HERE = Path(__file__).parent
ONE_OF_EACH = json.loads((HERE / "one_of_each.json").read_text(encoding="utf-8"))

STRANGE = (
    *(None, True, False, 0, 1, -1, 0.5, -0.0, 1e308, -1e308, 10**400, float("nan"), float("inf"), 2**63),
    *("", " ", "NaN", "x" * 5_000, "a " * 2_000, "\ud800", "\0", "今天", "{}", "[[["),
    *([], [None], [[]], [0], ["a"], [["a", "b"]], [1e308, 1e308], {}, {"a": 1}, {"type": 1}, [{}], [[1, 2], [3]]),
)


def places(value, path=()):
    """The paths of all parts of a JSON value."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in items:
        yield from places(part, (*path, name))


def mutated(case, draw):
    """``case`` with one to three parts of it left out, doubled or made strange."""
    case = copy.deepcopy(case)
    for _ in range(draw.randint(1, 3)):
        path = draw.choice([path for path in places(case) if path])
        holder = case
        for name in path[:-1]:
            holder = holder[name]
        what = draw.random()
        if what < 0.25:
            del holder[path[-1]]
        elif what < 0.35 and isinstance(holder, list):
            holder.append(copy.deepcopy(holder[path[-1]]))
        elif what < 0.45 and isinstance(holder, dict):
            holder[draw.choice(["tokenize", "k", "collar", "labels", "unheard-of", "p_target"])] = draw.choice(STRANGE)
        else:
            holder[path[-1]] = copy.deepcopy(draw.choice(STRANGE))
    return case


@pytest.mark.parametrize("number", range(len(ONE_OF_EACH)), ids=[case["metric"] for case in ONE_OF_EACH])
def test_a_case_of_any_contents_has_a_verdict(tmp_path, number):
    draw = random.Random(number)
    cases = [mutated(ONE_OF_EACH[number], draw) for _ in range(60)]
    (tmp_path / "cases.json").write_text(json.dumps(cases), encoding="utf-8")
    results = list(read_cases(tmp_path / "cases.json"))
    verdicts = [compared(case).verdict for case in results if isinstance(case, ReferenceCase)]
    assert len(results) == len(cases)
    assert set(verdicts) <= {"agrees", "rule", "outside", "differs", "none", "error"}


def test_a_folder_of_strange_cases_ends_in_a_table_of_80_columns(tmp_path, capsys):
    draw = random.Random(0)
    for number in range(4):
        cases = [mutated(draw.choice(ONE_OF_EACH), draw) for _ in range(50)]
        (tmp_path / f"{number}.json").write_text(json.dumps(cases), encoding="utf-8")
    assert main(["conformance", str(tmp_path)]) == 1
    captured = capsys.readouterr()
    assert "Traceback" not in captured.out + captured.err
    assert max(map(len, captured.out.splitlines())) <= 80
    assert sum(line.startswith("  ") and " in " in line for line in captured.out.splitlines()) >= 10


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[1, 2", b"nul", b"\xff\xfe\x00", b"[" * 100_000, b'{"cases": 3, "code": ""}', b"[]", b"3", b'"x"'],
)
def test_a_file_that_holds_no_cases_is_a_line_and_a_failure(tmp_path, capsys, content):
    (tmp_path / "broken.json").write_bytes(content)
    (tmp_path / "whole.json").write_text(json.dumps(ONE_OF_EACH[:1]), encoding="utf-8")
    assert main(["conformance", str(tmp_path)]) == 1
    out = capsys.readouterr().out
    assert "broken.json" in out
    assert "1 file without cases" in " ".join(out.split())
    assert "whole.json" in out


@pytest.mark.parametrize(
    "row", [None, 3, "x", [], {}, {"metric": 3, "inputs": {}}, {"metric": "wer", "inputs": [], "expected": 0}]
)
def test_a_row_that_is_no_case_is_counted_as_a_failure(tmp_path, capsys, row):
    (tmp_path / "cases.json").write_text(json.dumps([row, ONE_OF_EACH[0]]), encoding="utf-8")
    assert main(["conformance", str(tmp_path)]) == 1
    assert "Of 2 cases 1 agree, 0 are ours by a rule, 0 are outside, 1 fail." in capsys.readouterr().out


@pytest.mark.parametrize(
    "change",
    [
        {"metric": "smell"},
        {"params": {"aggregate": "geometric"}},
        {"params": {"smoothing": 2}},
    ],
)
def test_a_metric_or_a_parameter_that_no_scorer_knows_fails(tmp_path, capsys, change):
    (tmp_path / "cases.json").write_text(json.dumps([{**ONE_OF_EACH[0], **change}]), encoding="utf-8")
    assert main(["conformance", str(tmp_path)]) == 1
    assert "has no scorer here" in capsys.readouterr().out


LAYOUTS = {
    "transcription/wer-basic": {
        "code": "by hand",
        "made_by": "counting",
        "options": {"language": "en"},
        "cases": [
            {"metric": "wer", "value": 0.5, "samples": [{"reference": "Two words."}], "responses": ["two"]},
            {"metric": "wer", "value": 1.0, "samples": [{"reference": "one"}], "responses": [{"text": "two"}]},
        ],
    },
    "beans": {
        "schema": "beans_conformance.v1",
        "cases": [
            {
                "id": "BC07",
                "op": "score_sample",
                "tolerance": 1e-9,
                "checks": [
                    {
                        "n": 0,
                        "input": {"labels": ["owl"], "processed": "owl", "task_type": "detection"},
                        "expected": {"value": {"average_precision": 1.0, "precision": 1.0, "recall": 1.0, "f1": 1.0}},
                    }
                ],
            },
            {
                "id": "BC13",
                "op": "postprocess",
                "checks": [
                    {
                        "n": 0,
                        "input": {
                            "raw": " OWL ",
                            "cleaners": [["extract_label_from_text", {"labels": ["owl", "jay"]}]],
                        },
                        "expected": {"value": {"segments": ["owl"], "text": "owl", "n_warnings": 0}},
                    }
                ],
            },
        ],
    },
    "scenes": {
        "schema": "soundscape-cases/1",
        "tolerance": 1e-6,
        "cases": [
            {
                "id": "half",
                "kind": "score",
                "input": {
                    "truth": [{"type": "music", "start_time": 0, "end_time": 10, "description": "piano"}],
                    "guesses": [{"type": "music", "start_time": 0, "end_time": 5, "description": "piano"}],
                },
                "expected": {"reward": 0.5},
            }
        ],
    },
    "phones": {"source": "by hand", "map61to39": {"ix": "ih", "q": ""}},
}


def put(folder, name, document):
    path = folder / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document), encoding="utf-8")


@pytest.mark.parametrize("name", LAYOUTS)
def test_every_layout_is_compared_as_it_stands_and_survives_whatever_is_done_to_it(tmp_path, capsys, name):
    put(tmp_path / "whole", name, LAYOUTS[name])
    assert main(["conformance", str(tmp_path / "whole")]) == 0
    draw = random.Random(name)
    for number in range(40):
        folder = tmp_path / str(number)
        put(folder, name, mutated(LAYOUTS[name], draw))
        assert main(["conformance", str(folder)]) in (0, 1, 5)
    captured = capsys.readouterr()
    assert "Traceback" not in captured.out + captured.err


def test_a_file_in_another_encoding_is_told_with_the_place(tmp_path, capsys):
    (tmp_path / "broken.json").write_bytes('["café"]'.encode("latin-1"))
    assert main(["conformance", str(tmp_path)]) == 1
    assert "it is not UTF-8 text, from byte 6 on" in " ".join(capsys.readouterr().out.split())
