"""What a family was called with is remembered, so that recorded answers can be read in the same way again."""

from dataclasses import replace

import pytest

from pytest_audiobench import judged, multiple_choice
from pytest_audiobench.protocols.catalogue import FAMILIES, family
from pytest_audiobench.protocols.protocol import with_recorded_options
from pytest_audiobench.protocols.translation.task import translation


# Judges weigh the answers to another family's questions, whose options are remembered.
@pytest.mark.parametrize("name", [name for name in FAMILIES if name != "judged"])
def test_every_family_remembers_its_options(name):
    assert family(name, max_new_tokens=7).options == {"max_new_tokens": 7}, f"mark {name} with @with_recorded_options"
    assert family(name).options == {}


def test_a_judged_protocol_keeps_the_options_of_its_own_family():
    asked = judged(multiple_choice(prompt="{question}"), rubric="Say yes.")
    assert (asked.name, asked.options) == ("multiple_choice", {"prompt": "{question}"})
    assert judged(rubric="Say yes.").options == {"rubric": "Say yes."}


def test_options_make_the_same_scorers_again():
    asked = multiple_choice("mmau-string", prompt="{question} Say what you hear.")
    again = family("multiple_choice", **asked.options)
    assert {r.name: r.signature for r in again.available.values()} == {
        r.name: r.signature for r in asked.available.values()
    }
    assert translation("chrf", target="zh").options == {"target": "zh"}


def test_scorers_chosen_later_change_no_options_and_what_is_no_plain_value_is_not_kept():
    asked = multiple_choice(prompt="{question}", max_new_tokens=8)
    assert asked.with_scorers("mmau-string").options == {"prompt": "{question}", "max_new_tokens": 8}

    @with_recorded_options
    def made(**options):
        return replace(asked, name="made")

    assert made(labels=("cat", "dog"), judge=object(), rows=[1]).options == {"labels": ["cat", "dog"]}
