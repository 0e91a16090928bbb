"""Owns the ledger of an earlier version: requests are taken over at once, what was sent moves later."""

from __future__ import annotations

import hashlib
import json
import os
import zlib
from collections.abc import Iterator
from contextlib import suppress

from ..core.quarantine import clear_file
from ..core.storage import SEAL, Database, DatabaseError, may_pass, open_reader, transaction
from ..core.system import System
from ..rules.items import ItemKey
from . import request_table
from . import stored_contents as contents
from .request_record import ItemPart, Said, Sent

VERSION = 1
"""That version cut texts into pieces, each kept once, and had a list of pieces for each request."""


def path_of(path: str) -> str:
    """Return the name of its file while it is being moved: `requests-v1.sqlite`."""
    name, ending = os.path.splitext(path)
    return f"{name}-v1{ending}"


_TAKE = """
INSERT INTO requests SELECT r.number, s.name, p.root, r.id, at, message_hash, tokens, bytes, elapsed_ms,
    items, considered, degraded, pruned, referred, sketch, COALESCE(record, X'')
    FROM former.requests r JOIN former.sessions s ON s.id = session JOIN former.projects p ON p.id = project
    LEFT JOIN former.bodies USING (number);
INSERT INTO items SELECT i.id, root, type, name, server_name
    FROM former.items i JOIN former.projects p ON p.id = project;
INSERT INTO item_days SELECT * FROM former.item_days;
INSERT INTO query_terms SELECT term, request FROM former.query_terms
"""


def set_beside(path: str, system: System) -> None:
    """Rename the file at `path`, if it is one of that version, so that a new one can take its place.

    Raises `DatabaseError` or `OSError` where that can't be told now.
    """
    for suffix in ("", "-wal", "-shm", SEAL):
        if os.path.isfile(path + suffix):
            clear_file(path + suffix, system)
    if not os.path.exists(path):
        return
    try:
        open_reader(path, VERSION, sealed=True).close()
    except DatabaseError as error:
        if may_pass(error):
            raise
        return
    # The log first: whatever ends this, both are found under one name the next time.
    for suffix in ("-wal", ""):
        with suppress(FileNotFoundError):
            os.replace(path + suffix, path_of(path) + suffix)
    for suffix in ("-shm", SEAL):
        with suppress(FileNotFoundError):
            os.unlink(path + suffix)


def attach(database: Database, path: str) -> int:
    """Attach the renamed file, take its requests over if that wasn't done, and return the last one's number.

    Raises `DatabaseError` if it is damaged.
    """
    database.execute("ATTACH ? AS former", (path_of(path),))
    (last,) = database.execute("SELECT COALESCE(MAX(number), 0) FROM former.requests").fetchone()
    if not database.execute("SELECT 1 FROM requests LIMIT 1").fetchone():
        with transaction(database):
            for statement in _TAKE.split(";"):
                database.execute(statement)
    return int(last)


def detach(database: Database, path: str) -> None:
    """Remove the file."""
    database.execute("DETACH former")
    for suffix in ("", "-wal", "-shm"):
        with suppress(FileNotFoundError):
            os.unlink(path_of(path) + suffix)


def move(database: Database, last: int) -> bool:
    """Move what was sent for some requests; returns whether there were any. Needs a transaction."""
    rows = database.execute(
        "SELECT number FROM requests WHERE pruned = '' AND number <= ?1 AND number >"
        " (SELECT COALESCE(MAX(last), 0) FROM packs WHERE last <= ?1) ORDER BY number LIMIT ?2",
        (last, contents.PACK_REQUESTS),
    ).fetchall()
    moved: dict[int, Sent] = {}
    for (number,) in rows:
        parts = sent(database, number)
        if parts is None:
            request_table.set_pruned(database, number, "it was damaged")
        else:
            moved[number] = parts
    contents.add_pack(database, moved)
    return bool(rows)


def sent(database: Database, number: int) -> Sent | None:
    """Return what was sent for a request that wasn't moved yet; None if it is damaged or not there."""
    try:
        (manifest,) = database.execute(
            "SELECT manifest FROM former.bodies WHERE number = ?", (number,)
        ).fetchone()
        plain = json.loads(zlib.decompress(manifest))
        return _parts(plain, _texts(database, plain["texts"]))
    except Exception:  # noqa: BLE001 - whatever it raises, it is damaged
        return None


def _texts(database: Database, texts: list[list[int]]) -> Iterator[str]:
    pieces: dict[int, bytes] = {}
    for number in {number for text in texts for number in text}:
        digest, data = database.execute(
            "SELECT digest, data FROM former.pieces JOIN former.piece_data USING (id) WHERE id = ?", (number,)
        ).fetchone()
        pieces[number] = zlib.decompress(data)
        if hashlib.blake2b(pieces[number], digest_size=16).digest() != digest:
            raise DatabaseError("a piece is damaged")
    return (b"".join(pieces[number] for number in text).decode("utf-8", "surrogatepass") for text in texts)


def _parts(plain: dict[str, list[str]], texts: Iterator[str]) -> Sent:
    context, system_prompt, user_prompt = next(texts), next(texts), next(texts)
    history = tuple(Said(role, next(texts)) for role in plain["roles"])
    references = tuple(ItemPart(ItemKey("reference", *item), next(texts)) for item in plain["references"])
    rules = tuple(ItemPart(ItemKey("rule", *item), next(texts)) for item in plain["rules"])
    described = [(ItemKey("tool", *item), next(texts)) for item in plain["tools"]]
    tools = tuple(ItemPart(key, text, next(texts)) for key, text in described)
    return Sent(context, system_prompt, user_prompt, history, references, rules, tools)
