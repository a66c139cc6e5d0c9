"""Checkpoints of a training that continues: asked as they are saved, and held to the best so far."""
