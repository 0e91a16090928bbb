"""Owns what items are searched for: a message and what was said before it, as weighted texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..core.lazy_dataclass import dataclass
from .item_text import CHUNK_CHARACTERS, chunks

MESSAGE_CHUNKS = 12
"""Of the message: 6,000 characters. A longer one has a pasted log or file; its beginning and end say most."""

HISTORY_MESSAGES = 6
"""So many messages before it count; the weight of older ones would be next to nothing."""

HISTORY_CHUNKS = 2
"""Of each earlier message: its beginning and its end, where questions and conclusions stand."""

HISTORY_WEIGHT = 0.9
HISTORY_DECAY = 0.8
"""What the message before the current one weighs, and how the weight falls with each one before that. A
message such as `yes, do it` says all by what stands before it; a new subject has higher scores of its own.
Too few of the labelled queries have a history to choose these by them."""


@dataclass(frozen=True, slots=True)
class QueryText:
    """A piece of what is searched for, at most `CHUNK_CHARACTERS` long. `weight` is 1 for the message's own
    pieces and less the older a message is."""

    text: str
    weight: float


def query_texts(message: str, history: Sequence[Mapping[str, object]] = ()) -> tuple[QueryText, ...]:
    """Return the pieces of a message and of what was said before it, the latest first.

    `history` is `{role, content}` in the order of the conversation. System messages say nothing of what is
    asked and are left out, as is what has no text.
    """
    found = [QueryText(text, 1.0) for text in _ends(chunks_of(message), MESSAGE_CHUNKS)]
    weight = HISTORY_WEIGHT
    said = (one.get("content") for one in reversed(history) if one.get("role") in ("user", "assistant"))
    texts = (content for content in said if isinstance(content, str) and content.strip())
    for content, _ in zip(texts, range(HISTORY_MESSAGES), strict=False):
        found += [QueryText(text, weight) for text in _ends(chunks_of(content), HISTORY_CHUNKS)]
        weight *= HISTORY_DECAY
    return tuple(found)


def chunks_of(message: str) -> tuple[str, ...]:
    """Cut a message into chunks; of a very long one its beginning and its end."""
    half = MESSAGE_CHUNKS * CHUNK_CHARACTERS
    if len(message) <= 2 * half:
        return chunks(message)
    return chunks(message[:half]) + chunks(message[-half:])


def _ends(texts: Sequence[str], most: int) -> Sequence[str]:
    """Return at most so many texts, half of them from the end."""
    if len(texts) <= most:
        return texts
    return (*texts[: most - most // 2], *texts[-(most // 2) :])
