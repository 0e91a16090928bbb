"""The tables of the stored embeddings, for who only checks the file: the store itself loads numpy."""

from __future__ import annotations

EMBEDDING_SCHEMA_VERSION = 1
"""Increment this when the tables change. A file of another version is quarantined, and everything is embedded
again."""

EMBEDDING_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO meta VALUES ('next_id', (random() & 0x3fffffffffffffff) | 1);
CREATE TABLE models (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, dim INTEGER NOT NULL);
CREATE TABLE embeddings (
    id INTEGER PRIMARY KEY, model INTEGER NOT NULL, digest BLOB NOT NULL, vector BLOB NOT NULL);
CREATE TABLE digests (
    model INTEGER NOT NULL, digest BLOB NOT NULL, id INTEGER NOT NULL, day INTEGER NOT NULL,
    PRIMARY KEY (model, digest)) WITHOUT ROWID;
"""
