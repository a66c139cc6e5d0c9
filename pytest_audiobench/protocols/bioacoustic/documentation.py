"""What the list of protocols says of the bioacoustic scorers, by task."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_audiobench.protocols.protocol import About, Example

NEXT = "BEANS-Next 0.1.0 (github earthspecies/beans-next): "
_SPECIES = ("dog", "cat", "crow")
_WHALES = ("Beluga, White Whale", "Minke whale", "crow")

_ONE = (
    Example("It is not a dog, it is a cat.", "cat", choices=_SPECIES),
    Example("a crowded place", "crow", choices=_SPECIES),
    Example("4 kHz", "4010 Hz", choices=("100 Hz", "1600 Hz", "4010 Hz")),
    Example("I think it is a dog", "A", choices=("A", "B", "C", "D")),
    Example("Beluga, White Whale", "Beluga, White Whale", choices=_WHALES),
    Example("", "dog", choices=_SPECIES),
)
_SEVERAL = (
    Example("crow, Minke whale", "Minke whale, crow", choices=_WHALES),
    Example("None", "", choices=_WHALES),
    Example("crowd noise", "crow", choices=_WHALES),
    Example("Beluga, White Whale", "Beluga, White Whale", choices=_WHALES),
)
_OF_ONE_SET = tuple(example for example in _ONE if example.choices == _SPECIES)
_CAPTIONS = (
    Example("A dog, barking loudly", "A dog barks loudly."),
    Example("Rain falls on a roof.", "Rain falls on a tin roof."),
)

BIOACOUSTIC: Mapping[str, About] = {
    "classification": About(
        "The labels are the task's own: the scorer's, or the sample's choices; no answer and no truth adds one. "
        'Text behind "<|end_of_text|>" and stretches of time before a label are dropped. Where all labels are single '
        "letters, the strict scorer of choices applies, the last explicit statement before all else. Where all are "
        "buckets of Hz, the frequency in Hz or kHz, or the middle of a range, goes to the nearest, the lower of two. "
        "Else a label counts when it is the whole answer but a lead-in (its words in any order; one slip of spelling "
        "from 4 letters on, two from 8, never in the first letter or by a longer or shorter end, where one label "
        'only is that near), the last statement ("the species is …"), the whole first or last line, or the only one '
        "mentioned and not denied (by a negation before it in its clause, by one right behind it, or by going on "
        "from a denied one with or or nor). Of an answer that the limit of tokens cut, only a statement that "
        "something follows counts, or a whole label that no other begins with. Any of several truths is right. A "
        "refusal, two labels, no label or no text are wrong.",
        "ours",
        _ONE,
    ),
    "detection": About(
        'The labels are the task\'s own; "None" is no class. Every label that is mentioned as words (the longest '
        "first, commas within a label included) and not denied is said, and every label that is all between two "
        "commas but for a slip of spelling. Words that name no label are passed over beside one that does. Answer "
        "and truth are compared as sets. An empty answer, and one that says that there is nothing, are right where "
        "nothing is true. A refusal, or words that name no label and do not say none, is unread: it misses all that "
        "is true, and counts as one wrong label where nothing is. mAP takes equal scores as one step, so the order "
        "of samples moves nothing.",
        "ours",
        _SEVERAL,
    ),
    "captioning": About(
        "The caption as it is, never put to a label or a reference. CIDEr-D over Penn Treebank words in lower case "
        "without punctuation, against all references. An empty answer is 0.",
        "ours",
        _CAPTIONS,
    ),
    "open_ended": About(
        "Where the task has labels, read as a classification. Else the answer is right when it is one of the truths, "
        "case, emphasis and outer punctuation aside.",
        "ours",
        (Example("Turdus merula.", "Turdus merula"), Example("It is Turdus merula", "Turdus merula")),
    ),
}

_ENGINE = (
    'White space is collapsed, and text from "<|end_of_text|>" on is cut. Labels yes and no: the label that the '
    "answer is, else the longest that it contains, else the nearest by Levenshtein. Two to ten single letters: the "
    "letter that the answer is, states, ends with or mentions last, else as before. Buckets of Hz: the last number, "
    "or the middle of a range, to the nearest bucket. "
)
_ROW_SCORES = (
    "A sample's scores depend on its truth: one text is compared as a whole for any task; a list is right by any of "
    "its labels for classification and open-ended tasks, and has average precision, precision, recall and F1 for "
    "others. Where nothing is left of an answer, its raw text is scored. "
)
_SET_SCORES = (
    "Over the set: macro F1 over every text that occurs (first reference only), mAP over every label that occurs, or "
    "CIDEr of whitespace tokens, first reference only. Means leave out samples without the score. Answers beyond "
    "100,000 characters are cut here."
)
_DEFECTS = (
    "Any text is forced to some label: an empty answer becomes one, 'nothing' becomes No, an article A, a letter "
    "beyond the options A. A label is found inside a word (crow in crowd) and where it is denied. kHz is read as Hz; "
    "a range from 1,000 up as tenths of Hz. A label with a comma in a list of truths is wrong even when answered "
    "verbatim. Detection with one text as truth needs the same order; with a list, average precision is 1 for an "
    "empty answer, and an emptied answer is scored by its raw text. mAP depends on the order of rows, adds a class "
    "for an invented label and takes None for a class; macro F1 adds a class for each new wrong text. CIDEr counts "
    "case and punctuation, and is 0 for one caption. Failed samples leave the mean. Labels after the end's token "
    "survive a comma. Ours (bioacoustic) does none of this."
)
_RUN_WAY = (
    "The labels are the task's list: the scorer's, or the sample's choices. Classification: the label that the "
    "answer is, contains or is nearest to, before it (where all labels hold a space) the label all of whose words "
    "occur. Detection: split at commas, then each part in lower case without lead-in words and letters beyond a to "
    "z, matched, contained or within distance 2, else dropped. Captions and open answers stay as they are. "
)
_FILE_WAY = (
    "The labels are those of the targets that are scored together, texts split at commas, in the order of sample "
    "ids. Classification: the label that the answer is, contains or is nearest to. Every other task, captions too: "
    "split at commas, each part put to the nearest label, however far. "
)
_RUN_RULE = _ENGINE + _RUN_WAY + _ROW_SCORES + _SET_SCORES
_FILE_RULE = _ENGINE + _FILE_WAY + _ROW_SCORES + _SET_SCORES
_RUN_SOURCE = NEXT + "beans_next/runner/runner.py, post_process/, metrics/"
_FILE_SOURCE = NEXT + "beans_next/runner/rescorer.py, post_process/, metrics/"
_FILE_DEFECTS = (
    "Labels come from the truths, so that a caption is replaced by the nearest piece of a reference caption and "
    "scores as "
    "that; a label with a comma becomes two. run and score-from-file disagree about the same answers. " + _DEFECTS
)
_EXAMPLES: Mapping[str, tuple[Example, ...]] = {
    "classification": _ONE,
    "detection": _SEVERAL,
    "captioning": _CAPTIONS,
    "open_ended": (Example("Turdus merula", "Turdus merula"), Example("It is Turdus merula", "Turdus merula")),
}

RUN: Mapping[str, About] = {
    task: About(_RUN_RULE, _RUN_SOURCE, examples, _DEFECTS) for task, examples in _EXAMPLES.items()
}
SCORE_FROM_FILE: Mapping[str, About] = {
    task: About(_FILE_RULE, _FILE_SOURCE, _OF_ONE_SET if examples is _ONE else examples, _FILE_DEFECTS)
    for task, examples in _EXAMPLES.items()
}

_ZERO_SOURCE = "BEANS-Zero (github earthspecies/beans-zero): beans_zero/post_processor.py, beans_zero/evaluate.py"
ZERO: Mapping[str, About] = {
    "classification": About(
        'Text from "<|end_of_text|>" on is cut. The answer becomes the nearest target text of the set by '
        "Levenshtein, case and all, however far. Accuracy is the same text, top-1 accuracy any part of the target "
        "between commas, F1 is weighted by how often a label is true.",
        _ZERO_SOURCE,
        _OF_ONE_SET,
        "Any answer becomes a label, an empty or refusing one too. Labels come from the truths of the set. Of labels "
        "as near, the published code takes one at random (a set's order); here the one that sorts first.",
    ),
    "detection": About(
        "The answer is split at commas; each part becomes the nearest target text of the set, case and all, or None "
        "beyond a distance of 5. The classes are the parts of the targets between commas, a target None is no label. "
        "F1 is the mean over classes.",
        _ZERO_SOURCE,
        _SEVERAL,
        "The texts that parts are put to are whole targets: where 'a, b' is a target and 'a' is none, a part 'a' "
        "becomes another one. A label with a comma is two classes. Of labels as near, the published code takes one "
        "at random; here the one that sorts first. Its mAP takes equal scores in the order of an unstable sort, and "
        "is left out.",
    ),
}
