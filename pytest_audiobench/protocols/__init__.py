"""What an answer means: prompts, parsers and scores."""
