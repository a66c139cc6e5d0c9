"""Answers weighed by another model: pinned prompts for judges, and how their verdicts are read."""
