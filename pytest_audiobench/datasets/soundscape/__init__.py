"""Soundscapes: clips in which several things happen, put together from pieces whose words and places are known."""
