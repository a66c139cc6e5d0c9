"""pytest's root, and options whose value pytest took for a test path that moves it.

pytest fixes its root before it knows the options of plugins: what stands after a space behind one of them is then a
path like any other, and where it exists the root becomes the folder that holds both it and the tests. Thresholds,
configuration, store and data would go with it, and only from the second run on, when the file is there.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from _pytest.config.findpaths import determine_setup

_PREFIX = "--ab-"
_PATHS = ("--ab-store", "--ab-reports", "--ab-config", "--ab-baseline")
"""The options whose value is a path that may be there by the next run."""
_FLAGS = ("--ab-fetch", "--ab-noise-floor", "--ab-refresh", "--ab-reuse")


def check_root(config: pytest.Config) -> None:
    """Raises pytest.UsageError, with the command to write, where an option's value moves the root, or will."""
    if config.option.rootdir or config.option.inifilename:
        return  # the root is named
    if not (separate := list(_separate_values(config))):
        return
    here = config.invocation_params.dir
    root = _root_of(config.option.file_or_dir, config)
    for option, value in separate:
        path = here / value.partition("::")[0]
        later = option in _PATHS and value.partition("#")[0] != "last"
        if (later or path.exists()) and not Path(os.path.normpath(path)).is_relative_to(root):
            raise pytest.UsageError(
                f"{option} {value}: pytest takes a path after a space for tests, and moves its root to it from {root}, "
                f"with thresholds, configuration, store and data; write {_joined(config)}"
            )


def _separate_values(config: pytest.Config) -> Iterator[tuple[str, str]]:
    """Our options whose value is an argument of its own, each with it."""
    arguments = [*shlex.split(os.environ.get("PYTEST_ADDOPTS", "")), *config.invocation_params.args]
    for option, value in zip(arguments, [*arguments[1:], "-"], strict=True):
        if _takes_value(option) and not value.startswith("-"):
            yield option, value


def _takes_value(argument: object) -> bool:
    return str(argument).startswith(_PREFIX) and "=" not in str(argument) and argument not in _FLAGS


def _root_of(paths: list[str], config: pytest.Config) -> Path:
    """The root that pytest has for ``paths`` alone."""
    root, *_ = determine_setup(
        inifile=None,
        override_ini=config.option.override_ini,
        args=paths,
        rootdir_cmd_arg=None,
        invocation_dir=config.invocation_params.dir,
    )
    return root


def _joined(config: pytest.Config) -> str:
    """The command with ``=`` between our options and their values."""
    words = ["pytest"]
    for argument in map(str, config.invocation_params.args):
        if _takes_value(words[-1]) and not argument.startswith("-"):
            words[-1] += f"={argument}"
        else:
            words.append(argument)
    return shlex.join(words)
