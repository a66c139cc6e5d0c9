"""Ways to ask one kind of model: specs, the registry, and an adapter per kind."""
