"""The metrics that there are, by group; each module lists its own as ``KINDS``."""
