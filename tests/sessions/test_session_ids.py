"""A session's id is a folder's name that leads nowhere else."""

from __future__ import annotations

import pytest
from foveal.daemon.core.errors import InvalidRequest
from foveal.daemon.sessions.session import MAX_ID_CHARACTERS, checked_id, is_id, new_id
from hypothesis import given
from hypothesis import strategies as st


def test_ids_of_hosts_are_taken() -> None:
    for text in (
        "7a3f0c2e-5d0b-4c57-9a4e-0f1f7e5f9b11",
        "ses_01JZX",
        "Agent:7@host+1.2",
        "x" * MAX_ID_CHARACTERS,
        new_id(),
    ):
        assert checked_id(text) == text


def test_what_leads_elsewhere_is_refused() -> None:
    for text in (
        "", ".", "..", "../a", "a/b", "/etc", "a\\b", ".hidden", "-rf", "a\n", "a\0", "a b", "ä", "%2e%2e",
        "x" * (MAX_ID_CHARACTERS + 1), ".removed-1",
    ):  # fmt: skip
        assert not is_id(text)
        with pytest.raises(InvalidRequest, match="session_id") as raised:
            checked_id(text)
        assert raised.value.field == "session_id"


@given(st.text(max_size=300))
def test_an_id_is_always_one_plain_name(text: str) -> None:
    if is_id(text):
        assert text.isascii()
        assert text.isprintable()
        assert not set(text) & set("/\\~*? ")
        assert not text.startswith(".")
        assert len(text) <= MAX_ID_CHARACTERS


def test_new_ids_differ() -> None:
    assert len({new_id() for _ in range(1_000)}) == 1_000
