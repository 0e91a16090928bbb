"""Token counts: the estimate that budgets use, and exact counts if the tokenizer is installed."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

CHARACTERS = 4
"""Of a token, by the estimate."""

VOCABULARY = "o200k_base"
"""Of the models of OpenAI since GPT-4o."""


def estimate(text: str) -> int:
    """Return ceil(characters / 4)."""
    return -(-len(text) // CHARACTERS)


def exact_counter() -> Callable[[str], int] | None:
    """Return what counts the tokens of a text exactly, None where bpe-openai isn't installed."""
    try:
        encoding = import_module("bpe_openai").get_encoding(VOCABULARY)
    except ImportError:
        return None

    def count(text: str) -> int:
        return len(encoding.encode_ordinary(text))

    return count
