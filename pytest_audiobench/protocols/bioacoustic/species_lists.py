"""Names of species in an answer, each perhaps with how often it calls: sets, orders, counts. Ours, strict.

A list is JSON, a table, or names between commas, semicolons, arrows, lines, "and" or "then". Of "Corvus corax (common
raven): 2 calls, 920-2130 Hz" and "2 Corvus corax" the number is how often it calls, both names count as one species,
and what follows them is not a name. "Unknown" does not count, nor what is denied, or said to call 0 times. An answer's
names are taken as they stand; one that has more words counts for the one true name that is among them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError
from pytest_audiobench.metrics.label_statistics import set_scores
from pytest_audiobench.models.messages import Finish
from pytest_audiobench.protocols.answer_failures import refuses
from pytest_audiobench.protocols.bioacoustic.answers import spoken
from pytest_audiobench.protocols.bioacoustic.naming import names_of
from pytest_audiobench.protocols.bioacoustic.quantities import NUMBER_WORD, Tolerance, number_in
from pytest_audiobench.protocols.free_text import answer_of
from pytest_audiobench.protocols.protocol import Answer, Earlier, Scorer

_FENCE_NAME = re.compile(r"\A(?:json|python|text|markdown)\n", re.I)
"""What is left of a code fence when emphasis is gone."""
_RULE = re.compile(r"[\s|:-]+")
_HEADING = re.compile(
    r"\A\s*\d{1,3}\s*:\s*|\A[^:\n|\[{]{0,100}\b(?:species|birds?|animals?|hear|heard|recording|clip|audio|order|list|answer)"
    r"\b[^:\n,;|]{0,60}:\s*(?=[^\W\d_]|[*\"'\[\n]|\d{1,2}[.)]|-\s)",
    re.I,
)
_BETWEEN = re.compile(
    r"[;,|•&\n→]|=>|->|\s[+>]\s|(?<=\w{3})\.\s+(?=[A-Z])|(?<=\d)\.\s+(?=[A-Z])"
    r"|(?<![-\w])(?:[Aa]nd(?:\s[Tt]hen)?|[Tt]hen|[Ff]ollowed\s[Bb]y|AND)(?![-\w])"
)
_LINE_NUMBER = re.compile(r"\A\s*(?:[-*•]|\d{1,2}[.)](?!\d))\s*")
_LEAD_IN = re.compile(
    r"\A\s*(?:(?:i|we)\s(?:can\s)?(?:hear|heard|detect|detected|identify|identified)\b|there\s(?:is|are)\b"
    r"|(?:the\s|this\s)?(?:recording|clip|audio|answer|species|list)(?:\s(?:is|are|contains?|features|has|heard))*\b"
    r"|(?:it|they)\s(?:is|are)\b|first\b|next\b|finally\b|an?\b|the\b|[:.])\s*",
    re.I,
)
_CALLS_OF = re.compile(
    r"\A(?P<count>[\w-]{1,12})\s(?:calls?|songs?|vocali[sz]ations?)\s(?:of|from|by)\s(?:an?\s|the\s)?(?P<name>.+)", re.I
)
_COUNT_FIRST = re.compile(
    rf"\A(?P<count>\d{{1,3}}|{NUMBER_WORD})(?:\s?[x×])?\s(?P<name>(?!(?:k?hz|m?s|sec\w{{0,6}}|min\w{{0,6}})\b)[^\W\d_][^:=(\d]*)\Z",
    re.I,
)
_TIMES = re.compile(r"\s(?:calls?|sings?|vocali[sz]es?|is\sheard)?\s?\b(?P<times>once|twice)\b.*\Z", re.I)
_NAME = re.compile(
    r"(?P<name>[^\W\d_][^:=(\d×]*?)\s*(?:\((?P<other>[^()\d]{3,80})\))?(?P<rest>\s*[:=(×\d].*|\s+[x–-]\s?.*)?\Z"
)
_NOBODY = re.compile(r"(?:none|nothing|no\b.{0,60}|n/?a|empty)", re.I)
_NO_NAME = re.compile(
    rf"{_NOBODY.pattern}|unknown|(?:an?\s)?(?:calls?|vocali[sz]ations?|songs?|hz|khz)|(?:in\s)?total.{{0,20}}"
    r"|(?:different\s|distinct\s|other\s)?(?:species|counts?)"
    r"|(?:not|nor|neither|without|in|from|on|based|with|which|who|whose|that|also|commonly|sometimes|calling|singing)\b.*",
    re.I,
)
_LONGEST_NAME = 200


class Item(NamedTuple):
    """A species as it was named."""

    name: str
    other: str
    """A second name of it; "" for none."""
    calls: float | None = None


def species_items(text: str) -> list[Item]:
    """The species that ``text`` lists, in its order; each name once."""
    body = _FENCE_NAME.sub("", spoken(text))
    items: dict[str, Item] = {}
    for fragment in _of_json(body) or _fragments(body):
        if (item := _item(fragment)) is not None:
            items.setdefault(item.name.casefold(), item)
    return list(items.values())


def _of_json(body: str) -> list[str]:
    try:
        return _named(json.loads(body))
    except (ValueError, RecursionError):
        return []


def _named(content: object) -> list[str]:
    """The names of a JSON list, or of an object, each with its number; rows of names and numbers are objects too."""
    if isinstance(content, list):
        rows = [tuple(row.values()) for row in content if isinstance(row, dict) and len(row) == 2]
        named = [(name, count) for name, count in rows if isinstance(name, str)]
        return [f"{name}: {count}" for name, count in named] if rows else [str(name) for name in content]
    if not isinstance(content, dict):
        return []
    if len(content) == 1 and isinstance(value := next(iter(content.values())), (list, dict)):
        return _named(value)
    return [f"{name}: {value}" for name, value in content.items()]


def _fragments(body: str) -> list[str]:
    lines = body.split("\n")
    # A table's heading stands above its rule.
    rules = {place for place, line in enumerate(lines) if "|" in line and "-" in line and _RULE.fullmatch(line)}
    fragments = []
    for place, line in enumerate(lines):
        if place in rules or place + 1 in rules:
            continue
        if rules and len(cells := [cell.strip() for cell in line.strip("| ").split("|")]) > 1:
            fragments.append(": ".join(cells[:2]))
        else:
            fragments += _BETWEEN.split(_HEADING.sub("", line, count=1))
    return fragments


def _item(fragment: str) -> Item | None:
    text = _LINE_NUMBER.sub("", fragment[: 2 * _LONGEST_NAME]).strip(" \"'“”.*[]{}")
    while (shorter := _LEAD_IN.sub("", text, count=1)) != text:
        text = shorter
    if calls := _CALLS_OF.match(text) or _COUNT_FIRST.match(text):
        text = f"{calls['name']}: {calls['count']}"
    elif times := _TIMES.search(text):
        text = f"{text[: times.start()]}: {1 if times['times'].lower() == 'once' else 2}"
    if (match := _NAME.match(text)) is None or _NO_NAME.fullmatch(name := match["name"].strip(" -–\"'")):
        return None
    count = number_in((match["rest"] or "").strip(":=(×x–- )").partition(",")[0], "")
    calls_of_it = float(count.value) if count.value else None
    return None if calls_of_it == 0 else Item(name[:_LONGEST_NAME], (match["other"] or "").strip(), calls_of_it)


def _places(said: Sequence[Item], true: Sequence[Item]) -> list[int | None]:
    """Of each item said, which of the true ones it is."""
    labels = tuple(dict.fromkeys(name for item in true for name in (item.name, item.other) if name))
    place_of = {name: place for place, item in reversed(list(enumerate(true))) for name in (item.name, item.other)}
    names, places = names_of(labels), []
    for item in said:
        # No slip of spelling is forgiven: Parus minor is another tit than Parus major.
        every = [mention for name in (item.name, item.other) for mention in names.mentions(name)]
        mentions = [mention.label for mention in every if not mention.denied]
        either = {place_of[label] for label in mentions}
        places.append(either.pop() if len(either) == 1 else None)
    return places


def list_scorer(task: str, ordered: bool, tolerance: str) -> Scorer:
    """The scorer ``bioacoustic`` of a list of species, or where ``task`` is "counts" of how often each calls."""
    near = Tolerance.of(tolerance)

    def parse(sample: Sample, earlier: Earlier) -> Answer:
        response = answer_of(earlier)
        return _read(response.text, response.finish)

    def score(sample: Sample, answer: Answer) -> Mapping[str, float]:
        true = species_items(", ".join(sample.references) or sample.reference)
        if any(item.calls is None for item in true) and task == "counts":
            raise UsageError(f"sample {sample.id!r}: its truth {sample.reference!r} has a species without a number")
        said = [] if answer.value is None else [Item(*each) for each in json.loads(answer.value)]
        unread = answer.value is None
        places = _places(said, true)
        distinct = [place for number, place in enumerate(places) if place is None or place not in places[:number]]
        hits = [place for place in distinct if place is not None]
        right = not unread and len(hits) == len(true) == len(distinct)
        statistics = {
            "correct": float(right),
            "set_f1": 1.0 if right else set_scores(len(hits), len(distinct), len(true)).f1,
        }
        if ordered:
            in_order = set_scores(_longest_rise(hits), len(distinct), len(true)).f1
            statistics["ordered_f1"] = in_order if true or distinct else float(right)
        return statistics | (_counted(said, true, places, near, unread) if task == "counts" else {})

    metrics = ["set_f1", "ordered_f1", "accuracy"] if ordered else ["set_f1", "accuracy"]
    if task == "counts":
        metrics = ["count_f1", "absolute_error", *metrics]
    rules = f"order:{'asked' if ordered else 'free'}" + (f"|within:{tolerance}" if task == "counts" else "")
    signature = f"bioacoustic:{task}|v:1|names:either|{rules}|unanswered:wrong|denied:dropped"
    return Scorer("bioacoustic", signature, parse, score, tuple(metrics))


def _read(text: str, finish: Finish) -> Answer:
    body = spoken(text)
    if not re.search(r"\w", body) and body.strip() not in ("[]", "{}"):
        return Answer("empty")
    if finish == "refusal" or refuses(body):
        return Answer("refused")
    items = species_items(text)
    if finish == "length":
        return Answer("truncated", json.dumps(items[:-1], ensure_ascii=False))
    body = _FENCE_NAME.sub("", body)
    nobody = any(_NOBODY.fullmatch(part.strip(" \"'.[]{}")) for part in _BETWEEN.split(body)) or body in ("[]", "{}")
    return Answer("parsed", json.dumps(items, ensure_ascii=False)) if items or nobody else Answer("unparsed")


def _counted(
    said: Sequence[Item], true: Sequence[Item], places: Sequence[int | None], near: Tolerance, unread: bool
) -> dict[str, float]:
    """A species that is not named counts as 0, as does the truth of one that is made up."""
    counts: dict[int, float] = {}
    others = 0.0
    for item, place in zip(said, places, strict=True):
        if place is None:
            others += item.calls or 0.0
        elif item.calls is not None:
            counts.setdefault(place, item.calls)
    wanted = [item.calls or 0.0 for item in true]
    right = sum(place in counts and near.covers(counts[place], count) for place, count in enumerate(wanted))
    listed = len({place for place in places if place is not None}) + sum(place is None for place in places)
    off = sum(abs(counts.get(place, 0.0) - count) for place, count in enumerate(wanted)) + others
    is_right = not (unread or listed or wanted)
    return {
        "count_f1": 1.0 if is_right else set_scores(right, listed, len(wanted)).f1,
        "off": off,
        "read": float(max(len(wanted) + sum(place is None for place in places), 1)),
        "correct": float(not unread and right == listed == len(wanted)),
    }


def _longest_rise(places: Sequence[int]) -> int:
    """The length of the longest subsequence that rises: so many are in the true order."""
    lengths: list[int] = []
    for number, place in enumerate(places):
        lengths.append(1 + max((lengths[earlier] for earlier in range(number) if places[earlier] < place), default=0))
    return max(lengths, default=0)
