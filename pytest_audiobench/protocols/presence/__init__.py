"""Yes/no probes for sounds: how they are put, and how answers to them are read."""
