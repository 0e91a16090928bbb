"""The forms of secrets, and of what is none: texts of a line or a few, with what must not be shown.

The files hold no key that a scanner of repositories would take for one: keys are drawn when they are read,
and those of the held-out forms are kept backwards.
"""

from __future__ import annotations

import json
import random
import re
import string
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from foveal.daemon.privacy.secret_values import mask_secrets

DATA = Path(__file__).parent / "data"
PLACE = "¤"
"""Stands for the secret in a form's text."""

LETTERS = {
    "alnum": string.ascii_letters + string.digits,
    "alpha": string.ascii_letters,
    "low": string.ascii_lowercase + string.digits,
    "UPPER": string.ascii_uppercase + string.digits,
    "BECH": "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
    "b32": string.ascii_uppercase + "234567",
    "b58": "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz",
    "hex": "0123456789abcdef",
    "num": string.digits,
    "b64": string.ascii_letters + string.digits + "+/",
}
_DRAWN = re.compile(rf"<({'|'.join(LETTERS)}):(\d+)>")
_SHORTEST_PART = 6


@dataclass(frozen=True, slots=True)
class Form:
    """A text, and the secret in it; None where nothing in it is secret."""

    id: str
    context: str
    text: str
    secret: str | None

    def leaks(self, masked: str) -> bool:
        """Whether a masked text still has the secret, or more than half of it in one run."""
        secret = self.secret
        if secret is None:
            return False
        if self.text.count(secret) > 1:  # it is a word of the text as well
            return masked.count(secret) >= self.text.count(secret)
        size = max(len(secret) // 2 + 1, min(_SHORTEST_PART, len(secret)))
        parts = {secret[start : start + size] for start in range(len(secret) - size + 1)}
        around = self.text.replace(secret, "\0")  # half of a secret may be in its name as well
        return any(masked.count(part) > around.count(part) for part in parts)


def read_forms(name: str) -> list[Form]:
    """Return the forms of a file of `data`, the same each time."""
    rows = json.loads((DATA / name).read_text(encoding="utf-8"))
    return [_form(row) for row in rows]


def scored(forms: Sequence[Form]) -> tuple[list[Form], list[Form]]:
    """Return the forms whose secret passes unmasked, and those without one where something is masked."""
    masked = {form.id: mask_secrets(form.text) for form in forms}
    passed = [form for form in forms if form.leaks(masked[form.id].text)]
    return passed, [form for form in forms if form.secret is None and masked[form.id].count]


def _form(row: dict[str, str | None]) -> Form:
    draw = random.Random(row["id"])
    secret = row.get("secret") or (row.get("backwards") or "")[::-1] or None

    def drawn(text: str) -> str:
        return _DRAWN.sub(lambda one: "".join(draw.choices(LETTERS[one[1]], k=int(one[2]))), text)

    secret = secret and drawn(secret)
    text = drawn(str(row["text"]))
    return Form(str(row["id"]), str(row["context"]), text.replace(PLACE, secret or PLACE), secret)
