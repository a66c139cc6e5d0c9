"""Perturbations: what is done to the clips, or to the reasoning, of every sample of a data set."""
