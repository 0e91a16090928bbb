"""What is said beside places: remarks without what the places say too, and why nothing was found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from foveal.hooks.mcp_server.code_tools import FIND_SYMBOL, SEARCH_CODE, headline, remarks_of

from tests.conftest import DaemonProcess, write_files
from tests.hooks.test_mcp_caller import desk


@pytest.mark.parametrize(
    ("evidence", "hint", "expected"),
    [
        (["asks for callers: calls f", "names a file: a.py", "the caller chose structural"], "", {}),
        (["2 shown of 66"], "", {"remarks": ["2 shown of 66"]}),
        (
            ["`f` has 2 definitions; to mean one, say its class, its file or its node id: a.py#f, b.py#f"],
            "",
            {"remarks": ["`f` has 2 definitions; to mean one, say its class, its file or its node id"]},
        ),
        (["nothing is named `f`"], "nothing is named `f`; go on", {"hint": "nothing is named `f`; go on"}),
    ],
)
def test_remarks(evidence: list[str], hint: str, expected: dict[str, Any]) -> None:
    assert remarks_of({"evidence": evidence, "hint": hint}) == expected


def test_a_snippet_that_begins_elsewhere_says_where() -> None:
    place = {"path": "a.py", "start_line": 3, "end_line": 90, "kind": "method", "symbol": "C.f"}
    assert headline(place) == "`a.py:3-90` method `C.f`"
    assert headline({**place, "snippet_line": 70}) == "`a.py:3-90` method `C.f`, from line 70"


async def test_neighbouring_calls_are_one_place(shared_daemon: DaemonProcess, tmp_path: Path) -> None:
    far = "    pass\n" * 60
    source = f"def f():\n    pass\n\n\ndef g():\n    f()\n    f()\n{far}    f()\n"
    root = write_files(tmp_path / "p", {"a.py": source})
    shared_daemon.open_ready(root)
    async with desk(shared_daemon, root, "near") as (one, _):
        answer, text = await SEARCH_CODE.call(one.about("t"), {"query": "who calls f()"})
        assert [hit["node_id"] for hit in answer["results"]] == ["a.py#g", "a.py#g"]
        assert answer["results"][1]["snippet_line"] > 50
        assert f"from line {answer['results'][1]['snippet_line']}" in text


async def test_nothing_in_a_project_that_is_not_read_yet_says_so(
    shared_daemon: DaemonProcess, tmp_path: Path
) -> None:
    root = write_files(tmp_path / "p", {"a.py": "def f():\n    pass\n"})
    shared_daemon.open_ready(root)
    async with desk(shared_daemon, root, "none") as (one, link):
        real = link.call

        async def unready(method: str, params: Any) -> Any:
            reply = await real(method, params)
            if method == "Status":  # the moment is too short to be met
                reply["projects"][0]["state"] = "indexing"
            return reply

        for tool, asked in ((FIND_SYMBOL, {"name": "zzyzx"}), (SEARCH_CODE, {"query": "who calls `zz.yzx`"})):
            _, text = await tool.call(one.about("t"), asked)
            assert "still being indexed" not in text
            link.call = unready  # type: ignore[method-assign]  # what it says of one state is replaced
            _, text = await tool.call(one.about("t"), asked)
            assert "still being indexed" in text
            link.call = real  # type: ignore[method-assign]  # as above
