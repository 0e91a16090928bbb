"""The dashboard as it looks and how quick it is: python -m benchmarks.dashboard --help."""
