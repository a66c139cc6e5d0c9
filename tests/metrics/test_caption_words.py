"""A caption's words are those of COCO's tokenizer, without its Java."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_audiobench.metrics.caption_words import caption_words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("A dog's barking, loudly!", "a dog 's barking loudly"),
        ("It isn't raining; he'll wait.", "it is n't raining he 'll wait"),
        ("I cannot, we're gonna leave", "i can not we 're gon na leave"),
        ("He said “no” – then… nothing -- at all", "he said no then nothing at all"),
        ("don’t touch the dogs’ bowl", "do n't touch the dogs bowl"),
        ("a drum-like, high‑pitched sound and/or R&B", "a drum-like high‑pitched sound and/or r&b"),
        ("$5,000.50 at 10:30, 3.5% (about)", "$ 5,000.50 at 10:30 3.5 % -lrb- about -rrb-"),
        ("Mr. Smith of the U.S. met Dr. Lee", "mr. smith of the u.s. met dr. lee"),
        ("[music] <unk> {laughs}", "-lsb- music -rsb- <unk> -lcb- laughs -rcb-"),
        ("what?! no!! *bang*", "what ?! no !! * bang *"),
        ("hello.world ends. Then", "hello.world ends then"),
        ("you&amp;me &lt;", "you&me <"),
        ("5.5kHz at 10kHz", "5.5 khz at 10khz"),
        ("a C# and an F#", "a c# and an f#"),
        ("rock 'em at 7 o'clock in the '90s", "rock 'em at 7 o'clock in the '90s"),
        ("smile 😀 now", "smile now"),
        ("नमस्ते दुनिया", "नमस्ते दुनिया"),
        ("สวัสดีครับ", "สวัสดีครับ"),
        ("今天天气很好，是吗", "今天天气很好 ， 是吗"),
        ("a\u200db wo\u200crd zero\u200bwidth a\ufeffb", "a b wo rd zero width a b"),
        ("☺\ufe0f hi a\u200f!", "☺ hi a"),
        ("می\u200cخواهم", "می خواهم"),
        ("क\u094d\u200dष", "क\u094d ष"),
        ("👨\u200d👩 family", "family"),
        ("  ", ""),
        ("...", ""),
    ],
)
def test_words(text, words):
    assert " ".join(caption_words(text)) == words


@given(st.text(max_size=60))
def test_no_text_crashes_and_no_word_is_empty_or_holds_a_space(text):
    words = caption_words(text)
    assert all(word and not word.isspace() and " " not in word for word in words)


@given(st.lists(st.sampled_from(["a", "dog", "barks", "isn't", "o'clock", "3.5", "drum-like", "(", ")", "$"])))
def test_words_of_words_are_the_same_again(words):
    once = caption_words(" ".join(words))
    assert caption_words(" ".join(once)) == once
