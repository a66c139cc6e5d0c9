"""How a text is read as one option: ours, and the published rules."""
