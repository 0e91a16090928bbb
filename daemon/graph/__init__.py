"""Answers of the code graph: who uses what, what inherits from what, what a change reaches."""
