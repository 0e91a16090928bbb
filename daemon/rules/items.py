"""Items (rules, references and tools with an include mode), their keys, their texts, and the plan of a
request."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from typing import Literal, cast, get_args

from msgspec import Struct

from ..core.errors import InvalidRequest
from ..core.globs import compile_glob
from ..core.system import Stamp

ItemType = Literal["rule", "reference", "tool"]
IncludeMode = Literal["always", "manual", "agent", "glob"]
Owner = Literal["administrator", "user", "project", "stored"]
"""Who wrote an item: the user and the administrator in files outside of the project, the project in its own
files, or a client that put it into foveal's store."""


class Item(Struct, frozen=True):
    """A rule, reference or tool of a project.

    `name` is unique within its type, a tool's within its server; for an instruction file it is the path
    relative to the root, or with `~/` for a file in the user's home. `source` is the absolute path of its
    file or the source that a client named, `line` its first line there. `globs` are POSIX patterns relative
    to the project root, for the mode `glob`. Items are sorted by `priority_level`, from 1 to 999, lowest
    first. `text` is the shown text of a rule or a reference, and the JSON schema of a tool's input if it has
    one.
    """

    type: ItemType
    name: str
    include: IncludeMode
    text: str
    source: str
    line: int = 1
    description: str = ""
    globs: tuple[str, ...] = ()
    priority_level: int = 500
    stamp: Stamp | None = None
    """The stamp of the source file when it was read, to notice later changes."""
    server_name: str = ""
    """The MCP server of a tool; empty for rules and references."""
    parts: tuple[str, ...] = ()
    """The real paths of the files that an instruction file's text was read from, imports included, absolute
    and sorted."""
    owner: Owner = "project"
    """Set where the item is read, never by what its file says. The default trusts least."""


def has_harmful(text: str) -> bool:
    """Tell whether a text has characters that fake or hide text: control characters but line feed and tab,
    other line breaks, characters that reorder a line, and halves of surrogate pairs."""
    return not text.isprintable() and _HARMFUL.search(text) is not None


def one_line(field: str, text: str, maximum: int) -> str:
    """Return a text on one line with single spaces. Raises `InvalidRequest` above `maximum` characters."""
    return _limited(field, " ".join(_cleaned(text).split()), maximum)


def some_lines(field: str, text: str, maximum: int) -> str:
    """Return a text of several lines, stripped. Raises `InvalidRequest` above `maximum` characters."""
    lines = (line.rstrip() for line in _cleaned(text).split("\n"))
    return _limited(field, "\n".join(lines).strip(), maximum)


_HARMFUL = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufff9-\ufffb\U000e0000-\U000e007f]"
)


def _cleaned(text: str) -> str:
    """Replace harmful characters by U+FFFD and every kind of line break by a line feed."""
    if text.isprintable():  # the usual case; nothing that is replaced is printable
        return text
    return _HARMFUL.sub("\ufffd", re.sub(r"\r\n?|[\x85\u2028\u2029]", "\n", text))


def _limited(field: str, text: str, maximum: int) -> str:
    if len(text) > maximum:
        raise InvalidRequest(f"{field} is longer than {maximum:,} characters; shorten it", field)
    return text


MAX_NAME_CHARACTERS = 1_000
"""Maximum length of an item's or a server's name: an instruction file's name is a path, mostly a third as
long."""


class ItemKey(Struct, frozen=True, order=True, omit_defaults=True):
    """The identity of an item: type, name and, for a tool, the server that offers it.

    `server_name` is empty for rules and references.
    """

    type: ItemType
    name: str
    server_name: str = ""

    def __str__(self) -> str:
        """Return the key in words: `rule AGENTS.md`, `tool search of github`."""
        of_server = f" of {self.server_name}" if self.server_name else ""
        return f"{self.type} {self.name:.200}{of_server:.200}"


def key_of(item: Item) -> ItemKey:
    """Return the key of an item."""
    return ItemKey(item.type, item.name, item.server_name)


def item_key(kind: str, name: str, server_name: str = "") -> ItemKey:
    """Return the key of the given fields. Raises `InvalidRequest` with the unusable field."""
    if kind not in get_args(ItemType):
        raise InvalidRequest(f"type must be one of {', '.join(get_args(ItemType))}, not {kind!r:.60}", "type")
    _check_name("name", name)
    if kind == "tool":
        if not server_name:
            raise InvalidRequest(
                "server_name is missing; a tool is named with the server it is of", "server_name"
            )
        _check_name("server_name", server_name)
    elif server_name:
        raise InvalidRequest(f"server_name belongs to tools only; leave it out for a {kind}", "server_name")
    return ItemKey(cast("ItemType", kind), name, server_name)


def _check_name(field: str, name: str) -> None:
    if not name.strip():
        raise InvalidRequest(f"{field} must not be empty", field)
    if len(name) > MAX_NAME_CHARACTERS:
        raise InvalidRequest(f"{field} is longer than {MAX_NAME_CHARACTERS:,} characters", field)
    if has_harmful(name) or "\n" in name:
        raise InvalidRequest(f"{field} holds control characters; leave them out", field)


class PlannedItem(Struct, frozen=True):
    """An item of a request, its include mode there, and the score if a search chose it."""

    item: Item
    include: IncludeMode
    score: float | None = None

    @property
    def slice_id(self) -> str:
        """The id of its slice, unique within a context."""
        of_server = f"{self.item.server_name}/" if self.item.server_name else ""
        return f"{self.item.type}:{of_server}{self.item.name}"


class LeftOutItem(Struct, frozen=True):
    """An item that a search considered and left out, with its score and the reason."""

    item: Item
    score: float
    reason: str


class ItemPlan(Struct, frozen=True):
    """The items of one request, in order. Items of mode `glob` are included if a file in focus matches.

    The plan is made before the context; only what depends on the focus is left to the build. `files` are
    absolute paths that a session names; those in the project are shown if there is room. `removed` are items
    that a person removed from the session. `gaps` and `degraded` say in words what is missing and what could
    not be searched.
    """

    items: tuple[PlannedItem, ...] = ()
    left_out: tuple[LeftOutItem, ...] = ()
    files: tuple[str, ...] = ()
    gaps: tuple[str, ...] = ()
    degraded: tuple[str, ...] = ()
    removed: tuple[Item, ...] = ()

    def entering(self, focus: Collection[str]) -> list[PlannedItem]:
        """Return the items that are included when these paths, existing or not, are in focus."""
        return [item for item in self.items if item.include != "glob" or matches(item.item, focus)]


def plan_without_session(items: Iterable[Item]) -> ItemPlan:
    """Return the plan without a session: the items of mode `always`, and those that match the focus."""
    wanted = (item for item in items if item.include in {"always", "glob"})
    return ItemPlan(tuple(PlannedItem(item, item.include) for item in wanted))


def matches(item: Item, paths: Collection[str]) -> bool:
    """Whether one of these paths, relative to the root, matches a pattern of an item."""
    return any(glob.matches(path) for glob in map(compile_glob, item.globs) for path in paths)


CHUNK_CHARACTERS = 500
"""Maximum characters of a chunk: about 110 tokens of English; the bundled model reads 128."""

MAX_CHUNKS = 64
"""Maximum chunks of a text: 32,000 characters, as the longest instruction files have. The rest isn't
searched."""


def item_text(item: Item) -> str:
    """Return the searched text of an item: `name: description`, an empty line, and its text.

    For a tool it is name and description only: its text is a schema, which has few words.
    """
    head = f"{item.name}: {item.description}" if item.description else item.name
    return head if item.type == "tool" or not item.text.strip() else f"{head}\n\n{item.text}"


def chunks(text: str) -> tuple[str, ...]:
    """Cut a text into chunks of at most `CHUNK_CHARACTERS` characters; a blank text has none.

    Paragraphs stay whole and share chunks; a long paragraph is cut after sentences and lines, and a long
    sentence at a space, or anywhere. At most `MAX_CHUNKS` are returned. Takes linear time.
    """
    # Cut first, as a hostile text may have any size; each chunk leaves out some spaces.
    paragraphs = _PARAGRAPHS.split(text[: 2 * MAX_CHUNKS * CHUNK_CHARACTERS].strip())
    return tuple(_packed(_pieces(paragraphs)))[:MAX_CHUNKS]


_PARAGRAPHS = re.compile(r"\n[^\S\n]*\n\s*")
_SENTENCES = re.compile(r"(?<=[.!?])[^\S\n]+|(?<=[。！？])|\n")  # noqa: RUF001 - the full stops of East Asia


def _pieces(paragraphs: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the pieces that stay whole, each with the separator before it."""
    for paragraph in paragraphs:
        joint = "\n\n"
        if len(paragraph) <= CHUNK_CHARACTERS:
            yield joint, paragraph
            continue
        for sentence in _sentences(paragraph):
            for part in _cut(sentence):
                yield joint, part
                joint = ""


def _sentences(paragraph: str) -> Iterator[str]:
    """Yield sentences and lines with the white space after them."""
    start = 0
    for match in _SENTENCES.finditer(paragraph):
        yield paragraph[start : match.end()]
        start = match.end()
    yield paragraph[start:]


def _cut(sentence: str) -> Iterator[str]:
    start = 0
    while len(sentence) - start > CHUNK_CHARACTERS:
        # In the first half there is a space only where what follows is no prose.
        space = sentence.rfind(" ", start + CHUNK_CHARACTERS // 2, start + CHUNK_CHARACTERS)
        end = start + CHUNK_CHARACTERS if space < 0 else space + 1
        yield sentence[start:end]
        start = end
    yield sentence[start:]


def _packed(pieces: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Fill chunks with pieces in their order."""
    chunk = ""
    for joint, piece in pieces:
        joined = f"{chunk}{joint}{piece}" if chunk else piece
        if len(joined.rstrip()) <= CHUNK_CHARACTERS:
            chunk = joined
            continue
        if chunk.strip():
            yield chunk.strip()
        chunk = piece
    if chunk.strip():
        yield chunk.strip()
