"""Digests that any language can recompute, and seeds that depend on identities alone."""

import subprocess
import sys

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from pytest_audiobench.identity import ListDigest, canonical, digest, digest_of_trusted, seed

texts = st.text(st.characters(exclude_categories=["Cs"]))
payloads = st.recursive(
    st.none() | st.booleans() | texts | st.integers(-(2**53) + 1, 2**53 - 1),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(max_codepoint=127)), inner),
)


@given(payloads)
def test_canonical_json_is_rfc_8785(payload):
    assert canonical(payload) == rfc8785.dumps(payload)


@given(payloads)
def test_the_unchecked_digest_is_the_same(payload):
    assert digest_of_trusted(payload) == digest(payload)


@given(st.lists(st.lists(payloads, max_size=3), max_size=4))
def test_a_list_that_comes_in_pieces_has_the_digest_of_the_whole(pieces):
    made = ListDigest()
    for piece in pieces:
        made.extend(piece)
    assert made.hexdigest() == digest([payload for piece in pieces for payload in piece])


@pytest.mark.parametrize("payload", [0.5, [1.0], {"a": {"b": 2.5}}, {"é": 1}, {1: 2}, {1, 2}, b"x"])
def test_what_cannot_be_hashed_is_refused(payload):
    with pytest.raises(TypeError):
        digest(payload)


def test_large_integers_are_refused():
    with pytest.raises(ValueError, match="above 2\\^53"):
        digest({"seed": 2**53})


def test_a_seed_does_not_depend_on_the_interpreters_hash_seed():
    command = "from pytest_audiobench.identity import seed; print(seed('clip', 7))"
    seen = {
        subprocess.run(
            [sys.executable, "-c", command], env={"PYTHONHASHSEED": hashed}, capture_output=True, check=True
        ).stdout
        for hashed in ("0", "1", "4242")
    }
    assert seen == {f"{seed('clip', 7)}\n".encode()}
