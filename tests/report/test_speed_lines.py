"""The line of a model's speed says what to do where a card is not filled."""

from types import SimpleNamespace

import pytest

from pytest_audiobench.records.run import MetricRecord
from pytest_audiobench.report.summary_footer import models


def line(fill, device):
    figure = MetricRecord("batch_fill", fill, None, None, 90, "share", "higher", "")
    model = SimpleNamespace(
        alias="m", speed=[figure], hearing=None, device=device, shared=False, role="subject", note=""
    )
    (facts,) = models(SimpleNamespace(models=[model], items=[]))
    return facts.speed


@pytest.mark.parametrize(
    ("fill", "device", "said"),
    [
        (0.125, "cuda:0", "batches full to 12.5 % (raise batch=, by audiobench tune)"),
        (0.9, "cuda:0", "batches full to 90.0 %"),
        (0.125, "cpu", "batches full to 12.5 %"),
    ],
)
def test_batches_that_leave_a_card_empty_are_told_with_the_remedy(fill, device, said):
    assert line(fill, device) == said
