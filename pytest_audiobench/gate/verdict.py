"""What became of a declared threshold."""

from __future__ import annotations

from typing import Literal, NamedTuple


class Verdict(NamedTuple):
    """``value`` is what was held against the limit (the value or a bound), None where there was no finite number.

    ``detail`` gives the number's perturbations or the reason for the verdict. Only "pass" is a pass.
    """

    status: Literal["pass", "fail", "not_comparable"]
    threshold: str
    value: float | None
    detail: str
