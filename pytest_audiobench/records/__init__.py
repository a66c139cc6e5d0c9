"""The files of a run as typed values: what run.json, the line files, baselines and submissions hold, defined once."""
