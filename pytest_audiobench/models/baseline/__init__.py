"""Small listeners without torch, and two that do not listen at all."""
