"""Owns the queries of Markdown."""

from __future__ import annotations

MARKDOWN = """
(atx_heading) @heading
(setext_heading) @heading
(block_quote) @quoted
(list) @quoted
"""
