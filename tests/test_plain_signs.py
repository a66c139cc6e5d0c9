import io

import pytest

from pytest_audiobench.io.plain_signs import write_plainly


def written(text: str, encoding: str) -> str:
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    write_plainly(stream)
    stream.write(text)
    stream.flush()
    return stream.buffer.getvalue().decode(encoding)


PLAIN = "x -3.2 pp ... \\u732b"


@pytest.mark.parametrize(("encoding", "text"), [("ascii", PLAIN), ("latin-1", PLAIN), ("utf-8", "✗ −3.2 pp … 猫")])
def test_what_an_encoding_lacks_is_written_in_plain_signs(encoding, text):
    assert written("✗ −3.2 pp … 猫", encoding) == text


def test_a_stream_that_is_no_file_is_left_alone():
    write_plainly(io.StringIO())
    write_plainly(None)
