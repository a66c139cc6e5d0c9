"""JASCO's judging: points for what rests on sounds and words together, and what its verdicts leave open."""

import pytest

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.models.messages import Response
from pytest_audiobench.protocols.judged.jasco import jasco_judging, jasco_prompt
from pytest_audiobench.protocols.judged.task import judged

SCENE = {
    "audio_sound": "hammering {prediction}",
    "spoken_text": "Hand me the nails.",
    "audio_only_target": "They are building.",
    "speech_only_target": "They ask for nails.",
    "keywords": "fence",
}
SAMPLE = Sample("1", (), "What are they doing?", reference="They mend a fence.", metadata={"clip": "1", **SCENE})


def scores(name, verdict, sample=SAMPLE, finish="stop"):
    scorer = judged(None, name).available[name]
    answer = scorer.parse(sample, {"jasco": Response.of(verdict, finish=finish)})
    return answer, scorer.score(sample, answer)


def test_the_judge_is_shown_the_scene_with_both_of_its_one_sided_answers():
    system, user = jasco_prompt(SAMPLE, "Fencing, {question}?")
    (text,) = user.parts
    assert system.parts == ("You are an NLP assistant",)
    assert text.startswith("[Audio Sound]\nhammering {prediction}\n\n[Spoken Text]\nHand me the nails.\n\n[Question]\n")
    assert "\n\n[Model Prediction]\nFencing, {question}?\n\n[Task1]\n" in text
    assert all(words in text for words in ("They are building.", "They ask for nails.", "They mend a fence.", "fence"))


@pytest.mark.parametrize(
    ("verdict", "points", "rests_on"),
    [
        ("Rating: 2\nOrientation: Good", 1.0, "both"),
        ("Rating: 1\nOrientation: Both", 0.5, "both"),
        ("Rating: 2\nOrientation: Audio-Oriented", 0.0, "audio"),
        ("Rating: 2\nOrientation: Speech-Oriented", 0.0, "speech"),
        ("Rating: 2\nOrientation: Neither", 0.0, ""),
        ("**Rating:** 2\n**Orientation:** Good", 1.0, "both"),
        ("Rating: 0\nNo, Rating: 2\nOrientation: Neither\nOrientation: Good", 1.0, "both"),
    ],
)
def test_points_are_given_only_to_what_rests_on_both(verdict, points, rests_on):
    _, statistics = scores("jasco-judge", verdict)
    expected = {f"{part}_dependence": float(part == rests_on) for part in ("audio", "both", "speech")}
    assert statistics == {"points": points, **expected}


@pytest.mark.parametrize(
    ("verdict", "ours", "published"),
    [
        ("Orientation: Good", None, (0.0, 1.0)),
        ("Rating: 2", None, (0.0, 0.0)),
        ("Rating: two\nOrientation: Good", None, (0.0, 1.0)),
        ("Rating: 1, not 0\nOrientation: Good", 0.5, (0.0, 1.0)),
        ("Rating: 2\nOrientation: Good, or Orientation: Neither", 0.0, (0.0, 0.0)),
        ("", None, (0.0, 0.0)),
    ],
)
def test_an_open_verdict_is_left_out_by_ours_and_taken_at_its_letter_by_the_published_rule(verdict, ours, published):
    _, statistics = scores("jasco-judge", verdict)
    assert (statistics and statistics["points"]) == ours
    _, statistics = scores("jasco-best-mean", verdict)
    assert (statistics["points"], statistics["both_dependence"]) == published


def test_a_verdict_that_was_cut_off_is_counted_as_such_and_never_as_zero_points_of_ours():
    answer, statistics = scores("jasco-judge", "Explanation1: The provided audio", finish="length")
    assert (answer.status, statistics) == ("truncated", None)


def test_the_best_wording_of_a_clip_counts_for_all_of_its_wordings():
    best = jasco_judging().scorers[-1]
    rows = [("1", "Good", 1), ("1", "Audio-Oriented", 2), ("2", "Good", 0), ("1", "Good", 2), ("2", "Neither", 2)]
    answers = []
    for clip, orientation, rating in rows:
        sample = Sample(f"{clip}/{rating}", (), "", reference="x", metadata={**SCENE, "clip": clip})
        verdict = Response.of(f"Rating: {rating}\nOrientation: {orientation}")
        answers.append((sample, best.parse(sample, {"jasco": verdict})))
    assert [row["points"] for row in best.together(answers)] == [1.0, 1.0, 0.0, 1.0, 0.0]


def test_a_sample_without_its_scene_is_refused_by_what_it_lacks():
    plain = Sample("1", (), "What?", reference="x", metadata={"spoken_text": "Nails."})
    (why,) = {scorer.sample_problem(plain) for scorer in jasco_judging().scorers}
    assert why == (
        "sample '1' does not say its audio_sound, audio_only_target, speech_only_target, keywords, which JASCO's judge "
        "is shown"
    )
    assert {scorer.sample_problem(SAMPLE) for scorer in jasco_judging().scorers} == {""}
