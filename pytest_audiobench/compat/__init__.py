"""The file formats of other tools: read, checked by their own rules, and written.

- ``thenirock_audiobench``: run files of THENIROCK's ``audiobench`` (hashed runs of speech under noise, hallucination
  and sound identification).
- ``answer_files``, ``readers``: files of answers that other tools recorded, and a reader for each of these tools.
- ``faithfulness_study``: manifests, outputs and table of a study of faithfulness.
- ``beans_next``: predictions of BEANS-Next, with the truths next to them.
"""
