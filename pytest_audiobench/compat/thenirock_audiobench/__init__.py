"""The run files of THENIROCK's audiobench 0.1 (github.com/THENIROCK/audiobench), by its own rules."""
