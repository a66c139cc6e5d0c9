"""A callback for transformers' Trainer: a suite is asked at each save."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from pytest_audiobench.errors import AudiobenchError
from pytest_audiobench.training.checkpoints import Checkpoint, Follower, Look

PREFIX = "audiobench"


class AudiobenchCallback(TrainerCallback):  # type: ignore[misc]  # unread by mypy, for its size
    """Asks a suite about each checkpoint that a ``transformers.Trainer`` saves, while the training waits.

    ``Trainer(…, processing_class=processor, callbacks=[AudiobenchCallback("evals", "-k", "emotion")])``: the processor
    is saved next to the weights, so that a checkpoint can be asked. The positional arguments are those of pytest. Each
    save becomes a run ``name-step`` under ``reports``, and the curves are drawn into ``reports/name.html``. A
    checkpoint is compared with the best so far: ``max_drop`` is the non-inferiority margin, ``alpha`` the chance
    that a training whose model never becomes worse is called worse at any save. ``stop``: end the training at the
    first save that is. ``model`` is the spec to ask, in which ``{checkpoint}`` is the saved folder: for an adapter
    ``hf:BASE+{checkpoint}``, for another card ``hf:{checkpoint},device=cuda:1``.

    Figures go into the training's log (``state.log_history``) as ``audiobench/EVAL/METRIC``. An eval that fails never
    ends a training: it warns, and ``looks`` keeps what became of each save. Only the first process of several asks.
    """

    def __init__(
        self,
        *arguments: str,
        name: str = "training",
        model: str = "hf:{checkpoint}",
        reports: str | Path = "reports",
        max_drop: str = "1pp",
        alpha: float = 0.05,
        stop: bool = False,
    ) -> None:
        reports = Path(reports)
        page = reports / f"{name}.html"
        self._follower = Follower(name, arguments, model, reports, page, max_drop, alpha)
        self._stop = stop

    @property
    def looks(self) -> list[Look]:
        """What became known at each save so far."""
        return self._follower.looks

    def on_save(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> TrainerControl:
        """Ask the checkpoint that was saved."""
        if not state.is_world_process_zero or args.output_dir is None:
            return control
        folder = Path(args.output_dir) / f"checkpoint-{state.global_step}"
        try:
            look = self._follower.ask(Checkpoint(float(state.global_step), folder))
        except (AudiobenchError, OSError) as error:
            warnings.warn(f"audiobench: {folder} could not be measured: {error}", stacklevel=2)
            return control
        print("\n".join(look.lines()), flush=True)
        if look.missing:
            warnings.warn(f"audiobench: {folder} was not measured: {look.missing[0]}", stacklevel=2)
        if figures := self._follower.figures(look.checkpoint):
            state.log_history.append({**figures, "step": state.global_step})
        if look.regressed and self._stop:
            control.should_training_stop = True
        return control
