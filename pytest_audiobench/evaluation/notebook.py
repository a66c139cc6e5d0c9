"""Results as a notebook shows them: a small table of escaped texts, without a script or a style sheet."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Iterator, Sequence

from pytest_audiobench.metrics.value import interval_text, value_text
from pytest_audiobench.records.run import ItemRecord, MetricRecord

MOST_ROWS = 200
HEADS = ("eval", "model", "metric", "scorer", "value", "95 % interval", "n", "parse rate", "verdict")
_RIGHT = frozenset({"value", "95 % interval", "n", "parse rate", "drop"})


def table(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """An HTML table of the first rows, under its title, with a word on how many others there are."""

    def cells(tag: str, texts: Sequence[str]) -> str:
        styles = (f' style="text-align: {"right" if head in _RIGHT else "left"}"' for head in heads)
        return "".join(f"<{tag}{style}>{_text(text)}</{tag}>" for style, text in zip(styles, texts, strict=True))

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows[:MOST_ROWS])
    more = f"<p>and {len(rows) - MOST_ROWS:,} more</p>" if len(rows) > MOST_ROWS else ""
    head = f"<thead><tr>{cells('th', heads)}</tr></thead>"
    return f"<div><table><caption>{_text(title)}</caption>{head}<tbody>{body}</tbody></table>{more}</div>"


def item_rows(item: ItemRecord, is_whole: bool = True) -> Iterator[tuple[str, ...]]:
    """The rows of an eval: its scorers' metrics over all samples, or the first metric of the first scorer alone."""
    metrics = [metric for metric in item.metrics if not metric.group]
    rates = {}
    for scorer in item.scorers:
        coverage = scorer.coverage
        rates[scorer.name] = f"{100 * coverage.parsed / coverage.n:.1f} %" if coverage.n else ""
    if not is_whole:
        first = item.scorers[0].name if item.scorers else None
        metrics = [metric for metric in metrics if metric.scorer == first][:1]
    if not metrics:
        yield item.eval, item.model, *("",) * 4, str(item.n), "", _verdict(item)
    for metric in metrics:
        yield (item.eval, item.model, *_figures(metric), rates.get(metric.scorer or "", ""), _verdict(item))


def _figures(metric: MetricRecord) -> tuple[str, ...]:
    interval = interval_text(metric.lower, metric.upper)
    return metric.name, metric.scorer or "", value_text(metric.value), interval, f"{metric.n:,}"


def _verdict(item: ItemRecord) -> str:
    statuses: list[str] = [verdict.status for verdict in item.verdicts]
    counts = Counter([*statuses, *(line.verdict for line in item.regressions)])
    text = ", ".join(f"{count} {status.replace('_', ' ')}" for status, count in counts.items())
    return text or ("" if item.outcome == "passed" else item.outcome)


def _text(text: str) -> str:
    # Half of a surrogate pair, which a data set may hold, is no character that a notebook could save.
    return html.escape(text.encode("utf-8", "replace").decode())
