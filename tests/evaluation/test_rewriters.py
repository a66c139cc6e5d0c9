"""Which model of a run rewrites, and what of it the hashes cover."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from pytest_audiobench.errors import UnsuitableModel
from pytest_audiobench.evaluation.hashes import settings_hash
from pytest_audiobench.evaluation.judging import with_judges, with_rewriters
from pytest_audiobench.evaluation.model_handle import ModelHandle
from pytest_audiobench.models.model import Limits
from pytest_audiobench.protocols.judged.task import judged
from pytest_audiobench.protocols.multiple_choice.task import multiple_choice
from pytest_audiobench.protocols.protocol import Protocol
from pytest_audiobench.protocols.reasoned_choice.task import conditioned_choice

ASKED = conditioned_choice(change="mistaken")


def handle(alias: str, **model: object) -> ModelHandle:
    made = {"spec": f"stub:{alias}", "limits": Limits(), "listens": True, "batching": "opaque", "device": "cpu"}
    made |= {"fingerprint": lambda: {"stub": alias}, **model}
    return ModelHandle(alias, SimpleNamespace(**made))  # type: ignore[arg-type]


def rewriters(protocol: Protocol, *handles: ModelHandle) -> list[tuple[str, str]]:
    put = with_rewriters(protocol, {one.alias: one for one in handles})
    return [(stage.name, stage.judge) for stage in put.stages if stage.role == "rewriter"]


def test_the_first_judge_that_can_write_rewrites() -> None:
    scores = handle("scores", judgings=("rubric",))
    assert rewriters(ASKED, scores, handle("a"), handle("b")) == [("mistaken", "a")]


def test_where_nobody_can_the_option_is_named() -> None:
    with pytest.raises(
        UnsuitableModel, match="mistaken needs another model, and none is named to: name one with --ab-judge"
    ):
        rewriters(ASKED)
    with pytest.raises(UnsuitableModel, match=r"none of this run's judges \(scores\) can be asked to"):
        rewriters(ASKED, handle("scores", judgings=("rubric",)))


def test_a_protocol_without_a_rewriter_stays_as_it_is() -> None:
    plain = multiple_choice()
    assert with_rewriters(plain, {"a": handle("a")}) is plain


def test_the_hash_of_the_settings_holds_who_rewrites_and_by_which_prompt_and_no_alias() -> None:
    def hashed(alias: str, **model: object) -> str:
        return settings_hash(with_rewriters(ASKED, {alias: handle(alias, **model)}))

    one = {"fingerprint": lambda: {"model": "1"}}
    assert hashed("a", **one) == hashed("b", **one) != hashed("a", fingerprint=lambda: {"model": "2"})
    paraphrased = with_rewriters(conditioned_choice(change="paraphrased"), {"a": handle("a")})
    assert settings_hash(paraphrased) != settings_hash(with_rewriters(ASKED, {"a": handle("a")}))


def test_hashes_of_settings_without_a_rewriter_are_what_they_were() -> None:
    """As they were before there were rewriters."""
    assert settings_hash(multiple_choice())[:16] == "2df8ead610519914"
    judges = {"a": handle("a")}
    assert settings_hash(with_judges(judged(multiple_choice()), judges).protocol) == settings_hash(multiple_choice())


def test_a_rewritten_answer_can_be_judged_too() -> None:
    protocol = judged(ASKED, "yes-no")
    put = with_judges(with_rewriters(protocol, {"a": handle("a")}), {"a": handle("a")}).protocol
    assert [(stage.name, stage.role) for stage in put.stages] == [
        ("answer", "subject"),
        ("conditioned", "subject"),
        ("mistaken", "rewriter"),
        ("changed", "subject"),
        ("yes-no@a", "judge"),
    ]
