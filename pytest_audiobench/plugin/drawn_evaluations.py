"""``evaluate`` in a test that hypothesis draws for: an evaluator for each draw, and one record of all draws.

Hypothesis runs the test's body once for each draw. What is asked then is evaluated as in any other test; thresholds are
checked when the body returns, so that a draw that breaks one is shrunk. In the end one draw stands for the test: the
mildest that broke a bound, or, where none did, the one with the worst headline. Draws follow from a seed of the eval's
name, whatever hypothesis's profile is, and from no database, so that every machine draws the same and the store makes
a second run free.
"""

from __future__ import annotations

import inspect
import math
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest

from pytest_audiobench.datasets.perturbations.perturbation import Perturbation
from pytest_audiobench.datasets.perturbations.strategies import DrawnPerturbation
from pytest_audiobench.errors import disk_errors
from pytest_audiobench.evaluation.model_handle import ModelHandle
from pytest_audiobench.evaluation.result import Result
from pytest_audiobench.identity import seed as seed_of
from pytest_audiobench.metrics.value import Metric, value_text
from pytest_audiobench.plugin.error_mapping import harmless
from pytest_audiobench.plugin.eval_items import EvalItem
from pytest_audiobench.plugin.evaluate_fixture import Evaluator
from pytest_audiobench.plugin.requirements import asking_failure
from pytest_audiobench.plugin.session import EvalSession
from pytest_audiobench.records.run import DrawRecord, DrawsRecord

if TYPE_CHECKING:
    import hypothesis

_FRESH = frozenset({"evaluate", "model", "audio"})
"""Our fixtures, which carry nothing from one draw to the next; of any other hypothesis complains as it always does."""

_SEED, _SETTINGS = "_hypothesis_internal_use_seed", "_hypothesis_internal_use_settings"
"""The attributes that ``@seed`` and ``@settings`` set; the second has no public name to be read by."""

_LONGEST = 80
"""Characters of an argument that are recorded."""

Body: TypeAlias = Callable[..., None]


class _DrawsStopped(BaseException):
    """Ends the drawing at once: no Exception, since hypothesis would look for a milder one."""

    def __init__(self, error: BaseException | None) -> None:
        self.error = error


class _EvaluatorOfDraw(Evaluator):
    """The evaluator of one draw: its evaluations serve the search, so that nothing pools or compares them."""

    def __init__(self, session: EvalSession, item: pytest.Item, eval_item: EvalItem, handle: ModelHandle) -> None:
        super().__init__(session, item, eval_item, handle)
        self._requirements.drawn = True
        self._folder: Path | None = None

    def _lines_folder(self) -> Path:
        """One of its own, since all draws have the same names and any of them may be the one that is recorded."""
        if self._folder is None:
            parts = self._session.place.parts
            with disk_errors(parts):
                self._folder = Path(tempfile.mkdtemp(prefix="draw-", dir=parts))
        return self._folder

    def record_lines(self) -> None:
        """Make the lines of this draw those of the test."""
        parts = self._session.place.parts
        with disk_errors(parts):
            for path in sorted(self._folder.iterdir()) if self._folder else ():
                path.replace(parts / path.name)

    def forget_lines(self) -> None:
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def evaluate(self, *arguments: Any, **options: Any) -> Result:
        try:
            result = super().evaluate(*arguments, **options)
        except pytest.fail.Exception as error:
            raise _DrawsStopped(error) from None
        # A number over part of the samples breaks no bound; settling the test says why.
        if asking_failure(result, self._session.options.max_errors):
            raise _DrawsStopped(None)
        return result

    def broken(self) -> str:
        """What the first declared threshold asks for that is not met, and what was measured; else nothing."""
        return next(self._requirements.broken(self.results), "")


@dataclass
class _Draw:
    """A draw that ran to its end."""

    drawn: Mapping[str, Any]
    evaluator: _EvaluatorOfDraw
    error: BaseException | None
    broken: str
    """Which bound it broke, as a part of a sentence; empty where it failed for something else."""

    @property
    def change(self) -> DrawnPerturbation | None:
        """The perturbation, where nothing else was drawn."""
        (value, *others) = self.drawn.values() or (None,)
        return value if isinstance(value, DrawnPerturbation) and not others else None

    @property
    def text(self) -> str:
        texts = {name: getattr(value, "text", None) or _text(value) for name, value in self.drawn.items()}
        return texts.popitem()[1] if self.change else ", ".join(f"{name}={text}" for name, text in texts.items())

    @property
    def record(self) -> DrawRecord:
        arguments = {
            name: dict(value.values) if isinstance(value, DrawnPerturbation) else _text(value)
            for name, value in self.drawn.items()
        }
        results = self.evaluator.results
        values = {result.record.eval: metric.value for result in results for metric in result.record.metrics[:1]}
        return DrawRecord(arguments, "failed" if self.error else "passed", values)


class _Comparison:
    """A pytest plugin while draws are tried: the comparison of a metric that an assertion failed by."""

    text = ""

    def pytest_assertrepr_compare(self, left: object, right: object) -> None:
        metric, bound = (left, right) if isinstance(left, Metric) else (right, left)
        if isinstance(metric, Metric) and isinstance(bound, int | float):
            self.text = f"{metric.name} is {value_text(metric)}, the bound is {value_text(bound)}"


class DrawnEvaluations:
    """What is behind ``evaluate`` in such a test: the evaluator of the draw that is tried, under one name."""

    def __init__(self, evaluator: Callable[[], _EvaluatorOfDraw], item: pytest.Function, seed: int | str) -> None:
        self._new, self._item, self._seed = evaluator, item, seed
        self._given = frozenset(inspect.signature(item.function).parameters)
        """The arguments that are not drawn."""
        self._evaluator = evaluator()
        self._draws: dict[str, _Draw] = {}
        """By what was drawn and evaluated, in the order of their first trial."""
        self._last: _Draw | None = None
        self._comparison = _Comparison()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._evaluator, name)

    def __repr__(self) -> str:
        return "evaluate"

    def tried(self, body: Body) -> Body:
        """``body`` as hypothesis calls it: with an evaluator of its own, and its outcome noted."""

        @wraps(body)
        def trial(*args: Any, **arguments: Any) -> None:
            __tracebackhide__ = True
            from hypothesis.errors import HypothesisException

            self._evaluator, self._comparison.text = self._new(), ""
            drawn = {name: value for name, value in arguments.items() if name not in self._given}
            try:
                body(*args, **arguments)
                if broken := self._evaluator.broken():
                    self._comparison.text = broken
                    raise AssertionError(broken)
            except (HypothesisException, pytest.skip.Exception):
                # What is assumed away is not a draw; what is not on this machine skips the test.
                raise
            except (Exception, pytest.fail.Exception) as error:
                self._note(drawn, error)
                raise
            self._note(drawn, None)

        return trial

    def _note(self, drawn: Mapping[str, Any], error: BaseException | None) -> None:
        broken = self._comparison.text if isinstance(error, AssertionError) else ""
        draw = _Draw(drawn, self._evaluator, error, broken)
        evaluated = [(result.record.eval, result.record.dataset) for result in self._evaluator.results]
        self._last = self._draws.setdefault(f"{draw.record.arguments} {evaluated}", draw)
        # Hypothesis raises what the last trial of a draw raised; what was asked is told by the first.
        self._last.error = error

    @contextmanager
    def settled(self) -> Iterator[None]:
        """Let hypothesis try its draws, then settle the test by the one that represents all."""
        __tracebackhide__ = True
        plugins = self._item.config.pluginmanager
        plugins.register(self._comparison)
        failure: BaseException | None = None
        stopped = False
        try:
            yield
        except _DrawsStopped as stop:
            failure, stopped = stop.error, True
        except (Exception, pytest.fail.Exception, pytest.skip.Exception) as error:
            failure = error
        finally:
            plugins.unregister(self._comparison)
            # Hypothesis would offer a patch that adds what it drew as an example, in words that are not code.
            vars(self._item).pop("_hypothesis_failing_examples", None)
        if self._draws and not stopped and not isinstance(failure, pytest.skip.Exception):
            failure = self._conclude(failure)
        self._evaluator.record_lines()
        for evaluator in {self._evaluator, *(draw.evaluator for draw in self._draws.values())}:
            evaluator.forget_lines()
        with self._evaluator.settled():
            if failure is not None:
                raise failure

    def _conclude(self, failure: BaseException | None) -> BaseException | None:
        """Choose the draw that stands for the test, and put all on record. Returns what the test fails with."""
        from hypothesis import __version__ as version

        last = self._last
        failed = last is not None and last.error is not None and last.error is failure
        draw = last if last is not None and failed else max(self._draws.values(), key=_badness)
        self._evaluator = draw.evaluator
        passed = sum(not draw.error for draw in self._draws.values())
        summary = self._sentence(draw) if failed else f"{passed} of {len(self._draws)} draws held"
        for result in self._evaluator.results[:1]:
            headline = result.record.metrics[0]
            summary += "" if failed else f"; the worst {headline.name} is {value_text(headline.value)}, at {draw.text}"
            records = [draw.record for draw in self._draws.values()]
            result.amend(draws=DrawsRecord(summary, str(self._seed), version, records))
            if not failed:
                result.warn(summary)
        if failure is None or not failed:
            return failure
        if draw.broken:
            sentence = pytest.fail.Exception(harmless(summary), pytrace=False)
            sentence.__suppress_context__ = True
            return sentence
        failure.add_note(harmless(summary))
        return failure

    def _sentence(self, draw: _Draw) -> str:
        """``at 12 dB SNR accuracy is 0.620, the bound is 0.800; at 13 dB SNR it held``."""
        message = next(iter(str(draw.error).splitlines()), "") or type(draw.error).__name__
        what = draw.broken or f"the test failed: {message}"
        nearest: dict[str, tuple[float, str]] = {}
        for other in self._draws.values():
            if draw.change and other.change and not other.error and (step := other.change.milder_in(draw.change)):
                aspect, distance = step
                candidate = distance, other.change.value_text(aspect)
                nearest[aspect] = min(nearest.get(aspect, candidate), candidate)
        milder = ", and ".join(f"at {text}" for _, text in nearest.values())
        return f"at {draw.text} {what}{f'; {milder} it held' if milder else ''}"


def _badness(draw: _Draw) -> float:
    """The headline of its first evaluation, the higher the worse."""
    for result in draw.evaluator.results:
        metric = result.record.metrics[0]
        if metric.value is not None:
            return -metric.value if metric.direction == "higher" else metric.value
    return -math.inf


@contextmanager
def drawn_evaluations(
    session: EvalSession, item: pytest.Function, eval_item: EvalItem, handle: ModelHandle
) -> Iterator[DrawnEvaluations]:
    """``evaluate`` for ``item``, while hypothesis draws for it by a seed of ours, without a deadline."""
    shard = session.shard
    if shard is not None and (owner := seed_of("shard", eval_item.eval) % shard.count + 1) != shard.index:
        pytest.skip(f"what hypothesis draws follows from all answers: asked by shard {owner} alone")
    function: Any = item.function
    before = {name: getattr(function, name) for name in (_SEED, _SETTINGS)}
    body = function.hypothesis.inner_test
    given = item.config.getoption("--hypothesis-seed", None)
    seed = before[_SEED] if before[_SEED] is not None else seed_of("draws", eval_item.eval) if given is None else given
    settings = _settings(before[_SETTINGS], item)
    evaluations = DrawnEvaluations(partial(_EvaluatorOfDraw, session, item, eval_item, handle), item, seed)
    try:
        function.hypothesis.inner_test = evaluations.tried(body)
        setattr(function, _SEED, seed)
        setattr(function, _SETTINGS, settings)
        yield evaluations
    finally:
        function.hypothesis.inner_test = body
        for name, value in before.items():
            setattr(function, name, value)


def _settings(declared: hypothesis.settings, item: pytest.Function) -> hypothesis.settings:
    """What the test has ``declared``, but for repeatability and the fixtures made again, which are ours to say."""
    from hypothesis import HealthCheck, Phase, settings

    check = HealthCheck.function_scoped_fixture
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    for name in inspect.signature(item.function).parameters.keys() - _FRESH - parameters.keys():
        scopes = {fixture.scope for fixture in item._fixtureinfo.name2fixturedefs.get(name, ())}
        if "function" in scopes and check not in declared.suppress_health_check:
            pytest.fail(
                f"{item.name} draws by hypothesis, and its fixture {name!r} is not made again for each draw: "
                "make what it gives in the body, or suppress hypothesis's health check function_scoped_fixture",
                pytrace=False,
            )
    return settings(
        declared,
        deadline=None,
        derandomize=False,  # the seed does that, and can be put on record
        database=None,
        phases=[phase for phase in declared.phases if phase is not Phase.explain],  # it would ask for far more draws
        print_blob=False,
        report_multiple_bugs=False,
        suppress_health_check=[*declared.suppress_health_check, check],
    )


def _text(value: object) -> str:
    """What was drawn, the same in every process: an object without its own text is its type."""
    if isinstance(value, Perturbation):
        return value.name
    return type(value).__qualname__ if type(value).__repr__ is object.__repr__ else repr(value)[:_LONGEST]
