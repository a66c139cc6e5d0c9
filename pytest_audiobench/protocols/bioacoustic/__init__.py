"""Bioacoustic questions: our scorer of the answers, and the rules of BEANS-Next and BEANS-Zero with their defects."""
