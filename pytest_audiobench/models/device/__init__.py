"""Models that are loaded once for each device and shared by the workers of a run."""
