"""Each request is a line of JSON; what was written in it is exported only when that is asked for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from foveal.daemon.ledger.export import lines
from foveal.daemon.ledger.ledger_limits import forget_sent
from foveal.daemon.ledger.messages import Sent, conversation
from foveal.daemon.ledger.request_record import record_map

from tests.ledger_cases import STYLE, Opened, opened, record_of, sent_for


def exported(at: Opened, **which: Any) -> list[dict[str, Any]]:
    found = list(lines(at.ledger, **which))
    assert all(line.endswith("\n") and line.count("\n") == 1 and line.isascii() for line in found)
    return [json.loads(line) for line in found]


def test_lines(tmp_path: Path) -> None:
    with opened(tmp_path) as at:
        at.put(record_of(1))
        at.usage.report("ses_a", "req_1", used=[STYLE])
        at.ledger.add(record_of(2, "ses_b", project_root="/other"), Sent("of\nline \udcff"))
        first, second = exported(at)
        assert first == {
            **record_map(record_of(1)),
            "referred": [{"type": "rule", "name": "docs/style.md"}],
            "problem": "",
        }
        assert second["id"] == "req_2"
        assert second["referred"] is None
        assert exported(at, session_id="ses_b") == [second]
        assert exported(at, project_root="/other") == [second]
        assert exported(at, session_id="none") == []


def test_content_stands_in_it_when_asked_for(tmp_path: Path) -> None:
    with opened(tmp_path) as at:
        at.put(record_of(1))
        at.put(record_of(2))
        with at.file.writing() as database:
            forget_sent(database, 2, "it was old")
        (line, bare) = exported(at, content=True)
        sent = sent_for(record_of(1))
        assert line["sent"] == {"context": sent.context, **conversation(sent)}
        assert bare["sent"] is None
        assert "it was old" in bare["problem"]
        assert "Hello" not in json.dumps(exported(at))


def test_nothing(tmp_path: Path) -> None:
    with opened(tmp_path) as at:
        assert list(lines(at.ledger)) == []
