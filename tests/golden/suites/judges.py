"""Choices read by a rule and by two judges, in two epochs, grouped and clustered."""

from pytest_audiobench import judged, manifest, multiple_choice

TONES = manifest("data/tones.jsonl", groups=("parity",), cluster="pair")


def test_tones(evaluate):
    evaluate(TONES, judged(multiple_choice()))


def test_read_by_several(evaluate):
    evaluate(TONES, multiple_choice("letters", "mmau-string", "faithfulness-recovered"))
