"""Which talker said what in an answer."""
