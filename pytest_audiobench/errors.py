"""The errors, by who must act.

AudiobenchError
├── FatalError               the run cannot continue: one sentence that says what to do
│   ├── UsageError           a user's mistake, found before the first request (pytest exit code 4)
│   ├── DataNotFound         a data set or file is not on this machine: the eval is skipped
│   ├── UnsuitableModel      the model cannot do what the eval asks for: the eval is skipped
│   ├── UnsuitableData       the samples lack what they are to be perturbed by: the eval is skipped
│   ├── NotComparable        the baseline is of another task than the eval: the eval fails before it asks anything
│   │   └── OtherEncoder     the baseline's figures are by another text encoder (pytest exit code 4)
│   └── InfrastructureError  a server is away or breaks every request, a process died, a disk is full: the eval fails,
│                            which says nothing of the model, and may be tried again (pytest exit code 6)
├── SampleError              one sample failed: recorded and counted, the run continues
│   └── AudioError           this sample's audio cannot be read; the same bytes will fail again
│       └── FileUnreachable  its file cannot be reached: missing, forbidden, misplaced; another try may succeed
└── TransientError           a failure that a retry may cure

Every message is one sentence or two: what is wrong, where, and what to do.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class AudiobenchError(Exception):
    """Base of every error this package raises on purpose."""


class FatalError(AudiobenchError):
    """The run cannot continue."""


class UsageError(FatalError):
    """A user's mistake; the plugin turns it into pytest's own usage error."""


class DataNotFound(FatalError):
    """Something an eval needs is not on this machine; the message says where it was looked for."""

    def __init__(self, text: str, name: str = "") -> None:
        """``name`` is that of the data set, where it is one that is lacking."""
        super().__init__(text)
        self.name = name


class UnsuitableModel(FatalError):
    """The model is of another kind than the eval needs, such as a transcriber asked for a choice."""


class UnsuitableData(FatalError):
    """No sample of a data set says what a perturbation of it must know."""


class NotComparable(FatalError):
    """An eval and its counterpart in the baseline are of different tasks, so that no difference would mean anything."""


class OtherEncoder(NotComparable):
    """The baseline's figures are by another text encoder than the eval's; the run ends with pytest's exit code 4."""


class InfrastructureError(FatalError):
    """A server or process cannot be asked, or a disk is full or fails; what was answered is kept."""


DISK = {errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG, errno.EROFS, errno.ENOLCK}
"""What the system calls a disk that is full or fails."""


def install_command(extra: str) -> str:
    """How the libraries of an extra are added. pip takes the installation that is there, whatever it was made from, so
    the same words hold for a clone, a wheel, a Git tag and an index.
    """
    return f"pip install 'pytest-audiobench[{extra}]'"


@contextmanager
def disk_errors(place: Path) -> Iterator[None]:
    """While files of ours are written at ``place``: a disk that is full or fails is no user's mistake, others are."""
    try:
        yield
    except OSError as error:
        what = f"{place} cannot be written ({error.strerror})"
        if error.errno in DISK:
            todo = "make room there and run again, which asks only what is missing"
            raise InfrastructureError(f"{what}: {todo}") from error
        raise UsageError(f"{what}: correct the path or its permissions") from error


class SampleError(AudiobenchError):
    """One sample could not be asked; it is recorded, counted, and left out of the scores."""


class AudioError(SampleError):
    """A clip cannot be read. Permanent for the same bytes."""


class FileUnreachable(AudioError):
    """A clip's file cannot be reached now; that says nothing about its bytes."""


class TransientError(AudiobenchError):
    """A failure that may pass: it is retried with backoff."""
