"""What kinds of models can be asked for."""

import pytest

from pytest_audiobench.models.messages import TASKS
from pytest_audiobench.models.registry import make
from pytest_audiobench.models.spec import parse_spec


@pytest.mark.parametrize(
    ("spec", "tasks"),
    [
        ("openai:m,base_url=http://127.0.0.1:9/v1", TASKS),
        ("openai:m,base_url=http://127.0.0.1:9/v1,api=transcriptions", ("transcription",)),
        ("baseline:listener", TASKS),
        ("baseline:bed", TASKS),
    ],
)
def test_a_model_of_language_lists_events_and_a_transcriber_does_not(spec, tasks):
    assert make(parse_spec(spec)).limits.tasks == tasks
