"""Sessions with their items and context sets, and the log of requests."""
