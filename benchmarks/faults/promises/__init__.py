"""A file for each promise; each has `PROMISE`, and is found by that."""
