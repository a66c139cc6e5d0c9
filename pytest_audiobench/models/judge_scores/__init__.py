"""Judges behind judge_scores_v1 servers, which score answers by a rubric and do nothing else."""
