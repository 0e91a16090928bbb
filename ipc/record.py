"""The base of this folder's frozen values; imports nothing, because a hook pays for every import.

The standard library's dataclasses would do the same, but they import inspect: 12 to 17 ms, as long as the
interpreter itself takes to start, in every hook process.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

set_field = object.__setattr__
"""Sets a field once, in a constructor; later assignments are refused by the record."""


class Record:
    """A frozen value with slots. A subclass names its fields in `__slots__`, in its constructor's order.

    Two records are equal if their class and all fields are; a record's hash is the hash of its fields.
    """

    __slots__: tuple[str, ...] = ()

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is frozen: {name!r} can't be set")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is frozen: {name!r} can't be deleted")

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    def __hash__(self) -> int:
        return hash((type(self), *(getattr(self, name) for name in self.__slots__)))

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__slots__)
        return f"{type(self).__name__}({fields})"
