"""The scorers of speech translation."""
