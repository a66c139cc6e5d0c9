"""What each file of reference cases holds, and which scorer of ours answers for it.

A module here is named like its file (``wer_jiwer.py`` for ``wer_jiwer.json``) and has

- ``SCORERS``: by metric name, a function of (params, inputs) that gives the value in the shape of ``expected``;
- ``OUT``: by metric name, why no scorer of ours answers for it;
- ``DIFFERS``: by case id or metric name, the sentence that explains a deliberate difference; it stands in the docs too.
"""
