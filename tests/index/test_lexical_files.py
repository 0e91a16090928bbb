"""The files of a lexical index say whether they are whole, which segments they are and what these hold."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from foveal.daemon.index.lexical_files import (
    LISTING,
    LexicalDamaged,
    check_files,
    read_listing,
)

NAME = "0123456789abcdef0123456789abcdef"
SEGMENT = {"segment_id": "01234567-89ab-cdef-0123-456789abcdef", "max_doc": 9, "deletes": None}
SCHEMA = [{"name": "body", "type": "text", "options": {"indexing": {"tokenizer": "format-7"}}}]


def write_listing(folder: Path, **changes: object) -> None:
    listing = {"segments": [SEGMENT], "schema": SCHEMA, "opstamp": 1} | changes
    (folder / LISTING).write_text(json.dumps(listing))


@pytest.mark.parametrize(
    "content",
    [
        b"", b"{", b"\xff\xfe", b"null", b"[]", b"7", b'{"segments": []}', b"[" * 100_000,
        b'{"segments": [], "schema": []}',
        b'{"segments": {}, "schema": 3}',
        json.dumps({"segments": [{}], "schema": SCHEMA}).encode(),
        json.dumps({"segments": [SEGMENT | {"max_doc": "many"}], "schema": SCHEMA}).encode(),
        json.dumps({"segments": [SEGMENT | {"deletes": []}], "schema": SCHEMA}).encode(),
        json.dumps({"segments": [], "schema": [{"name": "body", "options": None}]}).encode(),
    ],
)  # fmt: skip
def test_a_listing_that_cannot_be_read_is_damage(tmp_path: Path, content: bytes) -> None:
    (tmp_path / LISTING).write_bytes(content)
    with pytest.raises(LexicalDamaged):
        read_listing(str(tmp_path))


@pytest.mark.parametrize("name", [f"{NAME}.term", "other", ".managed.json", ".tantivy-writer.lock"])
def test_a_pipe_among_the_files_is_damage_and_does_not_block(tmp_path: Path, name: str) -> None:
    write_listing(tmp_path)
    os.mkfifo(tmp_path / name)
    with pytest.raises(LexicalDamaged, match="is no file"):
        check_files(str(tmp_path), read_listing(str(tmp_path)))
