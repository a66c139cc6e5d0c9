"""A server that a run starts for its own models."""
