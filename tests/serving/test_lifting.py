"""Audio is taken out of a body before JSON is read, and what is read stays the same."""

import base64
import json
import random

import pytest

from pytest_audiobench.serving.admission import Refused

pytest.importorskip("starlette")
from pytest_audiobench.serving.body import parse, parse_with_audio

LONG = base64.b64encode(bytes(range(256)) * 8).decode()

NASTY = ['"data"', '"data":"', f'x"data":"{LONG}', "\\", '\\"data', "data", "", "é"]


def _restored(value, audio):
    if isinstance(value, dict):
        return {key: _restored(inner, audio) for key, inner in value.items()}
    if isinstance(value, list):
        return [_restored(inner, audio) for inner in value]
    if isinstance(value, str) and value in audio:
        return base64.b64encode(audio[value]).decode()
    return value


def _value(chance, depth=0):
    kinds = ["text"] * 3 + ["null"] + (["list", "object", "object"] if depth < 4 else [])
    kind = chance.choice(kinds) if depth else "object"
    if kind == "text":
        return chance.choice(
            [LONG, LONG[:-1], '"data"', '"data":"', f'x"data":"{LONG}', "\\", '\\"data', "data", "", "é"]
        )
    if kind == "list":
        return [_value(chance, depth + 1) for _ in range(chance.randrange(4))]
    if kind == "object":
        names = ["data", "data", 'x"data', "\\", "data\\", "other"]
        return {chance.choice(names): _value(chance, depth + 1) for _ in range(chance.randrange(4))}
    return None


@pytest.mark.parametrize("indent", [None, 1])
def test_any_json_is_read_as_json_reads_it(indent):
    chance = random.Random(indent)
    lifted = 0
    for _ in range(3000):
        value = _value(chance)
        body = json.dumps(value, indent=indent, ensure_ascii=chance.random() < 0.5).encode()
        read, audio = parse_with_audio(bytearray(body))
        lifted += len(audio)
        assert _restored(read, audio) == parse(body) == value
    assert lifted > 30


def test_what_is_no_json_stays_none():
    chance = random.Random(2)
    whole = json.dumps({"data": LONG, "more": [{"data": LONG}]})
    for _ in range(300):
        place = chance.randrange(len(whole))
        body = (whole[:place] + chance.choice('"\\,:x{') * chance.randrange(2) + whole[place + 1 :]).encode()
        try:
            expected = json.loads(body)
        except ValueError:
            with pytest.raises(Refused):
                parse_with_audio(bytearray(body))
        else:
            assert _restored(*parse_with_audio(bytearray(body))) == expected
