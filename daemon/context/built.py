"""A rendered context with all that is recorded of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct, field

from ..compression.model_compressor import Wanted
from ..project.content import Shown
from ..rules.items import LeftOutItem, PlannedItem
from .reply import Conversation
from .sent_content import Held

Limit = Literal["", "max_tokens", "max_bytes", "deadline_ms"]


class Built(Struct, frozen=True):
    """A rendered context with its record.

    - `stale`: paths of files that are newer than the index; the context was built without their definitions.
    - `shown`: the stamps of the shown files, which tell whether the context is still valid (see `all_hold`).
    - `lasting`: whether these stamps are sufficient; False if a file or the index could not be read.
    - `items`, `left_out`: the items in the context, and those that were considered and left out.
    - `conversation`: the texts for prompts, messages and request records, if any are needed.
    - `unfinished`: whether a source ran out of time.
    """

    reply: Mapping[str, Any]
    shown: tuple[Shown, ...]
    stale: tuple[str, ...]
    memory_bytes: int
    lasting: bool = True
    items: tuple[PlannedItem, ...] = ()
    left_out: tuple[LeftOutItem, ...] = ()
    conversation: Conversation | None = None
    unfinished: bool = False
    held: tuple[tuple[str, Held], ...] = ()
    """The slices that the conversation holds after this context is sent and did not hold before."""
    saved_tokens: int = 0
    tokens_before: int = 0
    tokens_by_type: Mapping[str, int] = field(default_factory=dict)
    compressible: tuple[Wanted, ...] = ()
    """Documents in it that the compression model may shorten and hasn't shortened yet."""
    context_id: str = ""
    """The id under which it is logged; "" until it is assigned."""
    generation: int = 0
    """The generation of the tree that it was built from."""
    limit: Limit = ""
    """The limit that kept content out or shortened it."""
    near: tuple[Mapping[str, Any], ...] = ()
    """The near misses as the wire has them (`NearMiss`)."""
