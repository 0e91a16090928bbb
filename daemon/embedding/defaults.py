"""Owns the names of the default model, for those who must not import what runs it."""

from __future__ import annotations

DEFAULT_MODEL = "all-MiniLM-L6-v2"
DEFAULT_DIMENSIONS = 384
