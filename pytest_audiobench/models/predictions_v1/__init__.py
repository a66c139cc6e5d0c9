"""Models behind predictions_v1 servers."""
