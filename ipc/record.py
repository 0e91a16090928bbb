"""The base of this folder's values; imports nothing, because a hook pays for every import.

The standard library's dataclasses would do the same, but they import inspect: 12 to 17 ms, as long as the
interpreter itself takes to start, in every hook process.
"""

from __future__ import annotations


class Record:
    """A value with slots, which nobody changes. Two are equal if their class and all fields are."""

    __slots__: tuple[str, ...] = ()

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    __hash__ = None  # type: ignore[assignment]  # as of a dict, which some of them hold

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__slots__)
        return f"{type(self).__name__}({fields})"
