"""Rules that read labels of a list in free text."""
