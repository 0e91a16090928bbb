"""Coverage benchmark: how much of what a change needs is in a context, beside other ways to fill it."""
