"""A model as a run holds it: who it is, and when it is loaded."""

import pytest

from pytest_audiobench.evaluation.model_handle import ModelHandle
from pytest_audiobench.models.model import Hearing

from .meter import Meter


class Heavy(Meter):
    """A model whose weights fill a device; it knows what it needed until it is closed."""

    in_process = True

    def load(self):
        super().load()
        self.peak_memory_bytes, self.hearing = 1000, Hearing("proven", "two tones told apart")

    def close(self):
        super().close()
        del self.peak_memory_bytes, self.hearing


def test_a_model_is_loaded_when_it_is_first_needed_and_once():
    model = Meter()
    handle = ModelHandle("m", model)
    assert (handle.spec, handle.device, handle.listens, handle.planned) == ("test:meter", "cpu", True, False)
    assert handle.digest
    assert model.loads == 0
    assert handle.ready() is handle.ready() is model
    assert model.loads == 1


def test_closing_what_was_never_loaded_does_nothing():
    model = Meter()
    ModelHandle("m", model).close()
    assert model.closes == 0


def test_a_closed_model_is_closed_once_and_loaded_anew_when_it_is_needed_again():
    model = Meter()
    handle = ModelHandle("m", model)
    handle.ready()
    handle.close()
    handle.close()
    assert (model.loads, model.closes) == (1, 1)
    handle.ready()
    assert (model.loads, model.closes) == (2, 1)


def test_a_model_that_cannot_be_loaded_is_not_taken_for_loaded():
    class Broken(Meter):
        def load(self):
            super().load()
            raise OSError("no such weights")

    model = Broken()
    handle = ModelHandle("m", model)
    for _ in range(2):
        with pytest.raises(OSError, match="no such weights"):
            handle.ready()
    handle.close()
    assert (model.loads, model.closes) == (2, 0)


def test_way_is_made_for_a_model_that_fills_a_device_each_time_before_it_is_loaded():
    model, loads = Heavy(), []
    handle = ModelHandle("m", model, make_way=lambda: loads.append(model.loads))
    handle.ready()
    handle.ready()
    handle.close()
    handle.ready()
    assert loads == [0, 1]


def test_nobody_makes_way_for_a_model_elsewhere():
    ModelHandle("m", Meter(), make_way=lambda: pytest.fail("made way")).ready()


def test_what_a_model_showed_is_still_told_when_it_has_made_way():
    handle = ModelHandle("m", Heavy())
    assert (handle.peak_memory_bytes, handle.hearing) == (None, None)
    handle.ready()
    loaded = (handle.peak_memory_bytes, handle.hearing)
    handle.close()
    assert (handle.peak_memory_bytes, handle.hearing) == loaded == (1000, Hearing("proven", "two tones told apart"))


def test_a_model_that_tells_nothing_has_the_defaults():
    handle = ModelHandle("m", Meter())
    handle.ready()
    assert (handle.peak_memory_bytes, handle.hearing, handle.style, handle.in_process) == (None, None, "", False)
    assert handle.oom_splits == 0
    assert handle.can_judge("rubric")


def test_a_server_that_only_scores_can_judge_by_what_it_knows():
    model = Meter()
    model.judgings = ("rubric",)
    assert ModelHandle("m", model).can_judge("rubric")
    assert not ModelHandle("m", model).can_judge("yes-no")


def digest(**options):
    return ModelHandle("m", Meter(**options)).digest


def test_a_models_identity_is_its_fingerprint_and_what_it_is_played_and_no_alias():
    assert ModelHandle("a", Meter()).digest == ModelHandle("b", Meter()).digest
    different = [{"name": "other"}, {"rate_hz": 2000}, {"max_clip_s": 30.0}, {"batching": "planned"}]
    assert len({digest(), *(digest(**options) for options in different)}) == 5


def test_the_limits_of_batches_are_part_of_a_planned_models_identity_alone():
    assert digest(max_batch=2, max_batch_s=60.0) == digest(max_batch=4, max_batch_s=30.0)
    sizes = [(2, 60.0), (4, 60.0), (2, 30.0)]
    assert len({digest(batching="planned", max_batch=size, max_batch_s=seconds) for size, seconds in sizes}) == 3


def test_a_fingerprint_is_taken_once():
    taken = []

    class Large(Meter):
        def fingerprint(self):
            taken.append(self)
            return super().fingerprint()

    handle = ModelHandle("m", Large())
    assert handle.digest == handle.digest
    assert handle.fingerprint == {"test": "test:meter"}
    assert len(taken) == 1


def test_an_identity_says_what_it_is_made_of():
    assert ModelHandle("m", Meter("planned", max_clip_s=30.0)).identity == {
        "fingerprint": {"test": "test:meter"},
        "heard": "1000 Hz, 30.0 s",
        "batches": "plan 2, 2 requests, 600.0 s",
    }
