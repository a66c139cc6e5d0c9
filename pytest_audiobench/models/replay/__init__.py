"""Answers that were given before, in place of a model."""
