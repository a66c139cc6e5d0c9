"""Checkpoints of a training that continues: asked as they are saved, and compared with the best so far."""
