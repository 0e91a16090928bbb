"""A rendered context with all that is recorded of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, Literal

from msgspec import Struct, field

from ...ipc.protocol import pack_fields
from ..compression.records import Wanted
from ..core.sized_cache import SizedCache
from ..core.system import System, is_stamp_of
from ..project.records import Shown
from ..project.service import digest_of
from ..rules.records import LeftOutItem, PlannedItem
from ..sessions.records import Sent
from .sent_content import SentSlice

SEARCH_UNFINISHED = "retrieval was not finished in time: what the prompt is about is missing"
"""The gap of a context whose search ran out of time."""

Limit = Literal["", "max_tokens", "max_bytes", "deadline_ms"]


class Built(Struct, frozen=True, dict=True):
    """A rendered context with its record.

    - `stale`: paths of files that are newer than the index; the context was built without their definitions.
    - `shown`: the stamps of the shown files, which tell whether the context is still valid (see `all_hold`).
    - `lasting`: whether these stamps are sufficient; False if a file or the index could not be read.
    - `items`, `left_out`: the items in the context, and those that were considered and left out.
    - `sent`: the texts for prompts, messages and request records, if any are needed.
    - `unfinished`: whether a source ran out of time.
    """

    reply: Mapping[str, Any]
    shown: tuple[Shown, ...]
    stale: tuple[str, ...]
    memory_bytes: int
    lasting: bool = True
    items: tuple[PlannedItem, ...] = ()
    left_out: tuple[LeftOutItem, ...] = ()
    sent: Sent | None = None
    unfinished: bool = False
    held: tuple[tuple[str, SentSlice], ...] = ()
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
    """The near misses as the wire has them (`NearMissReply`)."""

    @cached_property
    def packed(self) -> bytes:
        """The packed fields of the reply, which every reply from the cache begins with."""
        return pack_fields(self.reply)


class ContextReply(dict[str, Any]):
    """A reply that begins with the fields of a built context, which are packed once."""

    __slots__ = ("built",)
    built: Built


BYTES_MAX = 16 << 20
"""Maximum estimated bytes of all cached contexts: some 200, most of which are never requested again."""

BuiltContexts = SizedCache[tuple[str, bytes], tuple[tuple[object, ...], Built]]
"""The cached contexts by scope and request, each with the validity key that it was built from. A repeated
request costs a look-up and a stat of each shown file."""


def all_hold(shown: Iterable[Shown], system: System) -> bool:
    """Whether all shown files are unchanged. One plain loop, since each cached reply waits for it."""
    try:
        for shown_file in shown:
            if not is_stamp_of(shown_file.stamp, system.stat(shown_file.path)):
                return False
            if (
                shown_file.racy
                and digest_of(system.read(shown_file.path, shown_file.length)[0]) != shown_file.digest
            ):
                return False
    except OSError:
        return False
    return True
