"""Submissions: what one model did in one suite as a signed file, pushed to a hub, verified, and ranked with others.

``sshsig.py``, ``private_keys.py`` and ``signers.py`` are signatures and who is trusted; ``submission.py`` is the file,
``payload.py`` makes it of a run and ``submission_checks.py`` verifies it, with ``evidence.py`` and ``findings.py``;
``hub.py`` and ``upload.py`` take it to a hub; ``collection.py``, ``leaderboard.py`` and ``leaderboard_text.py`` make a
table of many.
"""
