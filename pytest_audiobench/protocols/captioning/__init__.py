"""The readings of captions."""
