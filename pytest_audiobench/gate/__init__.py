"""Thresholds in, verdicts out; knows nothing of pytest."""
