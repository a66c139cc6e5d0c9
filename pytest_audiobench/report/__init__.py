"""What a run leaves behind: files to keep, a page to look at, text for terminals and summaries."""
