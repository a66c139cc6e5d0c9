"""Published ways from texts to word error rates, whole."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_audiobench.protocols.transcription import published_scorers, whisper
from pytest_audiobench.protocols.transcription.transcript_scorer import Normaliser

from ..table import Scorer
from ..transcripts import NO_REFERENCE, own_rate, pooled

_CMI_BENCH = Normaliser(published_scorers.cmi_bench_reference, published_scorers.cmi_bench_answer)

SCORERS: Mapping[str, Scorer] = {
    "norm_audiobench_en": lambda params, inputs: published_scorers.audiobench_english(inputs["text"]),
    "norm_audiobench_zh": lambda params, inputs: published_scorers.audiobench_chinese(inputs["text"]),
    "wer_audiobench_en": pooled("wer", published_scorers.audiobench_normaliser("en")),
    "wer_audiobench_zh": pooled("wer", published_scorers.audiobench_normaliser("zh")),
    "wer_cmi": own_rate(_CMI_BENCH),
    "cer_cmi": own_rate(_CMI_BENCH, "C"),
    "wer_nota_fairseq": pooled("wer", Normaliser(published_scorers.nota_text)),
    "wer_whisper_en": pooled("wer", Normaliser(whisper.english)),
    "cer_whisper_basic_split": pooled("cer", Normaliser(whisper.graphemes, tokens=str.split, characters=True)),
}
OUT: Mapping[str, str] = {}
DIFFERS: Mapping[str, str] = dict.fromkeys(
    ("wer_pipelines/wer_whisper_en-006", "wer_pipelines/cer_whisper_basic_split-006"), NO_REFERENCE
)
