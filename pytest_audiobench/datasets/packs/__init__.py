"""Packs of sounds: labels with clips, the mixtures drawn of them, and what is asked about each."""
