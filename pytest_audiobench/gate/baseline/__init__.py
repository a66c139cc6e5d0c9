"""Baselines: one model's scores of each sample, in a small file for a repository and its reviews.

``contents.py`` is what a baseline holds, ``encoding.py`` its bytes, ``decoding.py`` the way back, which trusts nothing.
"""
