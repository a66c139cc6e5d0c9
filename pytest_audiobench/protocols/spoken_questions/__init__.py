"""What answers in free words are compared by."""
