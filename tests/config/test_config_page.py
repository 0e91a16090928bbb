"""The page of the configuration is what the keys say, and every default on it can be copied into a file."""

from __future__ import annotations

from dataclasses import fields

from foveal.daemon.config.settings import FREE_TABLES, UserConfig
from foveal.docs.configuration_tables import PAGE, describe, page, sections


def test_page_matches_the_keys() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert page(text) == text, "run: python -m docs.configuration_tables"
    assert sections() in text


def test_every_field_is_described_and_on_the_page() -> None:
    config = UserConfig()
    expected = [
        (table.name, key.name)
        for table in fields(config)
        if table.name not in FREE_TABLES
        for key in fields(getattr(config, table.name))
        if "rule" in key.metadata
    ]
    assert [(key.table, key.key) for key in describe()] == expected
    text = PAGE.read_text(encoding="utf-8")
    for key in describe():
        assert f"| `{key.key}` |" in text
        assert key.description.endswith(".")
        assert key.where in (
            "user",
            "user, project: any value",
            "user, project: only smaller",
            "user, project: adds to the user's",
        )
