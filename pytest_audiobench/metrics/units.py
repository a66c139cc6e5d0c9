"""The units of metrics that are kept as fractions of one."""

SHARE = "share"
"""The unit of metrics that lie between 0 and 1."""

WORD_ERRORS = "errors per word"
CHARACTER_ERRORS = "errors per character"
PHONE_ERRORS = "errors per phone"
ERROR_RATES = frozenset({WORD_ERRORS, CHARACTER_ERRORS, PHONE_ERRORS})
"""The units of error rates, which may exceed 1 and are kept as fractions of one like shares."""

POINTS = "points"
"""The unit of differences between shares or error rates, kept as fractions of one like these."""
