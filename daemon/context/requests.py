"""The parameters of GetContext that belong to one request and not to its scope."""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import Literal

from msgspec import Struct

from ..rules.records import ItemType
from ..sessions.records import SentMessage

Format = Literal["markdown", "prompts", "messages", "json"]
Freshness = Literal["shown", "tree", "no"]


LONG_CHARACTERS, LONG_HISTORY = 256 * 1024, 500
"""Characters and messages above which hashing a request takes more than a millisecond."""


class ContextRequest(Struct, frozen=True, dict=True):
    """The parameters of GetContext that don't belong to the scope. Limits are in tokens and bytes."""

    prompt: str = ""
    history: tuple[SentMessage, ...] = ()
    task_type: str = ""
    max_tokens: int = 4000
    reserve_tokens: int = 1000
    max_bytes: int = 100_000
    format: Format = "markdown"
    include_items: tuple[tuple[ItemType, str, str], ...] = ()
    exclude_items: tuple[tuple[ItemType, str, str], ...] = ()
    """Items (type, name, server) to include or exclude in this request, whatever their mode."""
    model: str = ""
    """The model that reads the context, which decides on the token counter and the default size."""
    delta: bool = False
    """Whether to name content that the conversation already holds instead of sending it again."""
    news: bool = False
    """Whether to send only content that is new for this prompt, as prompt hooks do: without the map and the
    project's description; the context is empty if nothing is new."""
    preview: bool = False
    """Whether a person only looks at the context, so that nothing counts as sent. Not part of the key."""
    agent_name: str = ""
    agent_type: str = ""
    """The agent named in the request. Not part of the key: the caller's policy is compared separately."""

    @property
    def context_tokens(self) -> int:
        """The tokens for the context, without the reserve for the answer."""
        return max(self.max_tokens - self.reserve_tokens, 0)

    @property
    def is_long(self) -> bool:
        """Whether computing the key would block the event loop for too long."""
        texts = len(self.prompt) + sum(len(message.content) for message in self.history)
        return texts > LONG_CHARACTERS or len(self.history) > LONG_HISTORY

    @cached_property
    def key(self) -> bytes:
        """A digest that is equal for equal requests: the key in the cache of contexts."""
        parts = (
            *(self.prompt, self.history, self.task_type, self.format, self.model, self.delta, self.news),
            *(self.max_tokens, self.reserve_tokens, self.max_bytes, self.include_items, self.exclude_items),
        )
        return hashlib.blake2b(repr(parts).encode(), digest_size=16).digest()
