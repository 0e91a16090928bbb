"""A page's table as a file: CSV for spreadsheets, JSON for programs."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from aiohttp import web

from ..hooks.http import to_json
from ..ipc.errors import INVALID_PARAMS, RpcError

FORMATS: Final[Mapping[str, str]] = {"csv": "text/csv", "json": "application/json"}
"""The values of `format` in an address, each with its content type."""

FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n")
"""How a text begins that a spreadsheet would run as a formula."""


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
        value = "; ".join(value)
    text = value if isinstance(value, str) else to_json(value).decode()
    return f"'{text}" if text.startswith(FORMULA) else text
