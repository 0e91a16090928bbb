"""Benchmarks: python -m benchmarks. Figures with machine and date are in README.md beside this file."""
