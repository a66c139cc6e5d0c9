"""Limits of rendering a chat template, which is a program of the checkpoint's: Jinja's sandbox bounds neither its time
nor its memory. Imports transformers.

Rendering is traced in its own thread, by the standard library, so that it ends on every system and whatever other
threads do. Before each step of the template, and each call, the thread's time and the process's memory are looked at.
What one step could do without end, such as a text times a billion or a thousand million digits, is refused by what goes
into it.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import BuiltinMethodType, FrameType
from typing import Any

import jinja2.filters
import jinja2.runtime
import jinja2.sandbox
from transformers.utils import chat_template_utils

resource: Any = None
with suppress(ImportError):  # of no Windows
    import resource

LONGEST_S = 3.0
"""Of the thread's own work, however busy the machine is; a prompt takes milliseconds."""
MOST_BYTES = 512 << 20
"""By which the process may grow meanwhile."""
_EVERY_S = 0.001
"""How often memory is looked at, at a step's end."""
_LARGEST = 500_000_000
"""The most that the sizes of a call's arguments may come to, multiplied: so long can a text be that is made of them."""
_MOST_ELEMENTS = 100_000
"""As many as Jinja lets a range have; taken for what does not tell how many it has."""
_LARGEST_NUMBER = 1_000_000
_MOST_BITS = 20_000
_DEEPEST = 4

_WIDTHS = {
    "do_format": re.compile(r"%[^A-Za-z%]*\d{7}"),
    "strftime_now": re.compile(r"%[^A-Za-z%]*\d{7}"),
    "format_field": re.compile(r"\d{7}"),
}
"""Widths that fill a text up to millions, in the functions that take them as texts."""
_TEMPLATE = "<template>"
"""What Jinja calls the file of a template that has none."""
_RUN_BY_TEMPLATES = (jinja2.filters.__file__, jinja2.runtime.__file__, jinja2.sandbox.__file__)


class TemplateTooCostly(Exception):
    """A template takes more than a prompt does: of time, of memory, or in one step."""


class _Stop(BaseException):
    """Passes through Jinja, which continues after an ordinary error of a filter on constants."""


@contextmanager
def limited_rendering(longest_s: float = LONGEST_S) -> Iterator[None]:
    """Render within the limits. Raises TemplateTooCostly."""
    watch = _Watch(longest_s)
    previous = sys.gettrace()
    sys.settrace(watch.call)
    try:
        yield
    except _Stop as stop:
        raise TemplateTooCostly(str(stop)) from None
    finally:
        sys.settrace(previous)


def rendering_error(template: str, tokens: Mapping[str, str], is_text: bool) -> str:
    """Why a chat template makes no prompt of a turn with sound in it; "" where it does.

    ``tokens`` are the tokenizer's special ones by name; ``is_text``: the template takes a turn's content as one text.
    """
    question = "What is heard?"
    content = question if is_text else [{"type": "audio"}, {"type": "text", "text": question}]
    turns = [{"role": "user", "content": content}]
    try:
        with limited_rendering():
            variables: dict[str, Any] = {"add_generation_prompt": True, **tokens}
            chat_template_utils.render_jinja_template([turns], chat_template=template, **variables)
    except jinja2.UndefinedError as error:
        # A tokenizer's class may have tokens that no file names.
        return "" if "_token' is undefined" in str(error) else str(error)
    except Exception as error:  # it is a program of the checkpoint's: it may raise anything
        line = f", line {error.lineno}" if isinstance(error, jinja2.TemplateSyntaxError) else ""
        return f"{' '.join(str(error).split()) or type(error).__name__}{line}"
    return ""


class _Watch:
    """Trace functions that end a rendering beyond the limits."""

    def __init__(self, longest_s: float) -> None:
        self._longest_s, self._until = longest_s, time.thread_time() + longest_s
        self._most_bytes = _process_bytes() + MOST_BYTES
        self._next = 0.0

    def call(self, frame: FrameType, event: str, argument: Any) -> Any:
        """A function is entered."""
        self._check()
        code, caller = frame.f_code, frame.f_back
        if code.co_filename == _TEMPLATE:
            frame.f_trace_opcodes = True
            return self.step
        width = _WIDTHS.get(code.co_name)
        is_of_template = caller is not None and caller.f_code.co_filename == _TEMPLATE
        if width or is_of_template or code.co_filename in _RUN_BY_TEMPLATES:
            _check_arguments(dict(frame.f_locals), width)
        return None

    def step(self, frame: FrameType, event: str, argument: Any) -> Any:
        """A step of the template itself."""
        self._check()
        return self.step

    def _check(self) -> None:
        now = time.thread_time()
        if now > self._until:
            raise _Stop(f"it takes more than {self._longest_s:g} s for one prompt")
        # Asking the system for it takes longer than most steps do; in a millisecond memory does not grow by much.
        if now < self._next:
            return
        self._next = now + _EVERY_S
        if _process_bytes() > self._most_bytes:
            raise _Stop(f"it takes more than {MOST_BYTES >> 20} MiB of memory for one prompt")


def _check_arguments(arguments: dict[str, Any], width: re.Pattern[str] | None) -> None:
    """Raises _Stop for arguments of which a text or list without bounds could be made in one step."""
    size = 1
    for name, value in arguments.items():
        size *= max(1, _size(value, name in ("args", "kwargs")))
        if width and name in ("format_spec", "value", "format") and isinstance(value, str) and width.search(value):
            size = _LARGEST + 1
    if size > _LARGEST:
        raise _Stop("one step of it makes a text, list or number of any size")


class _Bounded(jinja2.sandbox.ImmutableSandboxedEnvironment):
    """The sandbox, with the operators that make much of little refused where they would."""

    intercepted_binops = frozenset({"*", "**", "%"})

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """``left`` and ``right`` by ``operator``."""
        if isinstance(left, int) and isinstance(right, int):
            bits = left.bit_length() * abs(right) if operator == "**" else left.bit_length() + right.bit_length()
            if bits > _MOST_BITS:
                raise _Stop("one step of it makes a text, list or number of any size")
        else:
            width = _WIDTHS["do_format"] if operator == "%" else None
            _check_arguments({"value": left, "args": right}, width)
        return super().call_binop(context, operator, left, right)


def _size(value: Any, numbers: bool, depth: int = 0) -> int:
    """How much a value may make of another: the length of a text, the elements of a list and theirs, or a number.

    ``numbers``: also those that a list, tuple or dictionary holds, where these are arguments.
    """
    if isinstance(value, (str, bytes)):
        return len(value)
    if isinstance(value, int):
        if depth and not numbers:
            return 1
        return abs(value) if abs(value) <= _LARGEST_NUMBER else _LARGEST + 1
    if type(value) is dict:
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return len(value) + (sum(_size(part, numbers, depth + 1) for part in value) if depth < _DEEPEST else 0)
    if isinstance(value, BuiltinMethodType):  # of a text, mostly
        return _size(value.__self__, False, depth)
    if isinstance(value, range):
        return len(value)
    return _MOST_ELEMENTS if type(value).__module__ == "builtins" and hasattr(type(value), "__next__") else 1


def _process_bytes() -> int:
    """The memory that the process has; the most that it had so far where the system does not say."""
    with suppress(OSError):
        return int(Path("/proc/self/statm").read_text().split()[1]) * int(resource.getpagesize())
    return process_peak_bytes()


def process_peak_bytes() -> int:
    """The most memory that the process had so far; 0 where the system does not say."""
    if resource is None:
        return 0
    peak: int = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


# The class that transformers makes its environments of: they are its own, and no other sandbox changes.
setattr(chat_template_utils, "ImmutableSandboxedEnvironment", _Bounded)  # noqa: B010 (typed as not exported)
