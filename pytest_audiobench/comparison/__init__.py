"""Runs and baselines compared: where they come from, whether they may be, and the tables of the result."""
