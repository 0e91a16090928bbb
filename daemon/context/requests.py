"""The parameters of GetContext that belong to one request and not to its scope."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import cached_property
from typing import Literal

from msgspec import Struct

from ..rules.items import ItemType

Format = Literal["markdown", "prompts", "messages", "json"]
Freshness = Literal["shown", "tree", "no"]


class Message(Struct, frozen=True):
    """One message of the conversation so far."""

    role: str
    content: str


LONG_CHARACTERS, LONG_HISTORY = 256 * 1024, 500
"""Characters that take a millisecond to hash, and messages that take one to read."""


class ContextRequest(Struct, frozen=True, dict=True):
    """The parameters of GetContext that don't belong to the scope. Limits are in tokens and bytes."""

    prompt: str = ""
    history: tuple[Message, ...] = ()
    task_type: str = ""
    max_tokens: int = 8000
    reserve_tokens: int = 2000
    max_bytes: int = 100_000
    format: Format = "markdown"
    include_items: tuple[tuple[ItemType, str, str], ...] = ()
    exclude_items: tuple[tuple[ItemType, str, str], ...] = ()
    """Items by type, name and server, to have or to leave out this once, whatever their mode."""
    model: str = ""
    """The name of the model that reads the context: its tokens are counted, its size may be configured."""
    delta: bool = False
    """Whether what the conversation holds already is to be named instead of being sent again."""
    news: bool = False
    """Whether only what the prompt adds is wanted: neither the map nor what the project is, nothing that the
    conversation holds, and an empty context where that leaves nothing. Hooks of prompts ask so."""
    preview: bool = False
    """Whether a person only looks at it: nothing counts as sent. No part of its key either."""
    agent_name: str = ""
    agent_type: str = ""
    """Who asks, as far as the request says it. No part of its key: what follows of it counts."""

    @property
    def context_tokens(self) -> int:
        """What is left for the context when the reserve for the answer is taken off."""
        return max(self.max_tokens - self.reserve_tokens, 0)

    @property
    def is_long(self) -> bool:
        """Whether its texts are so long that making its key would keep the event loop from others."""
        texts = len(self.prompt) + sum(len(message.content) for message in self.history)
        return texts > LONG_CHARACTERS or len(self.history) > LONG_HISTORY

    @cached_property
    def key(self) -> bytes:
        """A digest by which equal requests meet the same rendered context."""
        numbers = f"{self.max_tokens} {self.reserve_tokens} {self.max_bytes} {self.delta} {self.news}"
        counts = f"{len(self.include_items)} {len(self.exclude_items)}"
        digest = hashlib.blake2b(digest_size=16)
        texts = (self.prompt, self.task_type, numbers, counts, self.format, self.model)
        for text in (*texts, *self._listed_texts()):
            data = text.encode("utf-8", "surrogatepass")
            digest.update(len(data).to_bytes(8, "big"))  # so that no two lists of texts run together
            digest.update(data)
        return digest.digest()

    def _listed_texts(self) -> Iterator[str]:
        for item in (*self.include_items, *self.exclude_items):
            yield from item
        for message in self.history:
            yield message.role
            yield message.content
