"""Chat models asked by vLLM's engine."""
