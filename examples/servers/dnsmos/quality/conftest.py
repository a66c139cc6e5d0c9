"""The mean of predicted opinion scores as its own metric."""

from pytest_audiobench.ext import Estimate, MetricKind, mean_interval


def estimate_mos(statistics, clusters):
    values = [row["mos"] for row in statistics if "mos" in row]
    if not values:
        return Estimate(float("nan"), None, None, 0, "no answers")
    interval = mean_interval(values, clusters=clusters, bounds=(1.0, 5.0))
    return Estimate(sum(values) / len(values), interval.lower, interval.upper, len(values), interval.method)


def pytest_audiobench_register(registration):
    registration.metric(MetricKind("mos", "higher", "of 5", estimate_mos))
