"""What a name in a question means: definitions, files, or a module outside of the project."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from ..index.link_table import Definition
from .found import Certainty

MEANT_MAX: Final = 500
"""Maximum number of definitions of a name examined."""

LISTED_MAX: Final = 5
"""Maximum number of definitions offered to the caller to choose from."""


class Meaning(Struct, frozen=True):
    """The meaning of a name. `name` is its last part, as links record it.

    `definitions` has at most `MEANT_MAX` of `total`. `files` are the files that a path, file name or module
    means. `module` is the part before the last, if it is outside of the project (`subprocess` of
    `subprocess.run`). `guess` says that a similar name was taken instead, and `remarks` which; `near` are
    suggestions for an unknown name.
    """

    written: str
    name: str
    definitions: tuple[Definition, ...] = ()
    total: int = 0
    files: tuple[str, ...] = ()
    module: str = ""
    external: bool = False
    guess: bool = False
    remarks: tuple[str, ...] = ()
    near: tuple[str, ...] = ()

    @property
    def known(self) -> bool:
        """Whether the name has any meaning."""
        return bool(self.definitions or self.files or self.external)

    @property
    def certainty(self) -> Certainty:
        """The highest certainty of answers for this meaning."""
        return "name" if self.guess else "resolved"

    @property
    def ids(self) -> list[int]:
        """The ids of its definitions."""
        return [each.id for each in self.definitions]


def several(meaning: Meaning) -> str:
    """Return a remark if a name has several definitions, else an empty string."""
    if meaning.total < 2:
        return ""
    names = [f"{each.path}#{each.symbol.name}" for each in meaning.definitions[:LISTED_MAX]]
    dots = ", …" if meaning.total > LISTED_MAX else ""
    most = f", of which {MEANT_MAX:,} are looked at" if meaning.total > MEANT_MAX else ""
    return (
        f"`{meaning.written}` has {meaning.total:,} definitions{most}; to mean one, say its class, its file"
        f" or its node id: {', '.join(names)}{dots}"
    )
