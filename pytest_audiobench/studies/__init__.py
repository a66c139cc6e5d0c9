"""Several evaluations of one slice, compared: what a test asks for in one call."""
