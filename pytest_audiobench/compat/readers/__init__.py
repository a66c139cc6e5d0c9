"""The readers of recorded answers, a module for each tool, which lists its own as ``READERS``."""
