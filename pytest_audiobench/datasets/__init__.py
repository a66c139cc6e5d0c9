"""Data sets: published layouts, manifests and the bundled audio, read into samples."""
