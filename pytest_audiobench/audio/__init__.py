"""Sound: clips, their identity, edits, synthesis and decoding."""
