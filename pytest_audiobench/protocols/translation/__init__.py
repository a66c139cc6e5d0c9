"""The readings of speech translation."""
