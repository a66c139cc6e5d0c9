"""Texts are normalised once, and only short ones are kept."""

from pytest_audiobench.protocols.transcription.texts import LONGEST, cached_text


def test_a_short_text_is_normalised_once_and_a_long_one_each_time():
    seen = []

    @cached_text
    def shout(text: str) -> str:
        seen.append(len(text))
        return text.upper()

    assert [shout("a"), shout("a"), shout("b")] == ["A", "A", "B"]
    assert shout("c" * (LONGEST + 1)) == shout("c" * (LONGEST + 1)) == "C" * (LONGEST + 1)
    assert seen == [1, 1, LONGEST + 1, LONGEST + 1]
