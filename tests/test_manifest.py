"""A manifest gives the parts back, names what is missing, and isn't read from bytes that are none."""

from __future__ import annotations

import json

import pytest
from foveal.daemon.ledger.manifest import (
    DamagedManifest,
    Manifest,
    manifest_bytes,
    manifest_in,
    manifest_of,
    rebuilt,
    texts_of,
)
from foveal.daemon.ledger.messages import Sent

from tests.ledger_cases import record_of, sent_for

PARTS = sent_for(record_of())


def stored(parts: Sent) -> tuple[Manifest, dict[int, bytes]]:
    """Return a manifest with one piece a text, and these."""
    content = dict(enumerate(texts_of(parts)))
    return manifest_of(parts, [[number] for number in content]), content


@pytest.mark.parametrize("parts", [PARTS, Sent(), Sent(context="\udcff é\r\n\x00")])
def test_parts_come_back(parts: Sent) -> None:
    manifest, content = stored(parts)
    assert rebuilt(manifest_in(manifest_bytes(manifest)), content) == (parts, ())


def test_what_is_missing_is_named_and_empty() -> None:
    manifest, content = stored(PARTS)
    for position, name in enumerate(
        [
            *("the context", "the system prompt", "the user's message"),
            *("message 1 of the history", "message 2 of the history"),
            *("the reference docs/guide.md", "the rule docs/style.md"),
            *("the tool search_issues of github", "the schema of the tool search_issues of github"),
        ]
    ):
        rest = {number: text for number, text in content.items() if number != position}
        parts, missing = rebuilt(manifest, rest)
        assert missing == (name,)
        assert texts_of(parts) == [rest.get(number, b"") for number in range(len(content))]


def test_bytes_that_are_no_text_are_named_too() -> None:
    manifest, content = stored(PARTS)
    assert rebuilt(manifest, {**content, 0: b"\xff"})[1] == ("the context",)


def test_pieces_are_named_once() -> None:
    assert manifest_of(Sent(), [[1, 2, 1], [2], []]).pieces == {1, 2}


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"{}", b"3", b'{"layout": 1}'])
def test_what_is_no_manifest_is_refused(data: bytes) -> None:
    with pytest.raises(DamagedManifest):
        manifest_in(data)


def test_texts_without_parts_are_refused() -> None:
    plain = json.loads(manifest_bytes(stored(PARTS)[0]))
    for texts in (plain["texts"][:-1], [*plain["texts"], [1]], None):
        with pytest.raises(DamagedManifest):
            manifest_in(json.dumps({**plain, "texts": texts}).encode())
