"""Intervals, and later tests, for numbers drawn from samples."""
