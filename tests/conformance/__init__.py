"""Reference cases, and which of our scorers answers for each."""
