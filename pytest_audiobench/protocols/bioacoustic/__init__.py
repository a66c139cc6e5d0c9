"""Bioacoustic questions: our scorer of the answers, and the rules of BEANS-Next and BEANS-Zero with their defects."""

from pytest_audiobench.protocols.bioacoustic.family import bioacoustic as bioacoustic
