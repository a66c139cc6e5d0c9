"""Is a sound there? A probe for each sound, answered yes or no."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from pytest_audiobench.datasets.sample import Sample, tidy_caseless
from pytest_audiobench.errors import UsageError
from pytest_audiobench.models.messages import SOMETHING_ELSE, AudioSlot, Message, Settings
from pytest_audiobench.protocols.classification.mentions import labels_of
from pytest_audiobench.protocols.classification.truth import statistics_of
from pytest_audiobench.protocols.free_text import answer_of
from pytest_audiobench.protocols.presence import answers, published
from pytest_audiobench.protocols.presence.questions import FIELD, label_of, question, template_of
from pytest_audiobench.protocols.prompt_sets import YESNO
from pytest_audiobench.protocols.protocol import About, Answer, Earlier, Example, Protocol, Scorer, Stage, remembered

DEFAULT = YESNO.paraphrases[0]
_LABELS = labels_of(("no", "yes"))
_METRICS = ("recall", "fpr", "precision", "f1", "d_prime", "criterion", "solo_quad_cliff", "components_understood")


@remembered
def presence(*scorers: str, prompt: str = DEFAULT, system: str | None = None, max_new_tokens: int = 64) -> Protocol:
    """Ask whether the sound that the sample's metadata ``label`` names is heard, and read the answer by ``scorers``.

    They are ``heard`` (the default; ours, with a third value) and ``ab-yesno`` (the audiobench tool's parser, with its
    defects). A sample's reference is "yes" or "no". ``prompt`` holds ``{label}``, with "a" or "an" before it put right;
    ``presence().worded("yesno", 3)`` asks in three wordings and takes their vote. Listeners that are no language models
    are offered the label and "something else". Raises UsageError for an unknown scorer, and for a prompt without
    ``{label}``.
    """
    template = template_of(prompt)

    def render(sample: Sample, earlier: Earlier) -> tuple[Message, ...]:
        slots = tuple(AudioSlot(number) for number in range(len(sample.clips)))
        user = Message("user", (*slots, question(template, label_of(sample))))
        return (user,) if system is None else (Message("system", (system,)), user)

    stage = Stage(
        "answer",
        render,
        task="choice",
        settings=Settings(max_new_tokens=max_new_tokens),
        fields=(FIELD,),
        offers=lambda sample: (label_of(sample), SOMETHING_ELSE),
    )
    available = MappingProxyType({scorer.name: scorer for scorer in _READINGS})
    asked = Protocol("presence", (stage,), (available["heard"],), available, expects="option")
    return asked.with_scorers(*scorers) if scorers else asked


def _is_present(sample: Sample) -> bool:
    truth = tidy_caseless(sample.reference)
    if truth not in ("yes", "no"):
        raise UsageError(
            f"sample {sample.id!r}: the reference of a probe is yes or no, and not {sample.reference!r}; "
            "correct the data set"
        )
    return truth == "yes"


def _parse(sample: Sample, earlier: Earlier) -> Answer:
    response = answer_of(earlier)
    return answers.read(response.text, label_of(sample), response.finish)


def _parse_published(sample: Sample, earlier: Earlier) -> Answer:
    return Answer("parsed", "yes" if published.says_yes(answer_of(earlier).text) else "no")


def _score(sample: Sample, answer: Answer) -> Mapping[str, float]:
    present, yes = _is_present(sample), answer.value == "yes"
    true, said = "yes" if present else "no", [answer.value] if answer.value in ("yes", "no") else []
    counts = {
        "hits": float(present and yes),
        "present": float(present),
        "alarms": float(yes and not present),
        "absent": float(not present),
    }
    condition = sample.metadata.get("condition")
    for name in ("solo", "quad"):
        counts |= {f"{name}_{what}": counts[what] if condition == name else 0.0 for what in ("hits", "present")}
    return {**statistics_of(_LABELS, [true], said), **counts}


_COUNTED = (
    "An answer that is neither yes nor no counts as wrong: where the sound is there it is a miss, where it is not it "
    "is no false alarm, and no right answer either. So a model that says nothing has recall 0, false alarms 0 and "
    "balanced accuracy 0, one that always says yes has recall 1, false alarms 1 and balanced accuracy 0.5, and both "
    "have a d′ of 0."
)


def _example(text: str, reference: str, label: str) -> Example:
    return Example(text, reference, f"Do you hear a {label}?", metadata={FIELD: label})


_READINGS = (
    Scorer(
        "heard",
        "probe:heard|v:1|unanswered:wrong",
        _parse,
        _score,
        ("balanced_accuracy", *_METRICS, "accuracy"),
        About(
            f"{answers.RULE} {_COUNTED}",
            "ours",
            (
                _example("Yes, I hear a siren.", "yes", "siren"),
                _example("No, I don't hear a siren.", "no", "siren"),
                _example("There is no dog but yes, a cat.", "no", "dog"),
                _example("There is no dog but yes, a cat.", "yes", "cat"),
                _example("The siren is not present.", "no", "siren"),
                _example("Maybe.", "no", "siren"),
                _example("I cannot tell.", "no", "siren"),
                _example("不是。", "no", "siren"),
            ),
        ),
    ),
    Scorer(
        "ab-yesno",
        "probe:ab-yesno|v:1|unanswered:no",
        _parse_published,
        _score,
        ("recall", *_METRICS[1:], "balanced_accuracy", "accuracy"),
        About(
            "An answer that opens with yes, y, yeah, yep, true, present, positive or 1 is yes; one that opens with no, "
            'n, nope, nah, false, absent, negative or 0 is no; any other is yes where it holds "yes" anywhere and not '
            '"no " among its first six characters; and no otherwise. Case is ignored. Of several wordings a tie is no.',
            "github THENIROCK/audiobench, src/audiobench/probes.py (parser_version v1) and sound_id_metrics.py",
            (
                _example("Yes, I hear a siren.", "yes", "siren"),
                _example("yesterday", "no", "siren"),
                _example("There is no dog but yes, a cat.", "no", "dog"),
                _example("no yes", "yes", "siren"),
                _example("I hear a siren.", "yes", "siren"),
                _example("Maybe.", "no", "siren"),
                _example("I'm sorry, I cannot tell.", "no", "siren"),
            ),
            'All that is not read as yes is a no: a refusal, "maybe" and an empty answer are right wherever the sound '
            'is absent. "I hear a siren." is a no, "yesterday" a yes, and the sound that was asked for plays no part. '
            "Its own tool counts recall, precision and false alarms without a denominator as 0; here they have no "
            "value. Ours has a third value.",
        ),
    ),
)
