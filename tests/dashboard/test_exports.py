"""A table is exported whole, and no cell of it runs in a spreadsheet."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest
from aiohttp.test_utils import make_mocked_request
from foveal.dashboard.exports import exported
from foveal.ipc.errors import INVALID_PARAMS, RpcError

ROWS: list[dict[str, Any]] = [
    {"path": "src/ä b.py", "tokens": 1200, "share": 0.5, "used": True, "by": ["read", "edited"]},
    {"path": 'a "quoted", name\nof two lines', "tokens": -3, "share": None, "used": False, "by": []},
]
COLUMNS = ("path", "tokens", "share", "used", "by", "missing")


def body(address: str, rows: list[dict[str, Any]] = ROWS) -> bytes:
    response = exported(make_mocked_request("GET", address), COLUMNS, rows)
    assert response is not None
    assert isinstance(response.body, bytes)
    return response.body


def cells(address: str, rows: list[dict[str, Any]] = ROWS) -> list[list[str]]:
    return list(csv.reader(io.StringIO(body(address, rows).decode("utf-8"), newline="")))


def test_a_page_without_a_format_is_a_page() -> None:
    assert exported(make_mocked_request("GET", "/usage?by=day"), COLUMNS, ROWS) is None


def test_csv_has_a_line_of_names_and_each_row() -> None:
    assert cells("/usage?format=csv") == [
        list(COLUMNS),
        ["src/ä b.py", "1200", "0.5", "yes", "read; edited", ""],
        ['a "quoted", name\nof two lines', "-3", "", "no", "", ""],
    ]


SIGNS = "=+-@" + "＝＋－＠﹦﹢﹣﹫−"  # noqa: RUF001 - the forms that look like them
BEFORE = (
    "",
    " ",
    "\ufeff",
    "\u200b",
    "\u2060\u00ad",
    "\u3000",
    "\xa0",
    "\x00",
    "\x1b",
    "\u202e",
    "\ufe0f",
    " \ufeff\t",
)


@pytest.mark.parametrize("sign", SIGNS)
def test_no_text_is_a_formula(sign: str) -> None:
    for before in BEFORE:
        text = f"{before}{sign}HYPERLINK(1)"
        _, row = cells("/usage?format=csv", [{"path": text, "by": [text, "a", text]}])
        assert (row[0], row[4]) == (f"'{text}", f"'{text}; a; '{text}")


@pytest.mark.parametrize("begins", ["\t", "\r", "\n", "'"])
def test_a_text_that_begins_like_a_cell_or_a_mark_is_marked(begins: str) -> None:
    _, row = cells("/usage?format=csv", [{"path": f"{begins}a"}])
    assert row[0] == f"'{begins}a"


def test_other_texts_and_numbers_stay() -> None:
    texts = ["a=b", "src/-x.py", "é", "1-2", "“=”", "", "[]"]
    rows = [{"path": text, "tokens": -3, "share": -0.5} for text in texts]
    assert [row[:3] for row in cells("/usage?format=csv", rows)[1:]] == [
        [text, "-3", "-0.5"] for text in texts
    ]


def test_json_keeps_types_and_gives_every_column() -> None:
    first, second = json.loads(body("/usage?format=json"))
    assert first == {**ROWS[0], "missing": None}
    assert list(second) == list(COLUMNS)


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(RpcError, match="format is one of csv, json") as refused:
        exported(make_mocked_request("GET", "/usage?format=xls"), COLUMNS, ROWS)
    assert refused.value.code == INVALID_PARAMS
