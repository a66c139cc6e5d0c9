"""A server that misbehaves in any way costs no answer, gives no wrong one, and ends the asking in a sentence.

``AUDIOBENCH_FAULT=137`` tries the one storm that this number draws; ``-m slow`` tries many.
"""

import os
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from pytest_audiobench.audio.clip import PlayedAudio
from pytest_audiobench.errors import InfrastructureError
from pytest_audiobench.models.messages import Ask, AudioSlot, Message, Request, Settings
from pytest_audiobench.models.openai.model import OpenAIModel
from pytest_audiobench.models.predictions_v1.model import PredictionsModel

from .storms import MODES, Storm

COUNT = 12
FEW = [int(os.environ["AUDIOBENCH_FAULT"])] if "AUDIOBENCH_FAULT" in os.environ else range(len(MODES))
MANY = range(len(MODES), 8 * len(MODES))
AT_ONCE = 13
BUDGET_S = 120


def asks():
    """Questions about clips of 1000, 1001, … samples."""
    for number in range(COUNT):
        clip = PlayedAudio(np.full(1000 + number, 0.1, np.float32), 16_000, str(number), 16_000, 1000 + number, "none")
        turn = Message("user", (AudioSlot(0), "How many?"))
        key = f"{number:064x}"
        yield Ask(
            Request(key, "storms", str(number), "", "open", (turn,), (), settings=Settings(max_new_tokens=8)), (clip,)
        )


def model_at(kind, url, is_calm):
    timeout_s, patience_s = ("60", "30") if is_calm else ("4", "1")
    if kind == "openai":
        times = {"timeout_s": timeout_s, "patience_s": patience_s}
        return OpenAIModel("tiny", {"base_url": f"{url}/v1", **times, "probe": "no", "concurrency": "3"})
    return PredictionsModel(url, {"timeout_s": timeout_s, "retry_s": patience_s, "batch": "2"})


def trouble(kind, seed, megabytes):
    """What goes wrong in the storm of ``seed``; nothing where all is well."""
    storm = Storm(seed, megabytes)
    answers, wanted = {}, list(asks())
    try:
        for _ in range(2):
            model = model_at(kind, storm.url, storm.calm)
            try:
                missing = [ask for ask in wanted if ask.request.sample_id not in answers]
                for ask, response in zip(missing, model.ask(missing), strict=True):
                    if response.error is None:
                        answers[ask.request.sample_id] = response.text
                    elif not response.error.strip() or "\n" in response.error:
                        return f"no sentence: {response.error!r}"
            except InfrastructureError as error:
                if storm.calm or storm.url not in str(error) or "\n" in str(error):
                    return f"no sentence with its place: {error}"
            finally:
                model.close()
            if wrong := {id_: text for id_, text in answers.items() if text != str(1000 + int(id_))}:
                return f"wrong answers: {wrong}"
            storm.calm = True
        return "" if len(answers) == COUNT else f"{COUNT - len(answers)} answers lost"
    except Exception as error:
        return f"raw: {type(error).__name__}: {error}"
    finally:
        storm.stop()


def troubles(kind, seeds, megabytes):
    with ThreadPoolExecutor(AT_ONCE) as pool:
        trials = {seed: pool.submit(trouble, kind, seed, megabytes) for seed in seeds}
        return {seed: text for seed, trial in trials.items() if (text := trial.result(timeout=BUDGET_S * 10))}


@pytest.fixture(autouse=True)
def _no_keys_of_the_user(monkeypatch, tmp_path):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))


@pytest.mark.parametrize("kind", ["openai", "http"])
@pytest.mark.parametrize(
    ("seeds", "megabytes"), [(FEW, 1), pytest.param(MANY, 100, marks=pytest.mark.slow)], ids=["few", "many"]
)
def test_a_storm_costs_no_answer_gives_no_wrong_one_and_ends_in_a_sentence(kind, seeds, megabytes):
    pytest.importorskip("httpx", reason="needs the extra of the same name")
    assert troubles(kind, seeds, megabytes) == {}


def test_a_seed_draws_the_same_storm_again():
    def treated(seed):
        storm = Storm(seed)
        try:
            return [storm.next_mode() for _ in range(60)]
        finally:
            storm.stop()

    assert treated(7) == treated(7) != treated(8)
    assert set(Counter(mode for seed in FEW for mode in treated(seed))) >= {MODES[seed % len(MODES)] for seed in FEW}
