"""One clip of any sound, a sentence wanted that says what is heard."""

from __future__ import annotations

from types import MappingProxyType

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.protocols.captioning.models import model_scorers
from pytest_audiobench.protocols.captioning.published import published_scorers
from pytest_audiobench.protocols.captioning.words import word_scorers
from pytest_audiobench.protocols.free_text import choose, free_stage
from pytest_audiobench.protocols.protocol import Protocol, Scorer, remembered

INSTRUCTION = "Describe what you hear in one sentence."


@remembered
def captioning(
    *scorers: str | Scorer, prompt: str = INSTRUCTION, system: str | None = None, max_new_tokens: int = 256
) -> Protocol:
    """Ask for a caption of the sample's clips, in its own question's words or else in ``prompt``'s.

    The default scorer is ``captions``: CIDEr-D, ROUGE-L and METEOR without synonyms, on COCO's words. Further ones:
    ``rouge-google``; ``meteor`` (with WordNet), ``spider`` and ``bertscore`` where their parts are on this machine; and
    the rules of ``cmi-bench``, ``cmi-bench-meteor``, ``nota``, ``audiobench``, ``ultraeval``, ``salmonn-repro`` and
    ``salmonn-repro-music`` (with ``-nopunct``, ``-keep``). A scorer of one's own, such as
    :func:`~pytest_audiobench.protocols.embedded.embedded`, can stand among the names. The samples' references are all
    counted, unless a published rule takes one. Raises UsageError for an unknown scorer, and for one that lacks its
    parts.
    """

    def words(sample: Sample) -> str:
        return sample.question or prompt

    made = (*word_scorers(), *model_scorers(), *published_scorers())
    available = MappingProxyType({scorer.name: scorer for scorer in made})
    stage = free_stage(words, system, max_new_tokens)
    asked = Protocol("captioning", (stage,), (available["captions"],), available, expects="words")
    return choose(asked, scorers)
