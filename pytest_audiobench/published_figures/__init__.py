"""Figures that others published, with the conditions that they were measured under as far as those are known.

``values(benchmark="SAKURA", model="SALMONN")`` gives them; ``matching("faithfulness/af3/emotion")`` finds them as
``audiobench published`` and ``audiobench score --published`` do. The facts lie in ``tables/``.
"""

from pytest_audiobench.published_figures.registry import Published as Published
from pytest_audiobench.published_figures.registry import matching as matching
from pytest_audiobench.published_figures.registry import values as values

__all__ = ["Published", "matching", "values"]
