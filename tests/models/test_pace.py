"""How many requests may be on their way: additive increase, multiplicative decrease."""

import asyncio

from pytest_audiobench.models.remote.pace import Pace


def test_refusals_of_one_round_halve_the_pace_once_and_answers_raise_it_again():
    async def told():
        pace = Pace(16)
        seen = [pace.allowed]
        async with pace.turn() as first, pace.turn() as second:
            pace.refused(first)
            pace.refused(second)
        seen.append(pace.allowed)
        async with pace.turn() as later:
            pace.refused(later)
        seen.append(pace.allowed)
        for _ in range(10):
            pace.answered()
        seen.append(pace.allowed)
        for _ in range(1000):
            pace.answered()
        return [*seen, pace.allowed]

    assert asyncio.run(told()) == [16, 8, 4, 6, 16]


def test_one_request_may_always_be_on_its_way():
    async def told():
        pace = Pace(4)
        for _ in range(9):
            async with pace.turn() as began:
                pace.refused(began)
        return pace.allowed

    assert asyncio.run(told()) == 1


def test_a_pause_that_is_called_off_ends():
    async def told():
        pace = Pace(2)
        async with pace.turn() as began:
            pace.refused(began, wait_s=3600)
        waiting = asyncio.ensure_future(_turn(pace))
        await asyncio.sleep(0)
        assert not waiting.done()
        pace.reopen()
        return await asyncio.wait_for(waiting, timeout=60)

    async def _turn(pace):
        async with pace.turn():
            return True

    assert asyncio.run(told())
