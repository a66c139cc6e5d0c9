"""What a run says of itself, recomputed from its files: which part holds, which fails, which nothing here can tell."""
