"""Baselines: what one model made of each sample, in a small file that is kept in a repository and read in reviews.

``contents.py`` is what a baseline holds, ``writing.py`` its bytes, ``scorer.py`` the way back, which trusts nothing.
"""
