"""Chinese text with its numbers as they are spoken: the TextNorm that most published Chinese scores are made with.

The rule is that of github speechio/chinese_text_normalization, cn_tn.py (Zhiyang Zhou 2019, Jiayu Du 2019-2022), as
Qwen2-Audio, Kimi-Audio-Evalkit and UltraEval-Audio call it, with every option off. Its steps, in their order: dates,
money, mobile and landline numbers, fractions, percentages, numbers before a measure word, numbers of 4 to 32 digits
digit by digit, all other numbers; then each punctuation character becomes a space. A step puts what it makes in place
of the *first* occurrence of the same characters, which can be in the middle of another number; that is kept.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable

from pytest_audiobench.protocols.transcription.texts import cached_text

_DIGITS = "零一二三四五六七八九"
_UNITS = tuple(zip((*range(44, 4, -4), 4, 3, 2, 1), "载正涧沟穰秭垓京兆亿万千百十", strict=True))
"""Powers of ten and their signs, the largest first."""

_LARGE_UNITS = frozenset(unit for power, unit in _UNITS if power > 1)
"""Those that 两 is said before, and not 二."""

_MOST_DIGITS = 100
"""Longer numbers, which are not spoken, are read digit by digit."""

_MOST_CHARACTERS = 20_000
"""The numbers behind these stay as they are: each one costs a search through the text."""

_MONEY_UNIT = "(?:(?:亿|千万|百万|万|千|百)|(?:亿|千万|百万|万|千|百|)元|(?:亿|千万|百万|万|千|百|)块|角|毛|分)"
_MEASURE = (
    "(?:[匹张座回场尾条个首阙阵网炮顶丘棵只支袭辆挑担颗壳窠曲墙群腔砣客贯扎捆刀令打手罗坡山岭江溪钟队单双对出口头脚板跳枝件"
    "贴针线管名位身堂课本页家户层丝毫厘分钱两斤铢石钧锱忽寸尺丈里寻常铺程撮勺合升斗盘碗碟叠桶笼盆盒杯斛锅簋篮罐瓶壶卮盏箩箱煲啖袋钵年月日季刻时周天秒旬纪岁世更夜春夏秋冬代伏辈丸泡粒幢堆根道面片块]|[千毫微]克|[千分厘毫微]米)"
)
_NUMBER = r"\d+(?:\.\d+)?"
_ANY_NUMBER = re.compile(_NUMBER)
_ENGLISH_TWO = re.compile(r"(?<![a-zA-Z])([a-zA-Z]+)二([a-zA-Z]+)")
_PUNCTUATION = str.maketrans(
    dict.fromkeys(
        string.punctuation
        + "！？｡。＂＃＄％＆＇（）＊＋，－／：；＜＝＞＠［＼］＾＿｀｛｜｝～｟｠｢｣､、〃《》「」『』【】〔〕〖〗〘〙"
        "〚〛〜〝〞〟〰〾〿–—‘’‛“”„‟…‧﹏·〈〉",
        " ",
    )
)


def cardinal(number: str) -> str:
    """``number`` (digits, perhaps with a decimal point) as a quantity: 12000 is 一万两千, 10.5 十点五."""
    whole, _, fraction = number.partition(".")
    signs = _digits_and_units(whole) if 1 < len(whole) <= _MOST_DIGITS else [_DIGITS[int(digit)] for digit in whole]
    if fraction:
        signs += ["点", *(_DIGITS[int(digit)] for digit in fraction)]
    for place, sign in enumerate(signs):
        leads = not place or signs[place - 1] in _LARGE_UNITS
        if sign == "二" and leads and place + 1 < len(signs) and signs[place + 1] in _LARGE_UNITS:
            signs[place] = "两"
    words = "".join(signs)
    if words.startswith("点"):
        return f"零{words}"
    return words[1:] if words.startswith("一十") else words


def digits(number: str) -> str:
    """The digits of ``number`` one after the other, all else left out."""
    return "".join(_DIGITS[int(sign)] for sign in number if sign.isdecimal())


@cached_text
def text_norm(text: str) -> str:
    """``text`` with its numbers in Chinese words and a space for each punctuation character."""
    spoken = f"^{text[:_MOST_CHARACTERS]}$"
    for pattern, say in _STEPS:
        for number in [match[1] for match in pattern.finditer(spoken) if match[1]]:
            spoken = spoken.replace(number, say(number), 1)
    for match in _ENGLISH_TWO.findall(spoken):
        spoken = spoken.replace("二".join(match), "2".join(match), 1)  # P2P and B2B are not Chinese
    return f"{spoken.lstrip('^').rstrip('$')}{text[_MOST_CHARACTERS:]}".translate(_PUNCTUATION)


def _digits_and_units(number: str) -> list[str]:
    """Digits and units, with a single 零 where units are skipped."""
    if not (significant := number.lstrip("0")):
        return []
    if len(significant) == 1:
        return ["零"] * (len(number) > 1) + [_DIGITS[int(significant)]]
    power, unit = next(unit for unit in _UNITS if unit[0] < len(significant))
    return [*_digits_and_units(number[:-power]), unit, *_digits_and_units(significant[-power:])]


def _date(date: str) -> str:
    year, mark, rest = date.rpartition("年")
    month, month_mark, day = rest.rpartition("月")
    words = digits(year) + mark + (cardinal(month) + month_mark if month else "")
    return words + (cardinal(day[:-1]) + day[-1] if day else "")


def _fraction(fraction: str) -> str:
    above, _, below = fraction.partition("/")
    return f"{cardinal(below)}分之{cardinal(above)}"


# The first four take the character before (and behind) a number with them: a second number right behind it is none.
_STEPS: tuple[tuple[re.Pattern[str], Callable[[str], str]], ...] = (
    (re.compile(r"\D((?:(?:[089]\d|(?:19|20)\d{2})年)?(?:\d{1,2}月(?:\d{1,2}[日号])?)?)"), _date),
    (
        re.compile(rf"\D({_NUMBER}[多余几]?{_MONEY_UNIT}(?:\d{_MONEY_UNIT}?)?)"),
        lambda money: _ANY_NUMBER.sub(lambda number: cardinal(number[0]), money),
    ),
    (re.compile(r"\D((?:\+?86 ?)?1(?:[38]\d|5[0-35-9]|7[678]|9[89])\d{8})\D"), digits),
    (re.compile(r"\D((?:0(?:10|2[1-3]|[3-9]\d{2})-?)?[1-9]\d{6,7})\D"), digits),
    (re.compile(r"(?<!\d)(\d+/\d+)"), _fraction),
    (re.compile(rf"(?<!\d)({_NUMBER}[%％])"), lambda share: f"百分之{cardinal(share.rstrip('%％'))}"),
    (re.compile(rf"(?<!\d)({_NUMBER})[多余几]?{_MEASURE}"), cardinal),
    (re.compile(r"(\d{4,32})"), digits),
    (re.compile(rf"({_NUMBER})"), cardinal),
)
