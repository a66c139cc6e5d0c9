"""The order of work, what is known already, failures, resumption."""
