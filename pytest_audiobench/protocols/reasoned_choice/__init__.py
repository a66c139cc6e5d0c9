"""Answers with the reasoning that led to them: asked, put back, changed, and compared."""
