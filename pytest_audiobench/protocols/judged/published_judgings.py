"""The published judgings: AudioBench's ratings, SAKURA's verdict, SALMONN's on answers and on slots, and those whose
words are the publishers' own, since their numbers are by them: VoiceBench's, Big Bench Audio's, MMAU-Pro's and
Speech-IFEval's.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from statistics import fmean

from pytest_audiobench.datasets.sample import LETTERS, Sample, tidy_caseless
from pytest_audiobench.models.messages import Message, Response, Settings
from pytest_audiobench.protocols.judged import default_judgings
from pytest_audiobench.protocols.judged.verdicts import (
    Prompt,
    judging_of,
    option_list,
    rated,
    shortened,
    text_list,
    unreadable,
    verdict_scorers,
    worded,
)
from pytest_audiobench.protocols.protocol import Answer, Earlier, Judging, Scorer

AUDIOBENCH, AUDIOBENCH_BINARY = "audiobench", "audiobench-binary"
MOST_POINTS = 5.0
_STARS = (
    "0: wrong, or nothing to do with the reference.\n"
    "1: hardly any agreement; mostly misunderstood or irrelevant.\n"
    "2: the subject is right, much of what is said of it is not.\n"
    "3: agrees on the whole, but lacks detail or is inexact in places.\n"
    "4: mostly accurate and relevant; could be clearer or more detailed.\n"
    "5: accurate, detailed, in full agreement.\n\n"
)
_RIGHT_OR_WRONG = (
    "0: wrong, nothing to do with the reference, or no answer at all.\n"
    "1: right; it says or includes what the reference means.\n\n"
)


def audiobench_rating(text: str) -> float | None:
    """The last word of a judge's reply as a number; None where it is none, as for a reply without words.

    NaN and infinities, which the published line takes for numbers, are none.
    """
    try:
        number = float(text.split()[-1])
    except (ValueError, IndexError):
        return None
    return number if math.isfinite(number) else None


def audiobench_prompt(sample: Sample, answer: str) -> tuple[Message, ...]:
    """Reference, answer, question, and what each rating from 0 to 5 stands for. The words are ours."""
    return _rating_prompt(_STARS, sample, answer)


def audiobench_binary_prompt(sample: Sample, answer: str) -> tuple[Message, ...]:
    """The same with 0 and 1 alone."""
    return _rating_prompt(_RIGHT_OR_WRONG, sample, answer)


def _rating_prompt(ratings: str, sample: Sample, answer: str) -> tuple[Message, ...]:
    # What was asked aloud is the question of a spoken instruction, as AudioBench shows it to its judge.
    text = (
        f"[Reference]\n{text_list(sample.truths)}\n\n"
        f"[Answer]\n{shortened(answer)}\n\n"
        f"[Question]\n{sample.metadata.get('instruction') or sample.question}\n\n"
        "[Task]\nRate how well the answer agrees with the reference in content, accuracy and relevance. Be strict "
        f"about details.\n{ratings}"
        "Answer in this form, the rating last:\n"
        "Explanation: (a short comparison of answer and reference)\n"
        "Rating: (a whole number)"
    )
    return (Message("user", (text,)),)


def audiobench_judging() -> Judging:
    """``audiobench-judge`` and ``audiobench-judge-kept``, ours, and ``audiobench-judge-published``."""
    return _rating_judging(AUDIOBENCH, audiobench_prompt, MOST_POINTS)


def audiobench_binary_judging() -> Judging:
    """The same of verdicts of 0 and 1: ``audiobench-binary-judge`` and its two."""
    return _rating_judging(AUDIOBENCH_BINARY, audiobench_binary_prompt, 1.0)


def _rating_judging(name: str, prompt: Prompt, most: float) -> Judging:
    norm = f"last-word-0-{most:g}"
    reading, settings = rated(audiobench_rating, most), Settings(max_new_tokens=512)
    judging = judging_of(name, prompt, reading, settings, f"{name}-judge", metric="judge_score", norm=norm)
    signature = judging.scorers[0].signature.replace(f"judge:{name}-judge|", f"judge:{name}-judge-published|")
    signature = signature.replace(norm, "last-word").replace("left-out", "0")
    published = _published_rating(name, f"{name}-judge-published", signature, audiobench_rating, most)
    return replace(judging, scorers=(*judging.scorers, published))


def _published_rating(
    judging: str, name: str, signature: str, read: Callable[[str], float | None], most: float, unread: float = 0.0
) -> Scorer:
    """The scorer by whose rule any number counts, and ``unread`` where there is none."""

    def parse(sample: Sample, earlier: Earlier) -> Answer:
        response = earlier.get(judging, Response())
        rating = read(response.text)
        return unreadable(response) if rating is None else Answer("parsed", repr(rating))

    def score(sample: Sample, answer: Answer) -> Mapping[str, float]:
        return {"points": (unread if answer.value is None else float(answer.value)) / most}

    return Scorer(name, signature, parse, score, ("judge_score",), judge=judging)


SAKURA = "sakura"
_EXPLANATION, _JUDGEMENT, _END = "Explanation: ", "\nJudgement: ", "\n\n"


def sakura_prompt(sample: Sample, answer: str) -> tuple[Message, ...]:
    """A system message, and the criteria with question, options, true option and answer. The words are ours."""
    system = (
        "You are a fair judge of answers to multiple-choice questions. From the question with its options, the true "
        "option and a model's reply you decide whether the reply is correct."
    )
    user = (
        "Decide by these criteria.\n"
        "1. Exactly one option is true. A reply that settles on none of the options, or on more than one, is "
        "incorrect.\n"
        "2. A reply that settles on one option is correct if that is the true one, and incorrect otherwise. Other "
        "words for the same option count: a noun for its adjective, the option's text without its letter.\n"
        "3. Read everything before you decide.\n\n"
        "Examples, for the question: Which animal is heard? (a) dog (b) cat (c) cow (d) pig, with the true option (a) "
        'dog. "A horse neighs." is incorrect, since it settles on no option; "A dog or a cat." is incorrect, since it '
        'settles on two; "It is a cat." is incorrect; "This is the barking of a dog." is correct.\n\n'
        f"Question: {sample.question} {option_list(sample, ' ', lower=True)}\n"
        f"True option: {_true_option(sample)}\n"
        f"The model's reply: {shortened(answer)}\n\n"
        "Answer in exactly this form:\n"
        "Explanation: <why>\n"
        "Judgement: <correct or incorrect>"
    )
    return Message("system", (system,)), Message("user", (user,))


def sakura_judgement(text: str) -> bool | None:
    r"""What the published pattern ``Explanation: (.*?)\nJudgement: (.*?)(?:\n\n|$)`` finds, None where it does not.

    Found by two searches in place of the pattern, which takes a time that grows with the square of a hostile text.
    """
    start = text.find(_EXPLANATION)
    place = text.find(_JUDGEMENT, start + len(_EXPLANATION)) if start >= 0 else -1
    if place < 0:
        return None
    verdict = text[place + len(_JUDGEMENT) :].partition(_END)[0].strip().lower()
    return {"correct": True, "incorrect": False}.get(verdict)


def _true_option(sample: Sample) -> str:
    wanted = tidy_caseless(sample.reference)
    letters = (
        letter
        for letter, choice in zip(LETTERS.lower(), sample.choices, strict=False)
        if tidy_caseless(choice) == wanted
    )
    letter = next(letters, "")
    return f"({letter}) {sample.reference}" if letter else sample.reference


SQQA, SLOT, SAC = "sqqa", "slot", "sac"
_READ = 20_000
_VERDICT = re.compile(r"""["']Correct["']\s{0,20}:\s{0,20}(True|False)\b""", re.I)


def sqqa_verdict(text: str) -> bool | None:
    """The verdict of a reply that holds the entry "Correct" once, or several times alike; else None."""
    verdicts = {match.lower() for match in _VERDICT.findall(text[:_READ])}
    return verdicts == {"true"} if len(verdicts) == 1 else None


def _sqqa_prompt(sample: Sample, answer: str) -> tuple[Message, ...]:
    text = (
        "You are given a question, its standard answer and an answer to be checked. Judge by the standard answer "
        "whether the answer is correct; where several standard answers are listed, agreeing with one of them is "
        "enough. Give a short reason.\n\n"
        f"Question: {sample.metadata.get('transcript') or sample.question}\n"
        f"Standard answer: {text_list(sample.truths)}\n"
        f"Answer to be checked: {shortened(answer)}\n\n"
        'Reply with a Python dictionary and nothing else: {"Correct": True or False, "Reason": "why"}'
    )
    return (Message("user", (text,)),)


def _sac_prompt(sample: Sample, answer: str) -> tuple[Message, ...]:
    """What sounds behind the speaker in place of a standard answer, as SALMONN's judge of co-reasoning has it."""
    text = (
        "In a recording somebody asks a question while something else sounds in the background; the question is to be "
        "answered by that sound. You are given a description of the background, the question and an answer. Judge "
        "whether the answer is correct: it answers the question, and what it says fits the background. Give a short "
        "reason.\n\n"
        f"Background: {sample.metadata.get('background') or text_list(sample.truths)}\n"
        f"Question: {sample.metadata.get('transcript') or sample.question}\n"
        f"Answer to be checked: {shortened(answer)}\n\n"
        'Reply with a Python dictionary and nothing else: {"Correct": True or False, "Reason": "why"}'
    )
    return (Message("user", (text,)),)


def _slot_prompt(sample: Sample, answer: str) -> tuple[Message, ...]:
    system = (
        "You compare a slot value that a model heard in speech with the true one. Be neither kind nor harsh. Reply Yes "
        "if the model's value says what the true one says, No if it does not, and not a word more."
    )
    user = (
        f"The slot: {sample.metadata.get('slot') or sample.question}\n"
        f"The true value: {text_list(sample.truths)}\n"
        f"The model's value: {shortened(answer)}\n\n"
        "Does the model's value say what the true one says? Yes or No:"
    )
    return Message("system", (system,)), Message("user", (user,))


# VoiceBench and Big Bench Audio: github MatthewCYM/VoiceBench at 533815410e3f4d602bd15a1de7105aea4acd828c:
# api_judge.py, and github huggingface/blog at 110f24815a2143a19dee0d1b4a6f77073845c13c: big-bench-audio-release.md.
# The words of what was asked are a sample's metadata "transcript", or its question.

VOICEBENCH_OPEN, VOICEBENCH_QA, BIG_BENCH_AUDIO = "voicebench-open", "voicebench-qa", "big-bench-audio"

_ASSISTANT = "You are a helpful assistant who tries to help answer the user's question."
_OPEN = """
I need your help to evaluate the performance of several models in the speech interaction scenario. The models will receive a speech input from the user, which they need to understand and respond to with a speech output.
Your task is to rate the model’s responses based on the provided user input transcription [Instruction] and the model’s output transcription [Response].

Please evaluate the response on a scale of 1 to 5:
1 point: The response is largely irrelevant, incorrect, or fails to address the user’s query. It may be off-topic or provide incorrect information.
2 points: The response is somewhat relevant but lacks accuracy or completeness. It may only partially answer the user’s question or include extraneous information.
3 points: The response is relevant and mostly accurate, but it may lack conciseness or include unnecessary details that don’t contribute to the main point.
4 points: The response is relevant, accurate, and concise, providing a clear answer to the user’s question without unnecessary elaboration.
5 points: The response is exceptionally relevant, accurate, and to the point. It directly addresses the user’s query in a highly effective and efficient manner, providing exactly the information needed.

Below are the transcription of user’s instruction and models’ response:
### [Instruction]: {prompt}
### [Response]: {response}

After evaluating, please output the score only without anything else.
You don’t need to provide any explanations.
"""  # noqa: E501
_QA = """### Question
{prompt}

### Reference answer
{reference}

### Candidate answer
{response}

Is the candidate answer correct based on the question and reference answer? 
Please only output a single "Yes" or "No". Do not output anything else."""  # noqa: W291
_BIG_BENCH = """Assess whether the following CANDIDATE ANSWER is CORRECT or INCORRECT.
For the CANDIDATE ANSWER to be correct, it must be consistent with the OFFICIAL ANSWER.
If the CANDIDATE ANSWER contradicts itself, assess the first proposed answer.
If the CANDIDATE ANSWER provides a final answer and working, assess the final answer only.
If the CANDIDATE ANSWER includes irrelevant information, assess only the relevant information.
If the CANDIDATE ANSWER includes a numeric value it is ok if it is spelled e.g. 7 or seven
It is ok if the CANDIDATE ANSWER involves a misspelling of a person's name e.g. Leda or Lida, Autry or Audrie.

The question, for reference only: START QUESTION {prompt}

END QUESTION

The OFFICIAL ANSWER:{reference}

BEGIN CANDIDATE ANSWER TO ASSESS

{response}

END CANDIDATE ANSWER TO ASSESS

Reply only with CORRECT or INCORRECT."""


def _template_prompt(template: str, *system: str) -> Prompt:
    """``template`` with question, reference and answer, in one pass: what they hold is put in as it is."""

    def prompt(sample: Sample, answer: str) -> tuple[Message, ...]:
        values = {
            "prompt": str(sample.metadata.get("transcript") or sample.question),
            "reference": text_list(sample.truths),
            "response": shortened(answer),
        }
        text = re.sub(r"\{(prompt|reference|response)\}", lambda hole: values[hole[1]], template)
        return (*(Message("system", (words,)) for words in system), Message("user", (text,)))

    return prompt


def _number_or_bracketed(text: str) -> float | None:
    """A reply that is a number, or the whole number between its first double brackets; None for any other.

    The published code ends there. NaN and infinities, which it takes for numbers, are none.
    """
    try:
        number = float(text)
    except ValueError:
        bracketed = re.search(r"\[\[(\d+)\]\]", text)
        number = float(bracketed[1]) if bracketed else math.nan
    return number if math.isfinite(number) else None


def _whole_word(text: str, right: str, wrong: str) -> bool | None:
    return {right: True, wrong: False}.get(text.strip().lower())


# MMAU-Pro's four criteria and a whole, 1 to 5 each: github sonalkum/MMAUPro at 960e93a415e2:
# evaluate_mmau_pro_comprehensive.py.

MMAU_PRO = "mmau-pro"
_NEUTRAL = 3.0
_CRITERIA = {
    "CORRECTNESS": "[score] - [justification]",
    "RELEVANCE": "[score] - [justification] ",
    "COMPLETENESS": "[score] - [justification]",
    "CLARITY": "[score] - [justification]",
    "OVERALL": "[average score] - [overall assessment]",
}
_POINTS = [re.compile(rf"{name}:\s*(\d+)", re.I) for name in _CRITERIA if name != "OVERALL"]
_OVERALL = re.compile(r"OVERALL:\s*(\d+(?:\.\d+)?)", re.I)


def _mmau_pro_prompt(sample: Sample, answer: str) -> tuple[Message, ...]:
    """A system message, and question, reference and answer with the criteria."""
    form = "\n".join(f"{name}: {what}" for name, what in _CRITERIA.items())
    text = (
        "You are an expert evaluator for general open-ended question answering tasks. Please evaluate the quality of a "
        "model's response to a question.\n\n"
        f"Question: {sample.question}\n\n"
        f"Reference Answer: {text_list(sample.truths)}\n\n"
        f"Model Response: {shortened(answer)}\n\n"
        "Please evaluate the model response on the following criteria and provide scores from 1-5 (where 5 is best):"
        "\n\n"
        "1. **Correctness**: How factually accurate is the response compared to the reference?\n"
        "2. **Relevance**: How well does the response address the specific question asked?\n"
        "3. **Completeness**: Does the response cover all important aspects mentioned in the reference?\n"
        "4. **Clarity**: How clear and well-structured is the response?\n\n"
        "For each criterion, provide:\n"
        "- A score from 1-5\n"
        "- A brief justification (1-2 sentences)\n\n"
        f"Format your response as:\n\n{form}"
    )
    return Message("system", ("You are a helpful and objective evaluator.",)), Message("user", (text,))


def _mmau_pro_points(text: str) -> float | None:
    """What a verdict says in all: its OVERALL, or, where that is 3 or not there, the mean of the criteria.

    A criterion that is not there is 3. None where there is no number at all.
    """
    overall, *criteria = (pattern.search(text) for pattern in (_OVERALL, *_POINTS))
    if overall is not None and float(overall[1]) != _NEUTRAL:
        return float(overall[1])
    if overall is None and not any(criteria):
        return None
    return fmean(float(match[1]) if match else _NEUTRAL for match in criteria)


def _mmau_pro_overall(text: str) -> float | None:
    match = _OVERALL.search(text)
    return float(match[1]) if match else None


def _mmau_pro_judging() -> Judging:
    """``mmau-pro-judge``, and ``mmau-pro-judge-read``, which leaves out verdicts without an OVERALL of 1 to 5."""
    name, reading = "mmau-pro-judge", rated(_mmau_pro_overall, MOST_POINTS, least=1.0)
    _, strict = verdict_scorers(
        MMAU_PRO, name, _mmau_pro_prompt, *reading, metric="judge_score", norm="overall-1-5", published=True
    )
    signature = strict.signature.replace("left-out", "3")
    published = _published_rating(MMAU_PRO, name, signature, _mmau_pro_points, MOST_POINTS, unread=_NEUTRAL)
    return Judging(MMAU_PRO, _mmau_pro_prompt, (published, strict), Settings(max_new_tokens=512))


# Speech-IFEval's: github kehanlu/Speech-IFEval at e2e9c14d3609: script/llm_evaluation.py.

SPEECH_IFEVAL = "speech-ifeval"
_RESULT = re.compile(r"(?<=result:\s)(yes|no)", re.I)
_REASONING = """\
You will be given a user input and a model response. The model's response is a reply to the user input. Your task is \
to determine whether the response demonstrates reasoning behavior, such as breaking down the problem, explaining \
intermediate steps, or providing a analysis.

Please strictly follow the guidelines below:
- Output "YES" if the response includes any form of behavior beyond a direct answer corresponding to the user input.
- Output "NO" only if the response is a minimal or purely factual reply.
- Answer in the format: "Result: <YES or NO>" at the end.
"""


def _speech_ifeval_prompt(sample: Sample, answer: str) -> tuple[Message, ...]:
    """A system message that says what reasoning is, and question and answer."""
    user = f"User input: {sample.question}\nModel's Response: {shortened(answer)}"
    return Message("system", (_REASONING,)), Message("user", (user,))


def _shows_reasoning(text: str) -> bool | None:
    """The first yes or no behind "Result:"."""
    verdict = _RESULT.search(text)
    return verdict[1].lower() == "yes" if verdict else None


def judgings() -> tuple[Judging, ...]:
    """Those of all publishers, each with two scorers or three."""
    short = Settings(max_new_tokens=512)
    voicebench = Settings(max_new_tokens=1024, top_p="0.95")
    yes_no = (default_judgings.parse_yes_no, default_judgings.score_yes_no)
    return (
        judging_of(
            SAKURA,
            sakura_prompt,
            worded(sakura_judgement, "correct", "incorrect"),
            Settings(max_new_tokens=1024, top_p="0.9"),
            "sakura-judge",
            norm="explanation-judgement",
            published=True,
        ),
        judging_of(
            SQQA, _sqqa_prompt, worded(sqqa_verdict, "true", "false"), short, "sqqa-judge", norm="correct-true-false"
        ),
        judging_of(
            SAC, _sac_prompt, worded(sqqa_verdict, "true", "false"), short, "sac-judge", norm="correct-true-false"
        ),
        judging_of(SLOT, _slot_prompt, yes_no, Settings(max_new_tokens=16), "slot-judge", norm="first-word-yes-no"),
        _mmau_pro_judging(),
        # Nothing is true of such an answer: its judge gets no more than an extractor.
        judging_of(
            SPEECH_IFEVAL,
            _speech_ifeval_prompt,
            worded(_shows_reasoning, "yes", "no"),
            short,
            "speech-ifeval-cot",
            role="extractor",
            norm="result-yes-no",
        ),
        audiobench_judging(),
        judging_of(
            VOICEBENCH_OPEN,
            _template_prompt(_OPEN, _ASSISTANT),
            rated(_number_or_bracketed, MOST_POINTS),
            voicebench,
            metric="judge_score",
            norm="number-1-5",
        ),
        # Anything but Yes is No by the published rule.
        judging_of(
            VOICEBENCH_QA,
            _template_prompt(_QA, _ASSISTANT),
            worded(partial(_whole_word, right="yes", wrong="no"), "yes", "no"),
            voicebench,
            norm="whole-yes-no",
            published=True,
        ),
        judging_of(
            BIG_BENCH_AUDIO,
            _template_prompt(_BIG_BENCH),
            worded(partial(_whole_word, right="correct", wrong="incorrect"), "correct", "incorrect"),
            Settings(max_new_tokens=64),
            norm="whole-correct-incorrect",
        ),
        audiobench_binary_judging(),
    )
