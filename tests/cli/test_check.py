"""A check reads as a mark, a finding on one line, and below it what to run."""

from __future__ import annotations

import pytest
from foveal.cli.check import Check, to_map, to_text


def test_how_a_check_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    assert to_text(Check("a", "ok", "all\nwell")) == "✓ all\\nwell"
    assert to_text(Check("a", "warning", "hm")) == "! hm"
    assert to_text(Check("a", "wrong", "broken", "mend it")) == "✗ broken\n    run: mend it"
    assert to_map(Check("a", "ok", "x")) == {"name": "a", "level": "ok", "text": "x"}
    assert to_map(Check("a", "wrong", "x", "y"))["fix"] == "y"
