"""Checkpoints of the transformers library, asked in this process."""
