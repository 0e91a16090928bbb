"""Owns what an event is answered with before it has a host's form: how much room there is, and the tag."""

from __future__ import annotations

import re

from msgspec import Struct

CONTEXT_TAG = "foveal-context"
"""What stands in this element is ours; the reader of transcripts takes exactly it out."""

_OPENING, _CLOSING = f"<{CONTEXT_TAG}>\n", f"\n</{CONTEXT_TAG}>"
_FORGED = re.compile(rf"<(?=[\s/]*{CONTEXT_TAG}\b)", re.IGNORECASE)
_CUT = "\n(The rest was left out for its length.)"


class OutputLimit(Struct, frozen=True):
    """How much text an event's answer may bring to the model, in characters and bytes; in tokens where the
    host counts those. Without characters the host takes none."""

    characters: int = 0
    tokens: int | None = None


class HookAnswer(Struct, frozen=True):
    """What goes to the model, wrapped already, and one line for the user; each may be empty."""

    context: str = ""
    message: str = ""


NO_ROOM = OutputLimit()
NOTHING = HookAnswer()


def text_room(room: OutputLimit) -> int:
    """Return how many characters are left for the text between the tags."""
    return max(0, room.characters - len(_OPENING) - len(_CLOSING) - len(_CUT))


def wrapped(text: str, room: OutputLimit) -> str:
    """Return a text between the tags, cut at a line where it is too long; nothing where there is nothing.

    Tags inside of the text, which may come from anywhere, are none any more: it can't end the element.
    """
    text = _FORGED.sub("&lt;", text.strip("\n"))
    most = text_room(room)
    if not text.strip() or not most:
        return ""
    if len(text) > most:
        head = text[:most]
        text = (head.rpartition("\n")[0] or head) + _CUT
    return f"{_OPENING}{text}{_CLOSING}"
