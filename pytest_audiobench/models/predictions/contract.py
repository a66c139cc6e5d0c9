"""The fixed texts of the predictions_v1 contract, for both of its sides."""

SCHEMA = "predictions_v1"

PLACEHOLDER = "<Audio><AudioHere></Audio>"
"""Marks a clip's place within a message."""
