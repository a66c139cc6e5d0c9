"""A judge in front of any OpenAI-compatible text model: judge_scores_v1 at /judge, predictions_v1 of words at /predict.

    OPENAI_BASE_URL=http://127.0.0.1:8001 OPENAI_MODEL=cyankiwi/gemma-4-26B-A4B-it-AWQ-4bit python serve.py --port 8010
    python serve.py --port 8010 --stub

It needs Python 3.9 or later and nothing else.
"""

import json
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import judge_server
from chat_client import ChatClient, add_options, on
from template_server import PLACEHOLDER, Model, Refused, main

SCHEMA = judge_server.SCHEMA
FIELDS = ("sample_id", "rubric", "reference_text", "candidate_text")
ENDING = (
    '\n\nReply with one JSON object and nothing else: {"score": POINTS, "rationale": "WHY"}, where POINTS is a number '
    "from 0 to 1 and WHY one short sentence."
)


def items_of(body):
    """The items of a call. Raises Refused where the call as a whole is bad."""
    try:
        call = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Refused(422, f"the body is not JSON: {error}") from None
    items = call.get("items") if isinstance(call, dict) else None
    if not isinstance(items, list) or call.get("schema_version") != SCHEMA:
        raise Refused(400, f"schema_version must be {SCHEMA}, and items a list")
    for item in items:
        if not isinstance(item, dict) or not all(isinstance(item.get(name), str) for name in FIELDS):
            raise Refused(400, f"an item needs the texts {', '.join(FIELDS)}")
    if len({item["sample_id"] for item in items}) < len(items):
        raise Refused(400, "a sample_id stands twice in one call")
    return items


def points_of(text):
    """Score and rationale of a reply: its JSON object, after what a model thought aloud. Raises ValueError without."""
    text = text.rpartition("</think>")[2]
    start, end = text.find("{"), text.rfind("}")
    try:
        verdict = json.loads(text[start : end + 1])
        score, rationale = verdict["score"], verdict.get("rationale")
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ValueError(f"no score could be read of the reply {text[:200]!r}") from None
    if isinstance(score, bool) or not isinstance(score, (int, float)) or not 0 <= score <= 1:
        raise ValueError(f"the judge's score is {score!r}, not a number from 0 to 1")
    return score, rationale if isinstance(rationale, str) else None


class Judge(Model):
    name, model, revision, max_batch = "judge", "openai-compatible", "unnamed", 1024
    posts = ("judge",)

    @classmethod
    def add_options(cls, parser):
        add_options(parser, concurrency=16)
        parser.add_argument("--rubric-tokens", type=int, default=512, help="most tokens of a reply to a rubric")
        parser.set_defaults(stub=on("OPENAI_PROXY_STUB"))

    @classmethod
    def stub(cls):
        return Stub()

    def load(self):
        self.chat = ChatClient(self.options)
        self.model, self.revision = self.options.model, f"{self.options.revision} at {self.chat.host}"
        self.chat.wait()

    def answer(self, questions):
        return self.chat.ask_all([self._body(question) for question in questions])

    def _body(self, question):
        """A judge is played nothing: clips stay behind, and their places."""
        messages = [{**m, "content": m["content"].replace(PLACEHOLDER, "")} for m in question["messages"]]
        config = question["generation_config"]
        return {"messages": messages, **{name: config.get(name) for name in ("max_tokens", "temperature", "top_p")}}

    def judge(self, body):
        items = items_of(body)
        settings = {"max_tokens": self.options.rubric_tokens, "temperature": 0.0}
        bodies = [{"messages": [{"role": "user", "content": item["rubric"] + ENDING}], **settings} for item in items]
        return {"schema_version": SCHEMA, "items": list(map(verdict_of, items, self.chat.ask_all(bodies)))}


class Stub(Model):
    """Counts words for a rubric, says NO where it is asked for YES or NO, and NO-LABEL to all else."""

    name, model, revision, max_batch = "judge", "openai-compatible", "stub", 1024
    load_status = "stub"
    posts = Judge.posts

    def load(self):
        pass

    def answer(self, questions):
        words = [" ".join(message["content"] for message in question["messages"]) for question in questions]
        return [("NO" if re.search(r"\bYES\b", text) else "NO-LABEL", "stop", None) for text in words]

    def judge(self, body):
        return {"schema_version": SCHEMA, "items": [judge_server.verdict(item) for item in items_of(body)]}


def verdict_of(item, answer):
    reply = {"sample_id": item["sample_id"], "score": None, "rationale": None, "error": None}
    try:
        if isinstance(answer, Exception):
            raise answer
        reply["score"], reply["rationale"] = points_of(answer[0])
    except Exception as error:
        reply["error"] = str(error) or type(error).__name__
    return reply


if __name__ == "__main__":
    main(Judge)
