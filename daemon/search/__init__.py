"""Which code a question is about: it is taken apart, asked of the indexes, and the answers are ranked."""
