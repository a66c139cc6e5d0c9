"""The events of a clip: asking for them, reading lists of them, and comparing these with an answer key."""
