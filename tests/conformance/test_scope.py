"""Every metric of the reference cases is in scope, or out of it for a reason."""

from pathlib import Path

import pytest

from .meetings import LACKING
from .table import cases

FOLDER = Path(__file__).parents[2].parent / "shared" / "conformance"
PAGE = Path(__file__).parents[2] / "docs" / "scorers" / "README.md"

IN, OUT = True, False
SCOPE = {
    "average_precision": {
        "ap_macro": IN,
        "ap_macro_beans_next": IN,
        "ap_micro": IN,
        "ap_micro_beans_next": IN,
        "dataset_map_beans_next": IN,
        "dataset_map_sklearn": IN,
        "multilabel_f1_macro": IN,
        "multilabel_f1_micro": IN,
        "multilabel_f1_samples": IN,
        "roc_auc_macro": IN,
    },
    "beans_next_behaviour": {
        "metric": IN,
        "macro_f1": IN,
        "dataset_map": IN,
        "score_sample": IN,
        "dataset_metrics": IN,
        "cider": IN,
        "postprocess": IN,
        "select_steps": IN,
        "select_steps_rescorer": IN,
        "aggregate_means": IN,
        "batch": OUT,
        "http_server": OUT,
        "http_client": OUT,
        "render": OUT,
        "runner": OUT,
        "cache": OUT,
        "judge": IN,
        "PredictV1Judge": OUT,
        "PredictV1Extractor": OUT,
        "rescorer": IN,
        "run_config": OUT,
        "canonical_json": OUT,
        "wire": OUT,
    },
    "bleu_chrf": {
        "bleu_corpus": IN,
        "bleu_corpus_multiref": IN,
        "bleu_sentence_13a": IN,
        "bleu_sentence_char": IN,
        "bleu_sentence_intl": IN,
        "bleu_sentence_ja-mecab": IN,
        "bleu_sentence_none": IN,
        "bleu_sentence_zh": IN,
        "bleu_signature": IN,
        "chrf_corpus": IN,
        "chrf_sentence": IN,
        "chrfpp_sentence": IN,
        "ter_sentence": IN,
    },
    "calibration": {
        "brier": OUT,
        "ece_binary_10": OUT,
        "ece_binary_15": OUT,
        "ece_netcal_15": OUT,
        "ece_topk1_multiclass_15": OUT,
        "log_loss": OUT,
        "mce_binary_15": OUT,
        "smece": OUT,
    },
    "captioning": {
        "cider_beans_next": IN,
        "cider_d": IN,
        "meteor_1_5_jar": OUT,
        "meteor_nltk_nosyn": IN,
        "ptb_tokenize_coco": IN,
        "rouge_l_coco": IN,
        "rouge_score": IN,
    },
    "cjk_char_level": {
        "cer_nospace": IN,
        "cer_raw": IN,
        "cer_whisper_basic_nospace": IN,
        "mer_mixed_zh_en": IN,
        "tokenize_ja_mecab": IN,
        "tokenize_zh": IN,
    },
    "classification": {
        "accuracy": IN,
        "balanced_accuracy": IN,
        "cohen_kappa": IN,
        "f1_macro": IN,
        "f1_macro_beans_next": IN,
        "f1_macro_fixed_labels": IN,
        "f1_micro": IN,
        "f1_weighted": IN,
        "mae": OUT,
        "mcc": IN,
        "r2": OUT,
        "top1_accuracy_beans_next": IN,
    },
    "diarization_iou": {
        "der_collar0.0": OUT,
        "der_collar0.0_skipov": OUT,
        "der_collar0.5": OUT,
        "der_collar0.5_skipov": OUT,
        "der_spyder_collar0.0": OUT,
        "der_spyder_collar0.25": OUT,
        "detection_error_rate": OUT,
        "hungarian_iou": OUT,
        "interval_iou": OUT,
        "jer": OUT,
        "purity_coverage": OUT,
        "speaker_mapping": OUT,
    },
    "embedding_cosine": {
        "cosine_scipy": IN,
        "cosine_sklearn": IN,
        "cosine_st": IN,
    },
    "golden_audiobench": {
        "judge_parse_golden": IN,
        "mmau_string_match_golden": IN,
        "numeric_acc_golden": IN,
        "wer_golden": IN,
    },
    "multitalker": {
        "cpwer": IN,
        "cpwer_seglst": IN,
        "mimower": IN,
        "orcwer": IN,
        "tcpwer": IN,
    },
    "normalizers": {
        "whisper_basic": IN,
        "whisper_basic_rmdia": OUT,
        "whisper_basic_split": IN,
        "whisper_english": IN,
    },
    "per_phone": {
        "per_39": IN,
        "per_39_corpus": IN,
        "per_48": IN,
        "per_61": IN,
    },
    "slu_keyphrase": {
        "keyphrase_at_1": IN,
        "keyphrase_at_3": IN,
        "keyphrase_at_5": IN,
        "keyphrase_at_M": IN,
        "slu_f1_macro": IN,
        "slu_f1_micro": IN,
    },
    "sound_event": {
        "event_based": IN,
        "event_based_onset_only": OUT,
        "psds": OUT,
        "psds_macro_f": IN,
        "segment_based_100ms": IN,
        "segment_based_1s": IN,
    },
    "speaker_verification": {
        "eer_interp": IN,
        "eer_speechbrain": OUT,
        "mindcf_p0.01": IN,
        "mindcf_p0.05": IN,
    },
    "statistics": {
        "bootstrap_corpus_wer_ci": IN,
        "bootstrap_mean_ci_basic": OUT,
        "bootstrap_mean_ci_bca": OUT,
        "bootstrap_mean_ci_percentile": OUT,
        "bootstrap_paired_diff_ci": IN,
        "clustered_se_corrected": IN,
        "clustered_se_cr0": IN,
        "fdr_bh": IN,
        "fdr_by": IN,
        "holm": IN,
        "kendall_tau_b": OUT,
        "mcnemar_chi2_corrected": OUT,
        "mcnemar_exact": IN,
        "mde_paired_t": IN,
        "n_required_two_proportions": IN,
        "paired_permutation_exact": OUT,
        "paired_permutation_mc": OUT,
        "paired_t": IN,
        "power_paired_t": IN,
        "proportion_ci_agresti_coull": OUT,
        "proportion_ci_beta": IN,
        "proportion_ci_jeffreys": OUT,
        "proportion_ci_normal": OUT,
        "proportion_ci_wilson": OUT,
        "spearman": OUT,
        "wilcoxon_signed_rank": OUT,
    },
    "wer_jiwer": {
        "cer": IN,
        "mer": IN,
        "wer": IN,
        "wil": IN,
        "wip": IN,
        "word_edit_counts": IN,
    },
    "wer_pipelines": {
        "cer_cmi": IN,
        "cer_whisper_basic_split": IN,
        "norm_audiobench_en": IN,
        "norm_audiobench_zh": IN,
        "wer_audiobench_en": IN,
        "wer_audiobench_zh": IN,
        "wer_cmi": IN,
        "wer_nota_fairseq": IN,
        "wer_whisper_en": IN,
    },
}
"""The reason why one is out stands in the module of its file and in docs/scorers."""


@pytest.mark.skipif(not FOLDER.is_dir(), reason="the reference cases are not on this machine (../shared/conformance)")
def test_every_file_is_listed():
    assert {path.stem for path in FOLDER.glob("*.json")} - {"timit_phone_maps"} == set(SCOPE)


@pytest.mark.skipif(not FOLDER.is_dir(), reason="the reference cases are not on this machine (../shared/conformance)")
@pytest.mark.parametrize("file", SCOPE)
def test_every_metric_is_in_scope_or_out_as_listed_and_every_difference_is_explained_in_the_docs(file):
    if file == "multitalker" and LACKING:
        pytest.skip(LACKING)
    page = PAGE.read_text(encoding="utf-8")
    found: dict[str, bool] = {}
    for case in cases(FOLDER / f"{file}.json"):
        found[case.metric] = found.get(case.metric, False) or case.verdict != "out"
        if case.verdict in ("explained", "out"):
            assert case.detail in page, f"docs/scorers does not say: {case.detail}"
    assert found == SCOPE[file]
