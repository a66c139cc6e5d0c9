"""JASCO's judging: what is done in a scene, and whether an answer rests on its sounds, on its words or on both.

The prompt is its publisher's (github BenoitWang/What_Are_They_Doing at e728f83c6014: evaluation/eval.py, Apache 2.0),
and so is the rule of ``jasco-best-mean``, but for two things. Where a verdict names no orientation the published code
asks the judge once more, and takes its word; here such an answer has no points. Where a verdict has no rating it takes
that of the answer judged before; here it is 0.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.models.messages import Message, Response, Settings
from pytest_audiobench.protocols.judged.verdicts import prompt_digest, shortened, unreadable, verdict_scorers
from pytest_audiobench.protocols.protocol import Answer, Earlier, Judging, Scorer

JASCO = "jasco"
MOST_POINTS = 2
_COLUMNS = ("audio_sound", "spoken_text", "audio_only_target", "speech_only_target", "keywords")
"""What the judge gets in addition to question, reference and answer: a sample's metadata of these names."""
_DEPENDENCES = ("audio_dependence", "both_dependence", "speech_dependence")

_PROMPT = """\
[Audio Sound]
{audio_sound}

[Spoken Text]
{spoken_text}

[Question]
{question}

[Audio-Oriented Prediction]
{audio_only_target}

[Speech-Oriented Prediction]
{speech_only_target}

[Reference Answer]
{reference}

[Reference Answer Key Words]
{keywords}

[Model Prediction]
{prediction}

[Task1]
I am using a model to predict what the speakers are possibly doing based on both the audio sound and the spoken text. I want you to help me rate a score for the model's prediction on the speaker's action given a list of information [Audio Sound, Spoken Text, Question, Reference Answer, Reference Answer Key Words, Model Prediction]
Criteria: Assess if the model’s prediction of the speaker's action mirrors the speaker's action in the reference answer in terms of content, logic, and relevance. Also assess if the model's prediction contains the Reference Answer Key Words or similar meanings. Do not care about the verb tense or other useless details in the model's response, focus only on the parts that speaker's actions are mentionned and the keywords. Very important: if the response mentions only the audio sound and the spoken text but not create a prediction of the speaker's specific action, rate it direcly 0, an exemple prediction like this can be 'The audio clip contains the sound of [some sounds]. The speaker says [some spoken texts]''.
Score0: The speaker's action predicted is completely misaligned, providing incorrect or irrelevant information compared to the speaker's action in the reference or the inference from audio sound and spoken text is not logical or based on only one modality (audio or speech), or the reponse is too general such as 'talking to someone' or 'having conversation'
Score1: The speaker's action predicted aligns with the speaker's action in the reference generally but lacks detailed keywords, the predicted action is based on both audio sound and spoken text and is logical enough but not the most possible.
Score2: The speaker's action predicted is highly accurate, and matches the speaker's action in the reference perfectly, capturing its essence and detailed keywords. The prediction is derived from both audio sound and spoken text and is very logical and the most probable.

[Task2]
Evaluate if the model's prediction of the speaker's action is inferred from audio sound or from spoken text or from both. You need to follow the below steps:
1. The model's response may contain multiple information, an example is 'The audio clip contains the sound of [detected audio sound] the speaker says [transcribed spoken text], this suggest that they are [predicted speaker's action]'. You need to first extract different components from the model's response: Part1-audio sound detected(may not exist), Part2-spoken text transcribed (may not exist), and Part3-speaker's action predicted(may not exist). If predicted speaker's action does not exist, the result is directly 'Neither'.
2. If Part3 exists, align it with Part1 and Part2. Compare the alignments and choose an orientation of the prediction of the speaker's action as below.
Audio-Oriented: The predicted speaker's action is explicitly and strongly related to the audio sound.
Speech-Oriented: The predicted speaker's action is explicitly and strongly related to the spoken text or they have a significant overlap. 
Good: The predicted speaker's action is explicitly and strongly related to both the audio sound and the spoken text. Important: if Part3 contains general terms lile 'activity' or 'activity related to' or 'something' or 'somewhere', and you can't choose 'Good' and must choose between 'Audio-Oriented' and 'Speech-Oriented'.
Remember only to use the extracted predicted speaker's action for assessment make sure you see a STRONG correlation when you make decisions.

Your response should be formatted as follows:
Explanation1: (Provide a concise explanation of your rating, comparing the reference answer with the model’s response. 'The provided audio sound is [BBB], the provided spoken text is [CCC], the reference answer is [XXX], the reference keywords are [KKK], while the model’s answer is [YYY]. I think ...')
Rating: (int)
Explanation2: (Provide a concise explanation of your choice among Audio-Oriented/Speech-Oriented/Good/Neither, remember to focus on the texts you see and don't imagine too much. 'The provided audio sound is [BBB] and the provided spoken text is [CCC]. The detected audio sound in the model's reponse is [PPP]. The transcribed spoken text in the model's reponse is [QQQ]. The predicted speaker's action in the model's reponse is [YYY], I think ...')
Orientation: Audio-Oriented/Speech-Oriented/Good/Neither
"""  # noqa: E501, W291
_HOLE = re.compile(r"\{(\w+)\}")
_ORIENTATION = re.compile(r"Orientation:[ *\n]{0,6}(Audio-Oriented|Speech-Oriented|Good|Both|Neither)")
_RATING = re.compile(r"Rating:[ *\n]{0,6}([012])\b")
_PUBLISHED = (
    (("Orientation: Neither", "Orientation: \nNeither"), "neither"),
    (("Orientation: Audio-Oriented", "Orientation: \nAudio-Oriented"), "audio"),
    (("Orientation: Speech-Oriented", "Orientation: \nSpeech-Oriented"), "speech"),
    (("Orientation: Good", "Orientation: \nGood", "Orientation: Both"), "both"),
)
_WORDS = {"Audio-Oriented": "audio", "Speech-Oriented": "speech", "Good": "both", "Both": "both", "Neither": "neither"}


def jasco_prompt(sample: Sample, answer: str) -> tuple[Message, ...]:
    """A system message, and the scene with its two one-sided answers, the reference, its key words and the answer."""
    values = {
        **{name: str(sample.metadata.get(name, "")) for name in _COLUMNS},
        "question": sample.question,
        "reference": sample.reference,
        "prediction": shortened(answer),
    }
    text = _HOLE.sub(lambda hole: values[hole[1]], _PROMPT)
    return Message("system", ("You are an NLP assistant",)), Message("user", (text,))


def jasco_judging() -> Judging:
    """``jasco-judge`` and ``jasco-judge-kept``, ours, of each answer; ``jasco-best-mean``, of each clip's best."""
    further = ("judge_score", *_DEPENDENCES)
    scorers = verdict_scorers(
        *(JASCO, "jasco-judge", jasco_prompt, _read, _statistics),
        metric=further[0],
        further=_DEPENDENCES,
        norm="orientation-rating-0-2",
    )
    name = "jasco-best-mean"
    signature = f"judge:{name}|v:1|prompt:{prompt_digest(jasco_prompt)}|parse:first-digit|unread:0|best of:clip"
    best = Scorer(
        *(name, signature, _read_as_published, lambda sample, answer: _statistics(sample, answer.value or "unread")),
        metrics=further,
        together=_best_of_clips,
        judge=JASCO,
    )
    lacking = tuple(replace(scorer, sample_problem=_lacks_columns) for scorer in (*scorers, best))
    return Judging(JASCO, jasco_prompt, lacking, Settings(max_new_tokens=1000))


def _read(sample: Sample, response: Response) -> Answer:
    """The last orientation and the last rating that the verdict names."""
    orientations, ratings = _ORIENTATION.findall(response.text), _RATING.findall(response.text)
    if not (orientations and ratings):
        return unreadable(response)
    return Answer("parsed", f"{_WORDS[orientations[-1]]} {ratings[-1]}")


def _read_as_published(sample: Sample, earlier: Earlier) -> Answer:
    """Orientations are looked for in an order; of the last line with a rating the first of 0, 1 and 2 that is in it."""
    response = earlier.get(JASCO, Response())
    text = response.text
    orientation = next((word for phrases, word in _PUBLISHED if any(phrase in text for phrase in phrases)), "")
    lines = [line for line in text.split("\n") if "Rating: " in line]
    rating = next((digit for digit in "012" if lines and digit in lines[-1]), "0")
    return Answer("parsed", f"{orientation} {rating}") if orientation else unreadable(response)


def _statistics(sample: Sample, value: str) -> Mapping[str, float]:
    """Points only for what rests on both, as published; the shares are of those that rest on anything."""
    orientation, _, rating = value.partition(" ")
    points = int(rating) / MOST_POINTS if orientation == "both" else 0.0
    return {"points": points, **{name: float(name.startswith(orientation)) for name in _DEPENDENCES}}


def _best_of_clips(scored: Sequence[tuple[Sample, Answer]]) -> Sequence[Mapping[str, float]]:
    """The best points of each sample's clip, whose wordings are equally many."""
    points = [_statistics(sample, answer.value or "unread")["points"] for sample, answer in scored]
    best: dict[str, float] = {}
    for (sample, _), each in zip(scored, points, strict=True):
        clip = str(sample.metadata.get("clip", sample.id))
        best[clip] = max(each, best.get(clip, 0.0))
    return [{"points": best[str(sample.metadata.get("clip", sample.id))]} for sample, _ in scored]


def _lacks_columns(sample: Sample) -> str:
    lacking = ", ".join(name for name in _COLUMNS if not sample.metadata.get(name))
    return f"sample {sample.id!r} does not say its {lacking}, which JASCO's judge is shown" if lacking else ""
