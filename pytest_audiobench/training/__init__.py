"""Checkpoints of a training that goes on: asked as they are saved, and held to the best so far."""
