"""Runs shared: what one model did in one suite as a signed file, pushed to a hub, verified, and ranked with others.

``sshsig.py``, ``keys.py`` and ``signers.py`` are signatures and who is trusted; ``submission.py`` is the file,
``building.py`` makes it of a run and ``checking.py`` verifies it, with
``evidence.py`` and ``findings.py``; ``hub.py`` and ``pushing.py`` take it to a hub;
``collecting.py``, ``leaderboard.py`` and ``leaderboard_texts.py`` make a table of many.
"""
