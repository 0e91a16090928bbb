"""A page's table as a file: CSV for spreadsheets, JSON for programs."""

from __future__ import annotations

import csv
import io
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from aiohttp import web

from ..hooks.http import to_json
from ..ipc.errors import INVALID_PARAMS, RpcError

FORMATS: Final[Mapping[str, str]] = {"csv": "text/csv", "json": "application/json"}
"""The values of `format` in an address, each with its content type."""

FORMULA: Final = frozenset("=+-@\N{MINUS SIGN}")
"""How a text begins that a spreadsheet would run as a formula: its first visible character, in its plain
form. Spreadsheets pass over what stands before it, and take wide and small forms for the same."""

MARK: Final = "'"
"""What marks a cell as a text. A text that begins with it gets another one, so that removing one from each
cell that begins with it gives all texts back."""

INVISIBLE: Final = frozenset({"Cc", "Cf", "Mn", "Me", "Zl", "Zp", "Zs"})
"""Unicode categories of what nobody sees: controls, zero-width characters and marks, white space."""


def exported(
    request: web.Request, columns: Sequence[str], rows: Iterable[Mapping[str, Any]]
) -> web.Response | None:
    """Return the whole table as the file that the address asks for by `format`, or None for the page.

    A row is a mapping by column; a missing value is empty. JSON is a list of objects. Raises `RpcError` for
    an unknown format.
    """
    wanted = request.query.get("format", "")
    if not wanted:
        return None
    if wanted not in FORMATS:
        raise RpcError(INVALID_PARAMS, f"format is one of {', '.join(FORMATS)}, not {wanted!r:.40}")
    name = "-".join(["foveal", *request.path.strip("/").split("/")[:1]]).strip("-")
    body = _csv(columns, rows) if wanted == "csv" else _json(columns, rows)
    return web.Response(
        body=body,
        content_type=FORMATS[wanted],
        charset="utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}.{wanted}"'},
    )


def _json(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> bytes:
    return to_json([{column: row.get(column) for column in columns} for row in rows])


def _csv(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> bytes:
    """Return RFC 4180: a line of names, then a line for each row."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(columns)
    writer.writerows([_cell(row.get(column)) for column in columns] for row in rows)
    return text.getvalue().encode("utf-8", "replace")


def _cell(value: Any) -> str | float:
    """Return a value as a spreadsheet shows it: text is marked where it would be a formula."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (int, float)):
        return value
    if isinstance(value, (list, tuple)) and all(isinstance(part, str) for part in value):
        return "; ".join(map(_marked, value))  # each, where `;` separates cells
    return _marked(value if isinstance(value, str) else to_json(value).decode())


def _marked(text: str) -> str:
    return f"{MARK}{text}" if _needs_mark(text) else text


def _needs_mark(text: str) -> bool:
    """Whether a spreadsheet might run a text as a formula, or take a mark of its own for ours."""
    if text.startswith(("\t", "\r", "\n")):
        return True
    for character in text:
        if unicodedata.category(character) not in INVISIBLE:
            return unicodedata.normalize("NFKC", character)[0] in FORMULA or character == MARK
    return False
