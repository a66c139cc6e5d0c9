"""A submission's file: what it holds, that its bytes are the same everywhere, and what is found when one is changed."""

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from pytest_audiobench.cli import main
from pytest_audiobench.errors import UsageError
from pytest_audiobench.gate.baseline.decoding import decode_baseline as baseline
from pytest_audiobench.protocols.transcription.non_speech import hallucination
from pytest_audiobench.records.submission import MOST_BYTES
from pytest_audiobench.report.run_reader import load_run
from pytest_audiobench.report.run_writer import finish, runtime
from pytest_audiobench.sharing.private_keys import load_key
from pytest_audiobench.sharing.signers import read_signers
from pytest_audiobench.sharing.submission import Submission, decimals, decoded
from pytest_audiobench.sharing.submission_checks import as_json, text, verified, verify_submission
from pytest_audiobench.studies.findings import found_of
from pytest_audiobench.verifier.score_checks import _finding_rows

pytest.importorskip("cryptography")

SCHEMA = Path(__file__).parents[2] / "docs" / "submission.schema.json"


@pytest.fixture(scope="module")
def once(tmp_path_factory, keys):
    """A folder with a run of two evals, one answered half right, and its submission, signed by ada."""
    runs = sys.modules["sharing_runs"]
    lab = runs.Lab(tmp_path_factory.mktemp("once"))
    evals = {"animals/easy": lab.samples(20), "animals/hard": lab.samples(20, "h")}
    lab.run("main", evals, says=lambda name: name[0] == "s" or int(name[1:]) % 2 == 0)
    files = ["--reports", lab.reports, "--output", lab.folder / "mine.json", "--sign", keys / "ada"]
    assert main(["push", "main", "--dry-run", *map(str, files)]) == 0
    return lab.folder


@pytest.fixture
def made(once, tmp_path, monkeypatch):
    """A copy of that folder, to work in; its submission is mine.json."""
    shutil.copytree(once, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return Path("mine.json")


@pytest.fixture
def signers(keys):
    return read_signers(keys / "signers")


def payload_in(path):
    """A copy of the payload in ``path``, to change; made by the versions that are here, which a scripted run is not."""
    payload = json.loads(path.read_bytes())["payload"]
    payload["runtime"]["packages"] = runtime().packages
    return payload


@pytest.fixture
def signed_again(made, signed_file):
    """Signs a changed payload again, as a signer who lies would."""

    def sign(change, key="ada"):
        payload = payload_in(made)
        change(payload)
        return decoded(signed_file(payload, key), "mine.json")

    return sign


def test_a_signed_submission_is_verified(made, audiobench, keys):
    code, out, _ = audiobench("verify", made, "--signers", keys / "signers")
    assert code == 0
    assert "animals by main (scripted:main): 40 samples, accuracy by letters 75.0 %" in out
    assert "✓ signature: by ada@example.org, ssh-ed25519" in out
    assert "✓ evidence: 40 rows of 40 samples" in out
    assert out.endswith("verified\n")
    told = json.loads(audiobench("verify", made, "--signers", keys / "signers", "--json")[1])
    assert (told["status"], told["signer"]) == ("ok", "ada@example.org")
    assert "evidence" not in told["claimed"]


def test_ssh_keygen_verifies_it_over_bytes_that_any_writer_makes(made, keys):
    rfc8785 = pytest.importorskip("rfc8785")
    whole = json.loads(made.read_bytes())
    Path("sig").write_text(whole["signature"])
    check = ["ssh-keygen", "-Y", "verify", "-f", keys / "signers", "-I", "ada@example.org", "-n", "pytest-audiobench"]
    done = subprocess.run(
        [*map(str, check), "-s", "sig"], input=rfc8785.dumps(whole["payload"]), capture_output=True, check=False
    )
    assert b"Good" in done.stdout


def test_its_members_are_documented(made):
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.validate(json.loads(made.read_bytes()), json.loads(SCHEMA.read_text()))


def test_its_evidence_is_a_baseline_without_texts(made, audiobench):
    evidence = json.loads(made.read_bytes())["payload"]["evidence"]
    found = baseline(evidence.encode(), "evidence")
    assert {name: len(side.rows) for name, side in found.sides.items()} == {"animals/easy": 20, "animals/hard": 20}
    assert all(row.text is None for side in found.sides.values() for row in side.rows)
    Path("baseline.json").write_text(evidence)
    assert audiobench("compare", "baseline.json", "reports/main")[0] == 0


def test_writing_and_scorer_give_the_same(made):
    content = made.read_bytes()
    assert decoded(content, "mine.json").encoded() == content


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_decimal_reads_back_as_the_same_float(value):
    assert [float(text) for text in decimals([value])] == [value]


def test_without_a_list_of_signers_nobody_is_trusted(made, audiobench):
    code, out, _ = audiobench("verify", made)
    assert code == 1
    assert "no key is trusted: name a list with --signers" in " ".join(out.split())
    assert "NOT VERIFIED" in out


def failing(submission, signers, name="mine.json"):
    found = verified(submission, name, signers)
    assert not found.holds
    return found.failing


def test_a_run_has_no_signature_to_be_held_against_signers(made, audiobench, keys):
    for named in ("main", "reports/main", "reports/main/run.json"):
        code, _, err = audiobench("verify", named, "--signers", keys / "signers")
        assert code == 4
        assert "is not a submission, so it has no signature" in err
    assert "there is no run 'nothing'" in audiobench("verify", "nothing", "--signers", keys / "signers")[2]
    code, _, err = audiobench("verify", made, "--signers", keys / "signers", "--data", "a=.")
    assert (code, "--data is for a run" in err) == (4, True)


def test_a_pipe_is_neither_waited_for_nor_emptied(made, audiobench, keys):
    os.mkfifo("pipe")
    code, _, err = audiobench("verify", "pipe", "--signers", keys / "signers")
    assert (code, "is not a regular file" in err) == (4, True)


def test_a_changed_payload_is_told(made, signers):
    text = made.read_text()
    changed = decoded(text.replace('"scripted:main"', '"scripted:best"').encode(), "mine.json")
    says = failing(changed, signers)
    assert "payload: its SHA-256 is" in says
    assert "signature: it is not one of this payload by the key SHA256:" in says
    # Whoever changes it can make the digest fit, and not the signature.
    anew = replace(Submission.of(changed.payload, None), signature=changed.signature)
    assert "signature: it is not one of this payload" in failing(anew, signers)


def test_an_unsigned_one_and_a_strangers_are_told(made, signers, signed_again):
    whole = json.loads(made.read_bytes())
    bare = decoded(json.dumps({**whole, "signature": None}).encode(), "mine.json")
    assert "it is not signed" in failing(bare, signers)
    assert "is not in" in failing(signed_again(lambda payload: None, "bob"), signers)
    torn = decoded(json.dumps({**whole, "signature": "-----BEGIN"}).encode(), "mine.json")
    assert "no signature that can be read" in failing(torn, signers)


def test_a_signature_for_something_else_is_told(made, signers, keys):
    from pytest_audiobench.sharing.sshsig import sign

    found = decoded(made.read_bytes(), "mine.json")
    other = replace(found, signature=sign(found.canonical, load_key(keys / "ada"), "git"))
    assert "it was made for the namespace 'git', and 'pytest-audiobench' counts" in failing(other, signers)


def limits_of_ada(keys, options):
    Path("limited").write_text(f"ada@example.org {options} {(keys / 'ada.pub').read_text()}")
    return read_signers(Path("limited"))


def test_a_key_counts_for_the_time_of_the_submission(made, keys, signed_again):
    limited = limits_of_ada(keys, 'valid-after="20260101Z",valid-before="29981231Z"')
    for when, why in (
        ("2025-12-31T23:59:59Z", "not yet valid"),
        ("2026-06-01T00:00:00Z", ""),
        ("2999-01-01T00:00:00Z", "of a time to come"),
        ("2026-02-31T00:00:00Z", "no such time"),
    ):
        one = signed_again(lambda payload, when=when: payload.update(submitted_at=when))
        report = verified(one, "mine.json", limited)
        assert report.holds == (not why), report.failing
        assert why in report.failing


def test_an_expired_key_cannot_date_back(made, keys, signed_again):
    stolen = signed_again(lambda payload: payload.update(submitted_at="2026-01-01T00:00:00Z"))
    limited = limits_of_ada(keys, 'valid-before="20260201Z"')
    assert "its key has expired: it was valid until 2026-02-01T00:00:00Z, and no record shows" in failing(
        stolen, limited
    )


def test_what_was_seen_before_its_key_expired_stays_valid_and_nothing_else_by_that_key(
    made, keys, signed_again, audiobench
):
    submission = signed_again(lambda payload: payload.update(submitted_at="2026-01-01T00:00:00Z"))
    other = signed_again(lambda payload: payload.update(submitted_at="2026-01-02T00:00:00Z"))
    made.write_bytes(submission.encoded())
    Path("other.json").write_bytes(other.encoded())
    limits_of_ada(keys, 'valid-before="20260201Z"')
    for seen, code in (("2026-01-31T23:59:59Z", 0), ("2026-02-02T00:00:00Z", 1)):
        Path("accepted").write_text(f"2026-03-01T00:00:00Z {'0' * 64}\n{seen} {submission.payload_sha256}\n")
        assert audiobench("verify", made, "--signers", "limited", "--accepted", "accepted")[0] == code
        assert audiobench("verify", "other.json", "--signers", "limited", "--accepted", "accepted")[0] == 1


def test_a_record_without_signers_is_a_mistake(made, audiobench):
    code, _, err = audiobench("verify", made, "--accepted", "accepted")
    assert (code, "which counts with --signers FILE only" in err) == (4, True)


@pytest.mark.parametrize("line", ["yesterday", f"2026-13-01T00:00:00Z {'0' * 64}", "2026-01-01T00:00:00Z abc", "\xff"])
def test_a_record_that_is_none_is_named_with_its_line(made, keys, audiobench, line):
    Path("accepted").write_text(line, encoding="latin-1")
    code, _, err = audiobench("verify", made, "--signers", keys / "signers", "--accepted", "accepted")
    assert (code, "accepted, line 1" in err) == (4, True)


LIES = {
    "a better value": (
        lambda payload: payload["metrics"][0].update(value="0.99"),
        "accuracy of animals is said to be 0.99, and its samples give 0.75",
    ),
    "a better headline": (
        lambda payload: payload.update(headline={**payload["headline"], "value": "1.0"}),
        "the headline is not the first of the metrics",
    ),
    "a better eval": (lambda payload: payload["items"][1]["metrics"][0].update(value="1.0"), "of animals/hard is said"),
    "other audio": (
        lambda payload: payload["items"][0]["hashes"].update(audio="0" * 64),
        "input_hash of animals/easy",
    ),
    "another run": (lambda payload: payload["hashes"].update(run_hash="0" * 64), "run_hash of the suite"),
    "another protocol": (
        lambda payload: payload["items"][0]["scorers"][0].update(signature="mcq:kind"),
        "protocols of animals/easy",
    ),
    "another model": (lambda payload: payload["model"].update(digest="0" * 64), "the model or the hashes"),
    "more answers": (
        lambda payload: payload["items"][0]["scorers"][0]["coverage"].update(parsed=21),
        "animals/easy: the counts of letters",
    ),
    "an eval left out": (lambda payload: payload["items"].pop(), "the evals"),
    "evidence that is none": (lambda payload: payload.update(evidence="[]"), "is not a baseline"),
    "answers made right": (
        lambda payload: payload.update(evidence=payload["evidence"].replace("[[0]]", "[[1]]")),
        "its samples give 1",
    ),
    "more samples": (lambda payload: payload.update(n=4000), "n or limited, which are not those of its evals"),
    "more samples of an eval": (lambda payload: payload["items"][0].update(n=200), "animals/easy: 200 samples"),
    "more epochs": (lambda payload: payload.update(epochs=5), "limit, epochs or what is missing"),
    "more epochs of an eval": (lambda payload: payload["items"][0].update(epochs=5), "seeds of animals/easy"),
    "what it lacks": (lambda payload: payload.update(missing=["all"]), "limit, epochs or what is missing"),
    "a limit": (lambda payload: payload.update(limited=True, limit=20), "n or limited"),
    "counts of the suite": (
        lambda payload: payload["scorers"][0]["coverage"].update(parsed=39),
        "the suite's counts of answers",
    ),
    "a narrow interval": (
        lambda payload: [one.update(lower="0.74") for one in (payload["metrics"][0], payload["headline"])],
        "the headline's interval or n is another than stated",
    ),
    "another unit": (lambda payload: payload["metrics"][1].update(unit="dB"), "in another unit or direction"),
    "another headline": (
        lambda payload: payload.update(headline=payload["metrics"][1]),
        "the headline is not the first of the metrics",
    ),
}


@pytest.mark.parametrize(("change", "says"), LIES.values(), ids=LIES)
def test_what_does_not_fit_together_is_told_though_signed(change, says, signed_again, signers):
    assert says in failing(signed_again(change), signers)


@pytest.fixture(scope="module")
def found_once(tmp_path_factory, keys):
    """A folder with the submission of a run that made words up in every sample of one group, its findings on record."""
    runs = sys.modules["sharing_runs"]
    lab = runs.Lab(tmp_path_factory.mktemp("found"))
    silent = lab.samples(40, question="", choices=(), reference="")
    folder = lab.run(
        "main", {"phantoms/all": silent}, lambda name: "" if int(name[1:]) % 2 else "hello", protocol=hallucination()
    )
    record = load_run(folder).record
    (item,) = record.items
    rows = _finding_rows(folder / "predictions.jsonl", (item.eval, item.model), item)
    item = structs.replace(item, findings=found_of(rows, "hop", 0))
    finish(folder, structs.replace(record, items=[item]))
    files = ["--reports", lab.reports, "--output", lab.folder / "found.json", "--sign", keys / "ada"]
    assert main(["push", "main", "--dry-run", *map(str, files)]) == 0
    return lab.folder / "found.json"


def test_the_top_finding_names_its_evidence(found_once, audiobench, keys):
    code, out, _ = audiobench("verify", found_once, "--signers", keys / "signers")
    said = " ".join(out.split())
    assert code == 0
    assert "✓ findings: 2 are what their samples give, split and tested again" in said
    assert "top finding: hallucination-rate:single in phantoms/all, validated: effect 1" in said
    assert "holdout: 1 against 0 of the others" in said
    assert "split by seed 0" in said
    assert "eval phantoms/all, the lines of the 20 samples of hop single" in said
    # What a model made up are texts, which stay in the run.
    assert "hello" not in found_once.read_text()


def of_top(change):
    """Changes the top finding, where it stands for itself and among the others."""

    def changed(payload):
        for one in (payload["top_finding"]["finding"], payload["findings"][0]["findings"][0]):
            change(one)

    return changed


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (of_top(lambda one: one["holdout"].update(domain_rate="0.5")), "findings[0].holdout.domain_rate of phantoms"),
        (of_top(lambda one: one["holdout"].update(other_rate="0.5")), "holdout.other_rate"),
        (of_top(lambda one: one["discovery"].update(p_value="1e-09")), "discovery.p_value"),
        (of_top(lambda one: one.update(effect_size="0.9")), "effect_size"),
        (of_top(lambda one: one.update(status="candidate")), "status"),
        (of_top(lambda one: one.update(metric="another")), "metric"),
        (of_top(lambda one: one["discovery"].update(clips=["s000", "nobody"])), "of other samples than those"),
        (lambda one: one["findings"][0]["findings_methods"]["split"].update(seed="1"), "findings[0]"),
        (lambda one: one["findings"][0]["findings"].pop(), "findings of phantoms/all"),
        (
            lambda one: (one["findings"][0].update(findings=[], top_finding=None), one.update(top_finding=None)),
            "findings of",
        ),
        (lambda one: one["findings"].append(one["findings"][0]), "an eval has findings twice"),
        (
            lambda one: one["findings"][0].update(eval="phantoms/none"),
            "findings of an eval that is not one of the suite's",
        ),
        (lambda one: one["findings"][0].update(findings_methods=None), "do not say how they were found"),
        (lambda one: one["findings"][0]["findings_methods"]["split"].update(seed="x"), "not as a run records them"),
        (lambda one: one["top_finding"].update(samples=["s000"]), "it is not the first that stands"),
    ],
)
def test_a_finding_that_its_samples_do_not_show_is_told_though_signed(change, says, found_once, signers, signed_file):
    payload = payload_in(found_once)
    change(payload)
    found = verified(decoded(signed_file(payload), "x"), "x", signers)
    assert not found.holds
    assert says in found.failing
    assert text(found).endswith("NOT VERIFIED\n")


def test_what_another_version_drew_is_not_called_wrong(found_once, signers, signed_file):
    payload = payload_in(found_once)
    of_top(lambda one: one.update(ci_lower="0.123"))(payload)
    payload["metrics"][0]["lower"] = payload["headline"]["lower"] = "0.001"
    payload["runtime"]["packages"] = {**payload["runtime"]["packages"], "numpy": "1.0"}
    found = verified(decoded(signed_file(payload), "x"), "x", signers)
    assert found.holds
    said = " ".join(text(found).split())
    assert "findings[0].ci_lower of phantoms/all is another made again, and other versions made it: numpy 1.0" in said
    assert "the headline's interval is as stated, by other versions: numpy 1.0 there" in said


def test_a_file_named_by_another_hash_is_told(made, signers):
    found = decoded(made.read_bytes(), "x")
    assert "named by another run_hash" in failing(found, signers, f"submissions/animals/{'0' * 64}.json")
    own = found.payload.hashes.run_hash
    assert verified(found, f"submissions/animals/{own}.json", signers).holds


DAMAGE = {
    "empty": (lambda text: "", "is empty"),
    "no JSON": (lambda text: "submissions", "is not a submission: write one with audiobench push"),
    "cut": (lambda text: text[:-200], "it ends too early"),
    "a name twice": (lambda text: text.replace('"suite":', '"suite": "a", "suite":', 1), "has 'suite' twice"),
    "a float": (lambda text: text.replace('"n": 40', '"n": 40.0'), "payload.headline.n is 40.0 and must be 40: fetch"),
    "an infinity": (lambda text: text.replace('"n": 40', '"n": Infinity'), "holds Infinity, which is not a number"),
    "an unknown member": (
        lambda text: text.replace('"notes":', '"note": "", "notes":', 1),
        "has the unknown 'note' (is it 'notes'?)",
    ),
    "a member less": (lambda text: text.replace('"tags": []', '"tag": []', 1), "has the unknown 'tag'"),
    "no evals": (
        lambda text: re.sub(r'"items": \[.*?\n  \]', '"items": []', text, flags=re.DOTALL),
        "of length at least 1",
    ),
    "a time that is none": (
        lambda text: re.sub(r'"submitted_at": "[^"]*"', '"submitted_at": "today"', text),
        "submitted_at must be a time such as 2026-11-21T19:06:00Z, not 'today'",
    ),
    "a value that is none": (
        lambda text: text.replace('"0.75"', '"three quarters"'),
        "headline, value must be a number or null, not 'three quarters'",
    ),
    "a value beyond all floats": (lambda text: text.replace('"0.75"', '"1e999"'), "value must be a finite number"),
    "a decimal of another form": (
        lambda text: text.replace('"0.75"', '"0.750"', 1),
        'payload.headline.value is "0.750" and must be "0.75": fetch or write it again',
    ),
    "a decimal as a number": (
        lambda text: text.replace('"0.75"', "0.75", 1),
        'payload.headline.value is 0.75 and must be "0.75"',
    ),
    "no number as a word": (lambda text: text.replace('"0.75"', '"null"', 1), 'value is "null" and must be null'),
    "a count as a text": (lambda text: text.replace('"n": 40', '"n": "40"', 1), 'payload.n is "40" and must be 40'),
    "a count as a flag": (lambda text: text.replace('"limited": false', '"limited": 0', 1), "and must be false"),
    "another version": (
        lambda text: text.replace("submission/2", "submission/1"),
        "has the schema 'audiobench.submission/1', which another version of pytest-audiobench wrote",
    ),
    "another version of the payload": (
        lambda text: "submission/1".join(text.rsplit("submission/2", 1)),
        "schema must be one of 'audiobench.submission/2', not 'audiobench.submission/1'",
    ),
    "half a character": (lambda text: text.replace('"notes": ""', '"notes": "\\ud800"'), "no canonical bytes"),
    "half a character in a key": (
        lambda text: text.replace('"notes": ""', '"\\ud800": ""'),
        "'\\ud800' has half of a surrogate pair",
    ),
    "deep": (lambda text: "[" * 100_000, "nested too deep"),
    "deep where a curve is": (
        lambda text: text.replace('"curves": []', f'"curves": {"[" * 900}{"]" * 900}'),
        "curves 1 must be an object, not a list",
    ),
    "a huge number": (lambda text: text.replace('"n": 40', f'"n": {"9" * 30}', 1), "must be a whole number"),
    "a float where a curve is": (
        lambda text: text.replace('"curves": []', '"curves": [0.5]'),
        "curves 1 must be an object, not 0.5",
    ),
    "a hash less": (
        lambda text: re.sub(r'"run_hash": "[0-9a-f]*"', '"run_hash": null', text, count=1),
        "hashes, run_hash must be a text, not null",
    ),
    "the earlier scheme": (
        lambda text: '{"schema": "audiobench.leaderboard.v1", "suite": "ab/asr-robust"}',
        "is of the earlier scheme ('audiobench.leaderboard.v1'), whose run_hash covers no audio",
    ),
    "an earlier artifact": (
        lambda text: '{"suite": "ab/asr-robust", "revision": "0.1.0", "run_hash": "abc"}',
        "is of the earlier scheme, whose run_hash",
    ),
    "a run": (
        lambda text: '{"schema": "audiobench.run/2"}',
        "is not a submission: it has the schema 'audiobench.run/2' where 'audiobench.submission/2' is expected",
    ),
}


@pytest.mark.parametrize(("change", "says"), DAMAGE.values(), ids=DAMAGE)
def test_what_is_no_submission_is_one_sentence(change, says, made):
    with pytest.raises(UsageError) as error:
        decoded(change(made.read_text()).encode(), "mine.json")
    assert says in str(error.value)
    assert str(error.value).startswith("mine.json")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (of_top(lambda finding: finding.pop("slice")), "findings 'hallucination-rate:single' has no 'slice'"),
        (of_top(lambda finding: finding.update(slice=["single"])), "slice must be an object, not a list"),
        (of_top(lambda finding: finding.update(holdout=[1])), "holdout must be an object, not a list"),
        (
            lambda payload: payload["findings"][0].update(findings_methods=[]),
            "findings_methods must be an object or null",
        ),
        (lambda payload: payload.update(top_finding={"eval": "a", "id": "x"}), "top_finding has no 'finding'"),
    ],
)
def test_findings_that_no_run_records_are_refused_with_their_place(change, says, found_once, signed_file):
    payload = payload_in(found_once)
    change(payload)
    with pytest.raises(UsageError) as error:
        decoded(signed_file(payload), "mine.json")
    assert says in str(error.value)


def test_a_submission_is_told_from_a_baseline(made, audiobench):
    code, _, err = audiobench("compare", made, "main")
    assert (code, "is a submission, which holds a baseline as text" in err) == (4, True)
    Path("evidence.json").write_text(json.loads(made.read_text())["payload"]["evidence"])
    assert audiobench("compare", "evidence.json", "main")[0] == 0


def test_a_file_too_large_is_not_read():
    with pytest.raises(UsageError, match="holds more than 17 MB"):
        decoded(b" " * (MOST_BYTES + 1), "mine.json")


@given(data=st.data())
def test_no_damage_gets_past_scorer_and_verifying(data, submission_bytes, keys):
    """Whatever byte is changed: a sentence, or a report in which something fails."""
    at = data.draw(st.integers(0, len(submission_bytes) - 1))
    changed = bytearray(submission_bytes)
    changed[at] = data.draw(st.integers(0, 255))
    try:
        found = decoded(bytes(changed), "x")
        # Beside white space all that is in the file is covered by the digest or the signature.
        assert found == decoded(submission_bytes, "x") or verified(found, "x", read_signers(keys / "signers")).failing
    except UsageError:
        pass


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-99, 99)
    | st.text(max_size=5)
    | st.sampled_from(["nan", "0.5", "-1", "single"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=5), inner, max_size=3),
    max_leaves=5,
)


def places(value, path=()):
    if path:
        yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, member in inner:
        yield from places(member, (*path, key))


@given(data=st.data())
def test_any_value_in_any_place_is_a_sentence_or_a_report(data, found_once, signed_file, signers_once):
    payload = payload_in(found_once)
    *path, last = data.draw(st.sampled_from(list(places(payload))))
    holder = payload
    for key in path:
        holder = holder[key]
    if isinstance(last, int) or data.draw(st.booleans()):
        holder[last] = data.draw(VALUES)
    else:
        del holder[last]
    try:
        report = verified(decoded(signed_file(payload), "x"), "x", signers_once)
    except UsageError:
        return
    assert text(report).endswith("\nverified\n" if report.holds else "\nNOT VERIFIED\n")
    assert json.loads(as_json(report))["status"] == ("ok" if report.holds else "fails")


@pytest.fixture(scope="module")
def signers_once(keys):
    return read_signers(keys / "signers")


@pytest.fixture(scope="module")
def submission_bytes(once):
    return (once / "mine.json").read_bytes()


def test_verifying_names_a_file_that_cannot_be_read(signers, tmp_path):
    with pytest.raises(UsageError, match="cannot be read"):
        verify_submission(tmp_path / "nothing.json", signers)


def test_of_a_large_suite_only_the_first_scorer_is_evidence(lab, audiobench, keys, signers, monkeypatch):
    from pytest_audiobench.sharing import payload

    lab.run("main", says=lambda name: int(name[1:]) < 30, scorers=("all",))
    push = ["push", "main", "--dry-run", "--sign", keys / "ada", "--output"]
    assert audiobench(*push, "whole.json")[0] == 0
    monkeypatch.setattr(payload, "LARGE", 10_000)
    assert audiobench(*push, "small.json")[0] == 0
    whole, small = (verify_submission(Path(f"{name}.json"), signers) for name in ("whole", "small"))
    assert whole.holds
    assert small.holds, small.failing
    assert len(next(iter(whole.evidence.sides.values())).scorers) > 1
    assert len(next(iter(small.evidence.sides.values())).scorers) == 1
    assert "others are not recomputed" in next(one.says for one in small.checks if one.part == "numbers")


def test_ten_thousand_samples_stay_small(lab):
    from pytest_audiobench.sharing.payload import SubmissionInfo, payload_of

    small = lab.run("small", {"animals/all": lab.samples(100)})
    large = lab.run("large", {"animals/all": lab.samples(200)})
    sizes = [
        len(
            Submission.of(
                payload_of(load_run(one), "animals", one.name, SubmissionInfo("2026-11-21T19:06:00Z")), None
            ).encoded()
        )
        for one in (small, large)
    ]
    assert (sizes[1] - sizes[0]) * 100 < 2_000_000
    shutil.rmtree(lab.reports)
