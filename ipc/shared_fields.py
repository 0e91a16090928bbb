"""Owns fields that many results share, packed once for all of them; knows no method and no connection."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from itertools import islice
from typing import Any

from .protocol import PackedResult, pack_fields

MEMORY_MAX_BYTES = 4 << 20
"""A hundred contexts of 40 KB; packing one of these takes a tenth of a kept answer's time."""

ENTRY_MAX_BYTES = MEMORY_MAX_BYTES // 8


class SharedFields:
    """The packed form of maps that don't change any more, those used last. On the event loop only."""

    def __init__(self) -> None:
        # With the map itself, so that its id stays its own.
        self._packed: OrderedDict[int, tuple[Mapping[str, Any], bytes]] = OrderedDict()
        self.memory_bytes = 0

    def result(self, shared: Mapping[str, Any], whole: Mapping[str, Any]) -> Mapping[str, Any] | PackedResult:
        """Return a result whose first fields are those of `shared`, in their order, in the form for the wire.

        Raises `RpcError` where they can't be packed.
        """
        known = self._packed.get(id(shared))
        if known is None:
            data = pack_fields(shared)
            if len(data) > ENTRY_MAX_BYTES:
                return whole
            self._keep(shared, data)
        else:
            data = known[1]
            self._packed.move_to_end(id(shared))
        return PackedResult(len(shared), data, dict(islice(whole.items(), len(shared), None)))

    def _keep(self, shared: Mapping[str, Any], data: bytes) -> None:
        self._packed[id(shared)] = shared, data
        self.memory_bytes += len(data)
        while self.memory_bytes > MEMORY_MAX_BYTES:
            _, (_, oldest) = self._packed.popitem(last=False)
            self.memory_bytes -= len(oldest)
