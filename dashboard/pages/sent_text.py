"""Owns the text that was sent: its parts in their order, and which characters of them are of which slice.

A page has each text once and to the byte, as one element whose text it is; slices are elements inside it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from markupsafe import Markup

from ..escaped import exact
from .slice_rows import SliceRow

ON_PAGE_MAX: Final = 130_000
"""Bytes of escaped texts on one page; longer ones are a link, so that no page gets slow."""

ITEM_PREFIXES: Final[Mapping[str, str]] = {"rule": "Rule: ", "reference": "Reference: "}
"""How the messages of items begin in the format `messages`, by the types of their slices."""

ROLES: Final[Mapping[str, str]] = {
    "system": "System prompt",
    "user": "Message of the user",
    "assistant": "Message of the assistant",
}


@dataclass(frozen=True)
class Text:
    """A text that was sent. `name` is how an address names it, `title` what it is.

    `pieces` are its parts in order, each with the number of the slice that it is of, None for what is of
    none; together they are the text. What takes time is worked out once, where it is asked for first.
    """

    name: str
    title: str
    pieces: tuple[tuple[str, int | None], ...]

    @cached_property
    def text(self) -> str:
        """The whole text, as it was sent."""
        return "".join(text for text, _ in self.pieces)

    @cached_property
    def bytes(self) -> int:
        """The size of the text in UTF-8."""
        return len(self.text.encode("utf-8", "replace"))

    @cached_property
    def lines(self) -> int:
        """How many lines it has."""
        text = self.text
        return text.count("\n") + (not text.endswith("\n"))

    @property
    def marked(self) -> Markup:
        """The text as the content of an element, with an element `part-N` for each slice."""
        return Markup("").join(
            exact(text)
            if at is None
            else Markup('<span class="part" id="part-{}">{}</span>').format(at, exact(text))
            for text, at in self.pieces
        )


def sent_texts(context: Mapping[str, Any], rows: Sequence[SliceRow]) -> list[Text]:
    """Return what was sent of a context, as GetBuiltContext gives it; nothing if its text isn't kept."""
    whole = context.get("context")
    if whole is None:
        return []
    if context["format"] == "json":
        return [Text("context", "The JSON document", tuple(_json_pieces(whole, rows)))]
    slices = [(whole[row.span[0] : row.span[1]], row.at) for row in _by_place(rows) if row.span]
    if context["format"] == "messages" and "messages" in context:
        return list(_messages(context, rows, slices))
    if "system_prompt" in context:
        system = Text("system_prompt", ROLES["system"], tuple(_pieces(context["system_prompt"], slices)))
        return [system, Text("user_prompt", ROLES["user"], ((context["user_prompt"], None),))]
    return [Text("context", "The context", tuple(_pieces(whole, slices)))]


def on_page(texts: Sequence[Text]) -> dict[str, Markup]:
    """Return the contents of the texts that a page has room for, by their names, the first ones first."""
    room, found = ON_PAGE_MAX, {}
    for text in texts:
        if text.bytes <= room and (size := len((content := text.marked).encode())) <= room:
            found[text.name] = content
            room -= size
    return found


def _messages(
    context: Mapping[str, Any], rows: Sequence[SliceRow], slices: Sequence[tuple[str, int]]
) -> Iterator[Text]:
    items = {f"{ITEM_PREFIXES[row.type]}{row.name}": row.at for row in rows if row.type in ITEM_PREFIXES}
    others = [(text, at) for text, at in slices if at not in items.values()]
    for number, message in enumerate(context["messages"]):
        content = message["content"]
        title = ROLES.get(message["role"], message["role"])
        head = content.partition("\n")[0]
        if head in items:
            yield Text(f"message-{number}", f"{title}: {head}", ((content, items.pop(head)),))
        elif message["role"] == "system":
            yield Text(f"message-{number}", title, tuple(_pieces(content, others)))
        else:
            yield Text(f"message-{number}", title, ((content, None),))
    if context.get("tools"):
        yield Text("tools", "Tools", ((json.dumps(context["tools"], indent=2, ensure_ascii=False), None),))


def _by_place(rows: Sequence[SliceRow]) -> list[SliceRow]:
    return sorted(rows, key=lambda row: row.span or (0, 0))


def _pieces(text: str, slices: Sequence[tuple[str, int]]) -> Iterator[tuple[str, int | None]]:
    """Yield a text in pieces: the slices' texts, which it has in this order, and what is between them."""
    at = 0
    for wanted, number in slices:
        found, end = _find(text, wanted, at)
        if found < 0:
            continue
        if found > at:
            yield text[at:found], None
        yield text[found:end], number
        at = end
    if at < len(text):
        yield text[at:], None


def _find(text: str, wanted: str, start: int) -> tuple[int, int]:
    """Return where a slice begins and ends in a text, -1 for nowhere. A template may strip the last one."""
    for form in (wanted, wanted.rstrip("\n")):
        found = text.find(form, start) if form else -1
        if found >= 0:
            return found, found + len(form)
    return -1, -1


def _json_pieces(text: str, rows: Sequence[SliceRow]) -> Iterator[tuple[str, int | None]]:
    """Yield a JSON document in pieces. No text inside can look like the beginning of a slice: its quotes are
    escaped."""
    starts = []
    for row in rows:
        head = json.dumps({"id": row.id}, ensure_ascii=False)[:-1]
        found = text.find(f"{head}, ")
        if found >= 0:
            starts.append((found, row.at))
    starts.sort()
    if not starts or starts[0][0]:
        yield text[: starts[0][0] if starts else len(text)], None
    ends = [start for start, _ in starts[1:]] + [len(text)]
    for (start, number), end in zip(starts, ends, strict=True):
        yield text[start:end], number
