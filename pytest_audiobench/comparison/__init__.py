"""Runs and baselines held side by side: where they come from, and what is made of them."""
