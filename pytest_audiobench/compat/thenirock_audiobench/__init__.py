"""The run files of the audiobench tool (github THENIROCK/audiobench, 0.1), by its own rules: read, hashed, counted."""
