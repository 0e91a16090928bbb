"""Agents' transcripts: their formats, their events, and the decisions that they contain."""
