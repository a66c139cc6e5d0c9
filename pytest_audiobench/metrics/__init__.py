"""Statistics and numbers from answers and references."""
