"""Pipelines: programs that segment, transcribe and describe a clip, and one that makes a list of events of it all."""
