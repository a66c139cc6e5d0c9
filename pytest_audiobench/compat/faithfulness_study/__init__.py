"""The files of the faithfulness study: its manifests, outputs and table."""
