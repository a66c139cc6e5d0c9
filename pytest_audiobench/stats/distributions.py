"""The beta and gamma distributions and their quantiles, without scipy (which is no dependency and slow to import)."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

from pytest_audiobench.stats.quantiles import normal_quantile

_TINY = 1e-300
_TERMS = 100_000


def beta_cdf(x: float, a: float, b: float) -> float:
    """P(X <= x) of the beta distribution, the regularised incomplete beta function; ``a``, ``b`` > 0.

    The continued fraction of the NIST handbook (DLMF 8.17.22) by Lentz's method; against scipy within 1e-9.
    """
    if x <= 0.0 or x >= 1.0:
        return 0.0 if x <= 0.0 else 1.0
    front = math.exp(a * math.log(x) + b * math.log1p(-x) - _log_beta(a, b))
    # The fraction converges fast on the near side of the mean only.
    if x < (a + 1.0) / (a + b + 2.0):
        return front * _beta_fraction(x, a, b) / a
    return 1.0 - front * _beta_fraction(1.0 - x, b, a) / b


def gamma_cdf(x: float, shape: float) -> float:
    """P(X <= x) of the gamma distribution of scale 1, the regularised incomplete gamma function (DLMF 8.7.1, 8.9.2)."""
    if x <= 0.0:
        return 0.0
    front = math.exp(shape * math.log(x) - x - math.lgamma(shape))
    if x < shape + 1.0:
        term = total = 1.0 / shape
        for n in range(1, _TERMS):
            term *= x / (shape + n)
            total += term
            if term < total * 1e-16:
                break
        return front * total
    b = x + 1.0 - shape
    c, d = 1.0 / _TINY, 1.0 / b
    fraction = d
    for n in range(1, _TERMS):
        top, b = n * (shape - n), b + 2.0
        d = 1.0 / _held(top * d + b)
        c = _held(b + top / c)
        fraction *= c * d
        if abs(c * d - 1.0) < 1e-15:
            break
    return 1.0 - front * fraction


@lru_cache(maxsize=4096)
def beta_quantile(probability: float, a: float, b: float) -> float:
    """The quantile of the beta distribution for 0 < ``probability`` < 1 and ``a``, ``b`` > 0."""
    if b == 1.0:
        return float(probability ** (1.0 / a))
    if a == 1.0:
        return -math.expm1(math.log1p(-probability) / b)
    norm = _log_beta(a, b)

    def slope(x: float) -> float:
        return math.exp((a - 1.0) * math.log(x) + (b - 1.0) * math.log1p(-x) - norm)

    # A normal guess on the scale of log odds saves half of the steps.
    guess = math.log(a / b) + _reach(probability, (a + b) / math.sqrt(a * b * (a + b + 1.0)))
    return _inverted(lambda x: beta_cdf(x, a, b), slope, probability, 1.0, 1.0 / (1.0 + math.exp(-guess)))


@lru_cache(maxsize=4096)
def gamma_quantile(probability: float, shape: float) -> float:
    """The quantile of the gamma distribution of scale 1 for 0 < ``probability`` < 1 and ``shape`` > 0."""
    norm = math.lgamma(shape)

    def slope(x: float) -> float:
        return math.exp((shape - 1.0) * math.log(x) - x - norm)

    largest = max(1.0, shape)
    while gamma_cdf(largest, shape) < probability:
        largest *= 2.0
    guess = shape * math.exp(_reach(probability, 1.0 / math.sqrt(shape)))
    return _inverted(lambda x: gamma_cdf(x, shape), slope, probability, largest, min(guess, largest))


def _reach(probability: float, spread: float) -> float:
    return min(max(normal_quantile(probability) * spread, -30.0), 30.0)


def _inverted(
    cdf: Callable[[float], float], slope: Callable[[float], float], probability: float, largest: float, start: float
) -> float:
    """The root of ``cdf`` = ``probability`` in (0, ``largest``): Newton's steps, or halves of the bracket."""
    below, above, x = 0.0, largest, start
    for _ in range(400):
        off = cdf(x) - probability
        if off == 0.0:
            return x
        below, above = (x, above) if off < 0.0 else (below, x)
        steep = slope(x)
        step = x - off / steep if steep > 0.0 else math.nan
        # Roots near 0 (a rare share) span decades, which an arithmetic middle does not reach.
        middle = math.sqrt(max(below, above * 1e-6) * above) if below < 0.1 * above else (below + above) / 2.0
        following = step if below < step < above else middle
        if abs(following - x) <= 1e-11 * max(x, _TINY) or above - below <= 1e-15 * above:
            return following
        x = following
    return x


def _beta_fraction(x: float, a: float, b: float) -> float:
    c, d = 1.0, 1.0 / _held(1.0 - (a + b) * x / (a + 1.0))
    fraction = d
    for m in range(1, _TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1.0))
        for top in (even, odd):
            d = 1.0 / _held(1.0 + top * d)
            c = _held(1.0 + top / c)
            fraction *= c * d
        if abs(c * d - 1.0) < 1e-15:
            break
    return fraction


def _held(value: float) -> float:
    return value if abs(value) > _TINY else _TINY


def _log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
