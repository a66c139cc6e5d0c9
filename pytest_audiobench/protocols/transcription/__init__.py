"""How transcripts are made comparable: our own rules, and those of published benchmarks."""
