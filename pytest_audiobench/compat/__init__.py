"""The file formats of other tools: read, checked by their own rules, and written."""
