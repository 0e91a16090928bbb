"""The records of call sites and of what a tool says that they call; knows neither tool nor product.

Names of definitions are qualified as in the source (`Session.login`, `outer.inner`), without the numbers that
the product gives to twins. Paths are relative to the project, with slashes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Site(NamedTuple):
    """One call whose callee ends in a name: where that name stands, and how the callee is written.

    `line` and `column` count from 1 and 0, the column in UTF-16 units. `kind` is `call`, or `decorate` for a
    decorator that isn't called itself. `form` names what stands before the name, see python_sites.py; it says
    why a miss was missed. `code` is the callee as written, cut at 60 characters.
    """

    path: str
    line: int
    column: int
    name: str
    kind: str
    form: str
    code: str


class Target(NamedTuple):
    """A definition: `line` is the one that its name stands in, `kind` `function`, `class` or `variable`."""

    path: str
    line: int
    name: str
    kind: str

    @property
    def key(self) -> tuple[str, str]:
        """What makes two targets the same: twins (overloads, branches) are one, a class its constructor, and
        a stub what it describes."""
        path = self.path.removesuffix("i") if self.path.endswith(".pyi") else self.path
        return path, constructed(self.name)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a tool says of a site.

    `outcome` is `project` if it leads to functions or classes of the project, all of them in `targets` (a
    union has several); `variable` if to a variable, an attribute or a parameter, of which `also` holds what
    it can be followed to; `external` if out of the project; `unknown` if the tool doesn't say.
    """

    outcome: str
    targets: tuple[Target, ...] = ()
    also: tuple[Target, ...] = ()

    def accepts(self, target: Target) -> bool:
        """Whether this definition is one that the site can be said to call."""
        if self.outcome == "project":
            return any(target.key == each.key for each in (*self.targets, *self.also))
        if self.outcome == "variable":
            path, name = target.key
            name = name.removesuffix(".__call__")
            return any((path, name) == each.key for each in (*self.targets, *self.also))
        return False


def constructed(name: str) -> str:
    """Return the class in place of its constructor: a call names the one, and a tool may answer the other."""
    holder, _, last = name.rpartition(".")
    return holder if holder and last in _CONSTRUCTORS else name


def last_name(name: str) -> str:
    """Return the last part of a qualified name, after `constructed`."""
    return constructed(name).rpartition(".")[2]


_CONSTRUCTORS = frozenset({"__init__", "__new__", "constructor"})
