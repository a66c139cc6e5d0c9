"""Reference cases that other libraries computed, sent the way of a user's answers: read, scored, estimated."""
