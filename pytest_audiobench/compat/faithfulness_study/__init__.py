"""The files of a study of faithfulness: its manifests, trees of audio, outputs and table.

Mousavi, Jain, Ravanelli and Subakan, "Investigating Faithfulness in Large Audio Language Models", arXiv 2509.22363;
github.com/lovenya/Measuring-Faithfulness-of-CoT-Reasoning-LALMs.
"""
