"""Compression: the fullest useful form of a text within so many characters. See ARCHITECTURE.md."""
