"""Runs of a folder in a browser on this machine: a list, each run's page, comparisons, tracks; nothing is written."""
