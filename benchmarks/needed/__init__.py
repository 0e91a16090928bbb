"""Benchmark of contexts: how much of what a change needs is shown, and how much else, beside other ways."""
