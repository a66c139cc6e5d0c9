"""A client of an OpenAI-compatible server's chat completions, for launchers: retries, keys, several requests at once.

It needs Python 3.9 or later and nothing else.
"""

import argparse
import email.utils
import json
import os
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

from key_file import key

PASSING = (408, 409, 425, 429, 500, 502, 503, 504, 529)
LONGEST_WAIT_S = 60
MOST_BYTES = 16 * 1024 * 1024
QUOTED = 500
LOOPBACK = ("127.0.0.1", "localhost", "::1")


class UpstreamError(Exception):
    """What the server behind the launcher said instead of an answer; never with the key in it."""


class Passing(Exception):
    """A failure that may pass; ``wait_s`` is how long the server wants to be left alone, None where it does not say."""

    def __init__(self, words, wait_s=None):
        super().__init__(words)
        self.wait_s = wait_s


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect is an error: it would carry the key to another host."""

    def redirect_request(self, *_):
        return None


def setting(*names, default=None):
    """The first of these environment variables that is set and not empty."""
    return next((os.environ[name].strip() for name in names if os.environ.get(name, "").strip()), default)


def on(*names):
    return setting(*names, default="0").lower() in ("1", "true", "yes", "on")


def json_object(text):
    value = json.loads(text)
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError("must be a JSON object")
    return value


def add_options(parser, model="", timeout_s=120.0, retries=2, concurrency=4):
    """The options of every launcher in front of such a server, each with its variables."""
    base = setting("OPENAI_BASE_URL", "VLLM_UPSTREAM_BASE_URL")
    parser.add_argument("--base-url", default=base, help="the server; /v1 is added where it ends in no version")
    name = setting("OPENAI_MODEL", "VLLM_MODEL_ID", default=model)
    parser.add_argument("--model", default=name, help="as the server calls it")
    revision = setting("OPENAI_MODEL_REVISION", "VLLM_MODEL_REVISION", default="unnamed")
    parser.add_argument("--revision", default=revision, help="what you call the weights there; /info tells it")
    extra = setting("OPENAI_PROXY_EXTRA_BODY", "VLLM_EXTRA_BODY_JSON", default="{}")
    parser.add_argument("--extra-body", type=json_object, default=extra, help="JSON: more fields; null takes one out")
    timeout_s = setting("OPENAI_PROXY_TIMEOUT_SEC", "VLLM_UPSTREAM_TIMEOUT_SEC", default=timeout_s)
    parser.add_argument("--timeout-s", type=float, default=timeout_s, help="of one try")
    retries = setting("OPENAI_PROXY_RETRIES", "VLLM_UPSTREAM_RETRIES", default=retries)
    parser.add_argument("--retries", type=int, default=retries, help="tries after the first, where waiting may help")
    concurrency = setting("OPENAI_PROXY_MAX_CONCURRENCY", default=concurrency)
    parser.add_argument("--concurrency", type=int, default=concurrency, help="requests at once, of one call")
    wait_s = setting("OPENAI_PROXY_WAIT_SEC", default=0)
    parser.add_argument("--wait-s", type=float, default=wait_s, help="how long the server may take to come up")


class ChatClient:
    def __init__(self, options):
        if not options.base_url or not options.model:
            raise UpstreamError("name the server by OPENAI_BASE_URL and its model by OPENAI_MODEL, or try --stub")
        url = options.base_url.rstrip("/")
        self.base_url = url if url.rpartition("/")[2] in ("v1", "openai") else url + "/v1"
        self.model, self.options, self.host = options.model, options, urlsplit(url).hostname or ""
        self.gemini = self._is_of("generativelanguage.googleapis.com") or self.model.startswith("gemini-")
        try:
            self.key = self._key()
        except SystemExit as refusal:  # which would end this thread alone
            raise UpstreamError(str(refusal)) from None
        proxies = [urllib.request.ProxyHandler({})] if self.host in LOOPBACK else []
        self.opener = urllib.request.build_opener(_NoRedirect, *proxies)

    def _key(self):
        """A provider's own key, from its variable or file; another server gets OpenAI's where that is named."""
        environ = dict(os.environ)
        for variable, name in (("OPENAI_API_KEY", "OPENAI_CFG_PATH"), ("GEMINI_API_KEY", "GEMINI_CFG_PATH")):
            if environ.get(name):
                environ.setdefault(variable + "_FILE", environ[name])
        if self._is_of("generativelanguage.googleapis.com"):
            secret = key("GEMINI_API_KEY", "gemini/cfg", environ) or environ.get("GOOGLE_API_KEY", "").strip() or None
        elif self._is_of("openai.com"):
            secret = key("OPENAI_API_KEY", "openai/cfg", environ)
        elif self._is_of("huggingface.co"):
            secret = key("HF_TOKEN", "huggingface/hf_token", environ)
        else:
            named = environ.get("OPENAI_API_KEY") or environ.get("OPENAI_API_KEY_FILE")
            secret = key("OPENAI_API_KEY", "openai/cfg", environ) if named else None
        if secret and urlsplit(self.base_url).scheme != "https" and self.host not in LOOPBACK:
            raise UpstreamError(f"{self.host} would get the key unencrypted; write https://")
        return secret

    def _is_of(self, domain):
        return f".{self.host}".endswith(f".{domain}")

    def wait(self):
        """Return once the server answers anything, or raise UpstreamError after ``--wait-s``; 0 asks nothing."""
        until = time.monotonic() + self.options.wait_s
        while self.options.wait_s:
            try:
                self._open(self.base_url + "/models").close()
                return
            except urllib.error.HTTPError as error:
                if error.code < 500:
                    return
                reason = f"HTTP {error.code}"
            except OSError as error:
                reason = str(error)
            if time.monotonic() > until:
                raise UpstreamError(f"{self.base_url} did not come up within {self.options.wait_s:g} s ({reason})")
            time.sleep(1)

    def ask_all(self, bodies):
        """(text, finish_reason, usage) for each body of a chat completion, or the exception that it ended in."""
        with ThreadPoolExecutor(max(1, self.options.concurrency)) as pool:
            return list(pool.map(self._answer, bodies))

    def _answer(self, body):
        if isinstance(body, Exception):
            return body
        body = {"model": self.model, **body, **self.options.extra_body}
        data = json.dumps({name: value for name, value in body.items() if value is not None}).encode()
        try:
            return self._tried(data)
        except Exception as error:
            words = str(error) or type(error).__name__
            return UpstreamError(words.replace(self.key, "[key]") if self.key else words)

    def _tried(self, data):
        for attempt in range(self.options.retries + 1):
            try:
                return self._once(data)
            except Passing as failure:
                wait_s = min(2.0**attempt, 30.0) if failure.wait_s is None else failure.wait_s
                if attempt == self.options.retries or wait_s > LONGEST_WAIT_S:
                    tries = f"tried {attempt + 1} times" if attempt else "tried once"
                    asked = f", which asks to be left alone for {wait_s:g} s" if wait_s > LONGEST_WAIT_S else ""
                    raise UpstreamError(f"{failure} ({tries}){asked}") from None
                time.sleep(wait_s)

    def _once(self, data):
        try:
            with self._open(self.base_url + "/chat/completions", data) as reply:
                content = reply.read(MOST_BYTES)
        except urllib.error.HTTPError as error:
            with error:
                words = f"{self.host} says {error.code}: {error.read(QUOTED).decode(errors='replace')}"
            if error.code in PASSING and "insufficient_quota" not in words:
                raise Passing(words, _seconds(error.headers.get("Retry-After"))) from None
            raise UpstreamError(words) from None
        except (OSError, EOFError) as error:
            raise Passing(f"{self.host} could not be asked: {error}") from None
        return _completion(content, self.host)

    def _open(self, url, data=None):
        headers = {"Content-Type": "application/json"}
        if self.key:
            name = setting("OPENAI_AUTH_HEADER", default="Authorization")
            headers[name] = f"Bearer {self.key}" if name.lower() == "authorization" else self.key
        return self.opener.open(urllib.request.Request(url, data, headers), timeout=self.options.timeout_s)


def _seconds(retry_after):
    """Retry-After as seconds or as a date."""
    if not retry_after:
        return None
    try:
        return max(0.0, float(retry_after))
    except ValueError:
        pass
    try:
        return max(0.0, email.utils.parsedate_to_datetime(retry_after).timestamp() - time.time())
    except (TypeError, ValueError):
        return None


def _completion(content, host):
    """Text, finish reason and usage. No text is an empty answer where the tokens ran out or the model refused."""
    try:
        reply = json.loads(content)
        choice = reply["choices"][0]
        message, finish = choice["message"], choice.get("finish_reason")
        text = message.get("content")
        usage = reply.get("usage")
    except (ValueError, KeyError, IndexError, TypeError, AttributeError):
        raise Passing(f"{host} sent no completion: {content[:QUOTED].decode(errors='replace')}") from None
    if isinstance(text, list):
        text = "".join(part.get("text", "") for part in text if isinstance(part, dict))
    if not isinstance(text, str):
        refusal = message.get("refusal")
        if not refusal and finish not in ("length", "content_filter"):
            raise Passing(f"{host} sent a message without a text")
        text, finish = (refusal, "refusal") if refusal else ("", finish)
    return text, finish if isinstance(finish, str) else None, usage if isinstance(usage, dict) else None
