"""The answer of a hook to a host: text for the model, a line for the user, and the limits of both."""

from __future__ import annotations

import json
from collections.abc import Mapping

from msgspec import Struct


class OutputLimit(Struct, frozen=True):
    """Maximum text for the model in characters, and in tokens if the host counts those.

    Without characters the host takes no text. `lead` is the text's first line, where the host puts the text
    so that a model needs one; it counts.
    """

    characters: int = 0
    tokens: int | None = None
    lead: str = ""


class HookAnswer(Struct, frozen=True):
    """Text for the model, already wrapped in its tag, and one line for the user; each may be empty."""

    context: str = ""
    message: str = ""


_LEFT = "\N{SINGLE LEFT-POINTING ANGLE QUOTATION MARK}"
_RIGHT = "\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK}"
_ANGLES = (("->", "→"), ("=>", "⇒"), ("<", _LEFT), (">", _RIGHT))
_ANGLES_NOTE = f"({_LEFT} and {_RIGHT} are the angle brackets of the code.)"


def without_angles(text: str) -> str:
    """Return a text without `<` and `>`, which some hosts turn into entities.

    Tags get square brackets, arrows become characters, and other brackets are explained.
    """
    if not text:
        return text
    opening, _, rest = text.partition("\n")
    inside, _, closing = rest.rpartition("\n")
    for angles, other in _ANGLES:
        inside = inside.replace(angles, other)
    if _LEFT in inside or _RIGHT in inside:
        inside = f"{_ANGLES_NOTE}\n{inside}"
    tags = (tag.replace("<", "[").replace(">", "]") for tag in (opening, closing))
    return f"{next(tags)}\n{inside}\n{next(tags)}"


NO_OUTPUT = OutputLimit()
NOTHING = HookAnswer()


def json_line(fields: Mapping[str, object]) -> str:
    """Return a JSON object on one line, in ASCII whatever the locale; "" for an empty object."""
    return json.dumps(fields, separators=(",", ":")) if fields else ""
