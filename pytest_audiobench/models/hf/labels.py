"""Names of sounds as options and as labels: when two spellings are one name, and what a user says labels mean."""

from __future__ import annotations

import re
from collections.abc import Mapping

from pytest_audiobench.errors import UsageError


def tidy(name: str) -> str:
    """A label or option without case, punctuation and underscores, as two spellings of it are compared."""
    return " ".join(re.sub(r"[\W_]+", " ", name.casefold()).split())


def label_map(text: str) -> Mapping[str, str]:
    """``LABEL:OPTION|LABEL:OPTION`` as a dictionary of tidy names. Raises UsageError when it cannot be read."""
    meant = {}
    for pair in filter(None, text.split("|")):
        label, colon, option = pair.partition(":")
        if not (colon and tidy(label) and tidy(option)):
            raise UsageError(f"labels={text} of an hf model cannot be read; write LABEL:OPTION|LABEL:OPTION")
        meant[tidy(label)] = tidy(option)
    return meant


def check_template(text: str) -> None:
    """Raise UsageError when ``text`` has not one ``{}``, where an option's name is put."""
    if text.count("{}") != 1 or text.count("{") != 1 or text.count("}") != 1:
        raise UsageError(f"template={text} of an hf model has to hold {{}} once, for the option")
