"""Answers that were recorded before, by us or by others, read back and scored without a model."""
