"""What the list of protocols says of the rules for choice questions."""

from __future__ import annotations

from pytest_audiobench.protocols.protocol import About, Example

_QUESTION = "Which animal is heard?"
_ANIMALS = ("dog", "cat", "hen", "frog")
_SPEAKING = "Who is speaking?"
_SPEAKERS = ("A man", "A woman", "A child", "A robot")


def _animals(*texts: str) -> tuple[Example, ...]:
    return tuple(Example(text, "cat", _QUESTION, _ANIMALS) for text in texts)


def _speakers(*texts: str) -> tuple[Example, ...]:
    return tuple(Example(text, "A man", _SPEAKING, _SPEAKERS) for text in texts)


_REFUSAL = "I'm sorry, I can't hear the audio."
_MAN = "A man is speaking"

LETTERS = About(
    "Only what the text asserts is read, in this order: (1) the content of the last <Conclusion> or <answer> element; "
    '(2) the last explicit statement: "the answer is …", "Answer: …", "I choose …", "(B) is correct", or a text that '
    'ends in "… is (B)"; (3) a line that is an answer and nothing else, or a first or last line that opens with one '
    '("B. It meows"). An answer is a letter (B, (b), B., [B]), an option\'s own words with case, punctuation and space '
    "ignored, or both when they agree. A bare A or I that goes on as prose is an article or a pronoun; a letter beyond "
    "the options is out of range; two different options asserted, or a letter beside another option's words, are "
    "unparsed. An answer that was cut by the limit of tokens must be complete: if one more word piece could change it, "
    "it is truncated. Options with equal texts are one option. Whatever is not read counts as wrong.",
    "ours",
    _animals("The answer is (B) cat.", "A dog barks first, then a cat meows.", "Answer: cat (A)", "E", _REFUSAL)
    + _speakers(_MAN),
    "Reasoning that names the right option on the way and asserts nothing at its end stays open. That is meant.",
)

_TOKENS = (
    "Tokens are the different runs of letters, digits and _ (the regular expression \\b\\w+\\b) in small letters. An "
    "answer is right when it holds every token of the true choice and no token that only other choices have. "
)
_TOKENS_DEFECTS = (
    "A lone letter is no answer, since it is no word of the choice. Long reasoning nearly always mentions another "
    "option's word and is wrong then. Choices with equal tokens are one choice (A#:maj and A:maj), and 1.5 is 1 and 5. "
    "letters reads letters, and what a text asserts at its end."
)

MMAU = About(
    f"{_TOKENS}An answer without any token is wrong.",
    "MMAU (Sakshi et al. 2025, ICLR), github Sakshi113/MMAU evaluation.py",
    _animals("cat", "B", "A dog barks first, then a cat meows.", _REFUSAL) + _speakers(_MAN, "man"),
    _TOKENS_DEFECTS,
)

MMAR = About(
    f"MMAU's rule: {_TOKENS}An answer without any token is wrong.",
    "MMAR (Ma et al. 2025, arXiv 2505.13032), github ddlBoJack/MMAR code/evaluation.py, whose README says that it is "
    "MMAU's; it reads answers from another key of the file, which is no matter here",
    _animals("(B) cat", "B") + _speakers(_MAN),
    _TOKENS_DEFECTS,
)

AUDIOBENCH_MMAU = About(
    'MMAU\'s rule after the first four characters of every choice and of the true one, "(A) ", are cut off. Here they '
    f"are cut where every choice begins so. The answer keeps its letter. {_TOKENS}",
    "AudioBench, github AudioLLMs/AudioBench src/dataset_src/eval_methods/string_match.py",
    (
        *(Example(text, "(A) Man", _SPEAKING, ("(A) Man", "(B) Woman")) for text in ("Man", "(A) Man", _MAN, "A")),
        *(
            Example(text, "(A) Man", _SPEAKING, ("(A) Man", "(B) A woman"))
            for text in ("Man", "(A) Man", "The source of the voice is (A) Man.")
        ),
    ),
    'The letter that the answer keeps is a token: "(A) Man" is wrong where another choice has the word "a". '
    f"{_TOKENS_DEFECTS}",
)

_AIR_BENCH = (
    "All line breaks, and white space at the ends, are taken away. The first character is the option when it is a "
    "capital A to D, else the last but one; an answer with neither, an empty one and the text None are not read. "
)
_AIR_BENCH_SOURCE = "AIR-Bench (Yang et al. 2024, ACL), github OFA-Sys/AIR-Bench score_foundation.py"
_AIR_BENCH_DEFECTS = (
    'Any text that begins with one of these letters is an answer: "A man is speaking" is A, "Dogs bark" is D. Small '
    'letters and "(B)" at the start are not seen; "Choose (B)" is, by its last but one character. '
)
_AIR_BENCH_EXAMPLES = (
    *_animals("B. cat", "The answer is B.", "(B) cat", "cat", "Dogs bark.", _REFUSAL),
    *_speakers(_MAN),
)

AIR_BENCH = About(
    f"{_AIR_BENCH}They are left out of the score.",
    _AIR_BENCH_SOURCE,
    _AIR_BENCH_EXAMPLES,
    f"{_AIR_BENCH_DEFECTS}What is not read leaves the denominator, so a model that mostly fails is scored by the rest; "
    "air-bench-keep, shown beside it, counts it as wrong, as letters does.",
)

AIR_BENCH_KEEP = About(
    f"AIR-Bench's scorer, but every answer is scored. {_AIR_BENCH}They are wrong.",
    f"{_AIR_BENCH_SOURCE}; keeping all answers is ours",
    _AIR_BENCH_EXAMPLES,
    f"{_AIR_BENCH_DEFECTS}letters asks that the letter stands alone.",
)

_PHRASES = (
    'The text is put in small letters. It is searched for a list of phrases, one after another ("答案是X", '
    '"answer is **X", "the answer is X", "would choose X", "is X.", ":⏎X)", "is \\( \\boxed{X}", " X.", '
    '"(X)" and the like), each with a, b, c and d in place of X; the first that is found gives the option. Else a lone '
    "letter a to d is the option, or one at the very beginning before a full stop, comma, colon or bracket. The whole "
    "list, in order, is in protocols/multiple_choice/phrases.py. "
)
_DRAWN = (
    "Where nothing is found the published code draws a letter of A to D at random. Here such an answer is worth what "
    "that is worth on average: a quarter of a point, however many options there are (nothing where the true one is "
    "beyond D). So the number does not move from run to run, and is what the published one is on average. A letter "
    "that the question does not offer is wrong."
)
_PHRASES_DEFECTS = (
    'Phrases end in the letter, so that the next word gives it: "The answer is a dog" is A, "the correct answer is '
    'dog" is D, "the answer is because …" is B. The first phrase of the list counts, not the last of the text. A '
    "letter before a line break is not found, nor are options beyond D. "
)
_DRAWN_DEFECTS = (
    f"{_PHRASES_DEFECTS}A model that says nothing scores 25 %: coverage says how much was read. The interval knows "
    "nothing of the draw. letters draws nothing and counts such answers as wrong."
)
_PHRASES_EXAMPLES = (
    *_animals("The answer is (B) cat.", "The answer is a cat.", "The correct answer is dog.", "cat", _REFUSAL),
    *_speakers(_MAN),
)

VOICEBENCH = About(
    f"{_PHRASES}{_DRAWN}",
    "VoiceBench (Chen et al. 2024, arXiv 2410.17196), github MatthewCYM/VoiceBench src/evaluator/mcq.py, read in the "
    "fork wtalioy/VoiceBench at 074f5ca; the quarter in place of the draw is ours, hence the name",
    _PHRASES_EXAMPLES,
    _DRAWN_DEFECTS,
)

KIMI = About(
    f"{_PHRASES}Ten of VoiceBench's phrases are not in the list. {_DRAWN}",
    "Kimi-Audio-Evalkit, github MoonshotAI/Kimi-Audio-Evalkit almeval/datasets/ds_mqa.py (vb-mcq) at f9c4777; the "
    "quarter in place of the draw is ours",
    (*_PHRASES_EXAMPLES, *_animals("Answer: B", "**B: cat**")),
    f"{_DRAWN_DEFECTS} The same evaluation kit scores by a judge unless it is told to use this rule.",
)

ULTRAEVAL = About(
    f"{_PHRASES}Ten of VoiceBench's phrases are not in the list. Where nothing is found the answer is wrong.",
    "UltraEval-Audio, github OpenBMB/UltraEval-Audio audio_evals/evaluator/mcq.py at dd55fce. At that commit a letter "
    "is drawn and the failure counted beside it; later results count such answers as wrong (extract_fail = 0), which "
    "is the rule here",
    (*_PHRASES_EXAMPLES, *_animals("Answer: B")),
    f"{_PHRASES_DEFECTS}letters reads what the text asserts at its end.",
)

_STUDY = '"Investigating Faithfulness in Large Audio Language Models" (arXiv 2509.22363), '
_STUDY_BEYOND = (
    "A letter beyond the options counts as an answer and not as null. To repeat that study's numbers; letters is for "
    "new ones."
)
_STUDY_DEFECTS = (
    'The article "a" reads as option A and the pronoun "I" as option I, so that "I\'m sorry" is an answer (out of '
    f"range where there are fewer than nine options). {_STUDY_BEYOND}"
)
_RECOVERED_DEFECTS = (
    f'"It is a cat" reads as option A, and a choice that the text denies can be the answer. {_STUDY_BEYOND}'
)
_STUDY_EXAMPLES = (
    *_animals(
        "The answer is (B) cat.",
        "B",
        "A dog barks first, then a cat meows.",
        "The answer is a cat, not a dog.",
        "I think it's the second one.",
        _REFUSAL,
    ),
    *_speakers(_MAN),
)
_RUNTIME = (
    "the first letter A to J in parentheses; else, where the whole text equals a choice (letters and digits compared), "
    "that; else the first letter followed by a full stop or colon; else the {} letter that stands alone, in either "
    "case."
)

RUNTIME_AF3 = About(
    f"Of the last sentence only: {_RUNTIME.format('first')}",
    f"{_STUDY}its run-time parser for Audio Flamingo 3 with reasoning",
    _STUDY_EXAMPLES,
    _STUDY_DEFECTS,
)
RUNTIME_AF3_DIRECT = About(
    f"Of the whole text: {_RUNTIME.format('first')}",
    f"{_STUDY}its run-time parser for Audio Flamingo 3 without reasoning",
    _STUDY_EXAMPLES,
    _STUDY_DEFECTS,
)
RUNTIME_QWEN = About(
    f"A <Conclusion> element of a single letter, A to Z; else, of the whole text: {_RUNTIME.format('last')}",
    f"{_STUDY}its run-time parser for Qwen2.5-Omni",
    (*_STUDY_EXAMPLES, *_animals("<Conclusion>B</Conclusion>")),
    _STUDY_DEFECTS,
)
RECOVERED = About(
    "The last letter A to J in parentheses; else the longest choice whose stemmed words the last sentence holds "
    "(joined with the one before it when under four words); else a letter after answer, choice, option or is in the "
    "last 50 characters.",
    f"{_STUDY}its recovery for SAKURA (repair_and_save_final.py), made for the texts of Audio Flamingo 3",
    _STUDY_EXAMPLES,
    _RECOVERED_DEFECTS,
)
_OVERLAP = (
    "The last letter A to J in parentheses in the last 300 characters; else a letter after answer, option, choice or "
    "is there; {}else a letter B to J, but for I, at the end."
)
RECOVERED_MM = About(
    _OVERLAP.format(
        "else the choice that shares most words, without stop words, with the last three sentences, more than none; "
    ),
    f"{_STUDY}its recovery for MMAR (repair_and_save_final_mm.py)",
    _STUDY_EXAMPLES,
    "The study's true letter is wrong for 13 questions of MMAR, where it took the first option that contains the "
    f"answer. {_RECOVERED_DEFECTS}",
)
RECOVERED_MMAU = About(
    _OVERLAP.format(""),
    f"{_STUDY}its recovery as it was run on MMAU: as faithfulness-recovered-mm, but the study's manifest has no list "
    "of choices, so that their words never spoke",
    _STUDY_EXAMPLES,
    _RECOVERED_DEFECTS,
)
