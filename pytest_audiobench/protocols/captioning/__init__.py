"""The scorers of captions."""
