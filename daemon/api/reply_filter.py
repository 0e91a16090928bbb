"""Filters replies, events and errors by the marks of what they show, as an agent may see them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, get_args

from msgspec import Struct
from msgspec.structs import replace

from ..core.errors import FovealError, InvalidRequest, OutsideProject
from ..memory.service import names_file
from ..privacy.policy import Policy
from ..privacy.secret_gate import texts_in
from ..rules.records import ItemType
from .marks import Leaf, ListOf, MapOf, RecordOf, Shape, Shows
from .method import WireMap

WITHHELD = "what was sent isn't given to an agent from whom something is hidden"

GONE = object()
"""The value of what is hidden as a whole."""


def nobody(owner: str) -> bool:
    """Say that an agent sees less than any owner of sessions."""
    return False


class ReplyFilter(Struct, frozen=True):
    """What an agent may see of a project: its policy, and the items hidden from it, as (type, name, server).

    `sees_all_of` says whether it may see all that the owner of a session or scope may; `own` whether that
    holds for the owner of what was asked about. With `masks` false texts stay as they were sent.
    """

    policy: Policy
    root: str
    denied_items: frozenset[tuple[str, str, str]] = frozenset()
    sees_all_of: Callable[[str], bool] = nobody
    own: bool = False
    masks: bool = True
    projects: Mapping[str, ReplyFilter | None] | None = None
    """For a list over projects the filter of each, None for one that is hidden as a whole."""

    @property
    def changes_anything(self) -> bool:
        """Whether anything is hidden, or texts are to be masked."""
        return self.masks or self._hides_something or self.projects is not None

    @property
    def is_limited(self) -> bool:
        """Whether rules hide anything from the agent. Items with a file of secrets are hidden from all."""
        return self.policy.is_limited

    @property
    def _hides_something(self) -> bool:
        return bool(self.denied_items) or self.policy.is_limited

    def reply(self, shape: RecordOf, reply: Mapping[str, Any]) -> WireMap | None:
        """Return the part of a reply that the agent may see, None if what it is about is hidden. Fields keep
        their names and types."""
        if not self.changes_anything:
            return dict(reply)
        found = self._record(shape, reply, "")
        return None if found is GONE else found

    def of_text(self, text: str) -> str:
        """Return a text, empty if it names something hidden."""
        if self.hides_text(text):
            return ""
        return self.policy.mask(text) if self.masks else text

    def hides_text(self, text: str) -> bool:
        """Whether a text is, or contains, a hidden path or node id."""
        policy = self.policy
        if self.projects is not None:
            return any(self._names_hidden(root, text) for root in self.projects)
        if not policy.denies_paths:
            return False
        path = text.removeprefix(f"{self.root.rstrip('/')}/")
        return (
            policy.denies(path)
            or policy.denies(path.partition("#")[0])
            or policy.names_denied(text, self.root)
        )

    def _names_hidden(self, root: str, text: str) -> bool:
        """Whether a text in a list over projects names a hidden one, or what is hidden there."""
        assert self.projects is not None
        shown = self.projects[root]
        return root in text if shown is None else shown.hides_text(text)

    def error(self, error: FovealError) -> FovealError:
        """Return an error of the same kind whose message names nothing hidden."""
        message = str(error)
        # A path out of the project is denied or not by what is linked, which the answer must not tell.
        shown = message if isinstance(error, OutsideProject) else self.of_text(message)
        if shown == message:
            return error
        shown = shown or "this can't be answered for this agent: it would name what is hidden from it"
        if isinstance(error, InvalidRequest):
            return InvalidRequest(shown, error.field)
        return type(error)(shown)

    # The parts of a reply

    def value(self, shape: Shape, value: Any, server: str = "") -> Any:
        """Return the visible part of a value, or `GONE`."""
        match shape:
            case Leaf(shows=shows):
                return self._leaf(shows, value)
            case ListOf(entry=entry) if isinstance(value, list | tuple):
                kept = (part for part in value if not (isinstance(part, str) and self._hides(entry, part)))
                return [left for part in kept if (left := self.value(entry, part, server)) is not GONE]
            case MapOf(key=key, value=inner) if isinstance(value, Mapping):
                shown = {name: part for name, part in value.items() if not self._hides(key, name)}
                left = {name: self.value(inner, part, server) for name, part in shown.items()}
                return {name: part for name, part in left.items() if part is not GONE}
            case RecordOf() if isinstance(value, Mapping):
                return self._record(shape, value, server)
        return value  # null where the type allows it

    def _leaf(self, shows: Shows, value: Any) -> Any:
        match shows:
            case Shows.PLAIN:
                return value
            case Shows.COUNT:
                return _zero(value) if self.is_limited else value
            case Shows.SAID if self.is_limited and not self.own:
                return _empty(value)
            case Shows.SENT:
                return GONE if self.is_limited else value
        return self._deep(value)

    def _deep(self, value: Any) -> Any:
        """Return a value without the texts that name something hidden, however deep they lie."""
        if isinstance(value, str):
            return self.of_text(value)
        if isinstance(value, Mapping):
            return {name: self._deep(part) for name, part in value.items() if not self._is_hidden_text(name)}
        if isinstance(value, list | tuple):
            return [self._deep(part) for part in value if not self._is_hidden_text(part)]
        return value

    def _hides(self, shape: Shape, text: str) -> bool:
        """Whether an entry of a list or a key of a map is hidden."""
        if not isinstance(shape, Leaf):
            return False
        if shape.shows is Shows.SAID and self.is_limited and not self.own:
            return True
        return shape.shows not in (Shows.PLAIN, Shows.COUNT) and self.hides_text(text)

    def _is_hidden_text(self, value: Any) -> bool:
        return isinstance(value, str) and self.hides_text(value)

    def _record(self, shape: RecordOf, value: Mapping[str, Any], server: str) -> Any:
        if self.projects is not None and (roots := [value.get(each) for each in shape.marked(Shows.PROJECT)]):
            inner = self.projects.get(roots[0] or "")
            if inner is None:
                return GONE
            return inner._record(shape, value, server) if inner.changes_anything else value
        owners = [value.get(name) or "" for name in shape.marked(Shows.OWNER)]
        if owners:
            return replace(self, own=self.sees_all_of(owners[0]))._fields(shape, value, server)
        return self._fields(shape, value, server)

    def _fields(self, shape: RecordOf, value: Mapping[str, Any], server: str) -> Any:
        servers = [value[name] for name in shape.marked(Shows.SERVER) if value.get(name)]
        server = servers[0] if servers else server
        if self._is_about_hidden(shape, value, server):
            return GONE
        found: WireMap = {}
        for name, part in value.items():
            inner = shape.fields.get(name)
            if inner is None:  # nothing says what it shows
                continue
            left = self.value(inner, part, server)
            if left is not GONE:
                found[name] = left
            elif isinstance(inner, RecordOf):  # what it is about is hidden
                return GONE
        if self.is_limited and shape.marked(Shows.SENT) and len(found) < len(value):
            found |= dict.fromkeys(shape.marked(Shows.REMARK), WITHHELD)
        return found

    def _is_about_hidden(self, shape: RecordOf, value: Mapping[str, Any], server: str) -> bool:
        """Whether the subject of a map (a file, an item, a decision) is hidden as a whole."""
        if not self._hides_something:
            return False
        if any(self._is_hidden_text(value.get(name)) for name in shape.marked(Shows.FILE)):
            return True
        for name in shape.marked(Shows.ITEM_NAME):
            kinds = [value[kind] for kind in shape.marked(Shows.ITEM_TYPE) if kind in value]
            if value.get(name) and self._hides_item(kinds[0] if kinds else "tool", value[name], server):
                return True
        for name in shape.marked(Shows.SLICE):
            kind, colon, item = str(value.get(name)).partition(":")
            if colon and kind in get_args(ItemType):
                of_server, slash, tool = item.partition("/")
                named = (tool, of_server) if slash and kind == "tool" else (item, "")
                if self._hides_item(kind, *named):
                    return True
            elif self._is_hidden_text(value.get(name)):
                return True
        return self._is_hidden_decision(shape, value)

    def _hides_item(self, kind: str, name: str, server: str) -> bool:
        if (kind, name, server) in self.denied_items or self.policy.denies_item(kind, name, server):
            return True
        return kind != "tool" and self.hides_text(name)

    def _is_hidden_decision(self, shape: RecordOf, value: Mapping[str, Any]) -> bool:
        files = [path for name in shape.marked(Shows.TOUCHED) for path in value.get(name) or ()]
        hidden = [path for path in files if self.hides_text(path)]
        if hidden and len(hidden) == len(files):
            return True
        return any(
            self.hides_text(text) or names_file(text, hidden) for text in _texts_of(shape, value, Shows.CLAIM)
        )


def roots_in(shape: Shape, value: Any) -> Iterator[str]:
    """Yield the projects that a reply names."""
    if isinstance(shape, ListOf) and isinstance(value, list | tuple):
        for part in value:
            yield from roots_in(shape.entry, part)
    if isinstance(shape, RecordOf) and isinstance(value, Mapping):
        for name, inner in shape.fields.items():
            if not isinstance(inner, Leaf):
                yield from roots_in(inner, value.get(name))
            elif inner.shows is Shows.PROJECT and value.get(name):
                yield value[name]


def texts_masked(shape: Shape, value: Any) -> Iterator[str]:
    """Yield the texts of a reply in which secrets are masked: none of its plain fields, such as times."""
    if isinstance(shape, RecordOf) and isinstance(value, Mapping):
        for name, inner in shape.fields.items():
            if part := value.get(name):
                yield from texts_masked(inner, part)
    elif isinstance(shape, ListOf) and isinstance(value, list | tuple):
        for part in value:
            yield from texts_masked(shape.entry, part)
    elif not isinstance(shape, Leaf) or shape.shows not in (Shows.PLAIN, Shows.COUNT):
        yield from texts_in(value)


def _texts_of(shape: Shape, value: Any, shows: Shows) -> Iterator[str]:
    """Yield the texts with a mark in a value, however deep they lie."""
    if isinstance(shape, Leaf) and shape.shows is shows and isinstance(value, str):
        yield value
    elif isinstance(shape, RecordOf) and isinstance(value, Mapping):
        for name, inner in shape.fields.items():
            yield from _texts_of(inner, value.get(name), shows)


def _zero(value: Any) -> Any:
    """Return a value of the same type whose numbers are 0."""
    if isinstance(value, bool | str | None):
        return value
    if isinstance(value, int | float):
        return type(value)(0)
    if isinstance(value, Mapping):
        return {name: _zero(part) for name, part in value.items()}
    return [_zero(part) for part in value]


def _empty(value: Any) -> Any:
    """Return an empty value of the same type."""
    return None if value is None else type(value)()
