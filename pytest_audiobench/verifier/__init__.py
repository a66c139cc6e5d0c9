"""A run's claims recomputed from its files: which part holds, which fails, which cannot be recomputed here."""
