"""Compression: the fullest useful form of a text that fits a number of characters. See ARCHITECTURE.md."""
