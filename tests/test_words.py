"""Documentation, messages and docstrings use standard terms, those of docs/glossary.md."""

import ast
import io
import re
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TERMS = {
    r"anew": "again",
    r"reckon(?:s|ed|ing)?": "compute, estimate",
    r"likewise": "also, the same",
    r"(?:is|are|was|were|be) held (?:to|against)": "checked against, compared with",
    r"(?:is|are) not told": "is not reported",
    r"tells? nothing": "says nothing",
    r"(?:be|are|is) told (?:apart|from)": "be distinguished",
    r"on both sides": "in both runs; both before and after",
    r"(?:is|are) there already": "already exists",
    r"is none of": "is not one of",
    r"mend(?:s|ed)?": "fix, correct",
    r"goes on|went on": "continues",
    r"in hand": "in progress",
    r"at hand": "available",
    r"for want of": "for lack of",
    r"as ever": "as usual, unchanged",
    r"held beside": "compared with",
    r"tells? (?:of|it apart)": "reports, distinguishes",
    r"in the place of": "in place of",
    r"at the (?:least|most)": "at least, at most",
    r"comes? along": "is bundled",
    r"can be had": "is available",
    r"by the clock": "wall time",
    r"stands? beside": "is next to",
    r"whoever": "anyone who; the process that",
    r"said for what (?:is|was) true": "confusion matrix",
}
"""Words that stood for a standard term, as patterns, with that term."""
IN_CODE = re.compile(r"\b(?:beside|nobody)\b(?!``)", re.IGNORECASE)
"""Not in docstrings and comments: next to, in addition to, compared with; no one, none."""
ELSEWHERE = ("CHANGELOG.md", "docs/scorers/metrics.md", "docs/statistics/calibration.md")
"""The history, descriptions that runs record, and names of settings from which a simulation draws its seed."""
RECORDED = ("metrics/definitions", "report/page", "report/verdict.py", "plugin/requirements.py")
"""Descriptions that runs record, and the texts of the page and the summary."""
OUTPUT = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
PRIVATE = re.compile("|".join(rf"\b(?:{pattern})\b" for pattern in TERMS), re.IGNORECASE)


def mistakes(text):
    """The private words of ``text``, each with what to say instead."""
    return [
        f"{word.group()}: say {term}"
        for word in PRIVATE.finditer(text)
        for pattern, term in TERMS.items()
        if re.fullmatch(pattern, word.group(), re.IGNORECASE)
    ]


def test_pages_use_the_words_of_the_glossary():
    pages = [path for pattern in ("*.md", "docs/**/*.md", "examples/**/*.md") for path in sorted(ROOT.glob(pattern))]
    pages = [path for path in pages if "_repository" not in path.parts]  # copies that a build of the site leaves
    names = {path: path.relative_to(ROOT).as_posix() for path in pages}
    checked = [path for path in pages if not names[path].startswith(ELSEWHERE)]
    assert len(checked) > 60
    found = {names[path]: mistakes(OUTPUT.sub("", path.read_text(encoding="utf-8"))) for path in checked}
    assert {name: words for name, words in found.items() if words} == {}


def test_messages_and_docstrings_use_the_words_of_the_glossary():
    package = ROOT / "pytest_audiobench"
    found = {}
    for path in sorted(package.rglob("*.py")):
        name, text = path.relative_to(package).as_posix(), path.read_text(encoding="utf-8")
        if name.startswith(RECORDED) or not PRIVATE.search(text):
            continue
        texts = [node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant)]
        if words := [word for text in texts if isinstance(text, str) for word in mistakes(text)]:
            found[name] = words
    assert found == {}


def test_docstrings_and_comments_use_plain_words():
    found = {}
    for path in sorted((ROOT / "pytest_audiobench").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if not IN_CODE.search(text):
            continue
        statements = (node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Expr))
        texts = [str(each.value) for each in statements if isinstance(each, ast.Constant)]
        tokens = tokenize.generate_tokens(io.StringIO(text).readline)
        texts += [token.string for token in tokens if token.type == tokenize.COMMENT]
        if words := [text for text in texts if IN_CODE.search(text)]:
            found[path.name] = words
    assert found == {}


@pytest.mark.parametrize("heading", ["ground truth", "confidence interval", "non-inferiority margin", "inference"])
def test_standard_terms_that_users_search_for_are_in_the_glossary(heading):
    assert f"| **{heading}** |" in (ROOT / "docs/glossary.md").read_text(encoding="utf-8")


def test_a_private_word_is_found_with_its_term():
    assert mistakes("The run is held to the best and goes on.") == [
        "is held to: say checked against, compared with",
        "goes on: say continues",
    ]
