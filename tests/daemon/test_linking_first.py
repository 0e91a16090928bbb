"""A question about a name is answered as after the whole index, while other files still wait to be read or linked."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from foveal.daemon.core.system import System
from foveal.daemon.index.store import FILE_NAME, Store

from tests.conftest import DaemonProcess, running_daemon, write_files
from tests.indexer_cases import OLD_NS

FILES: dict[str, str | bytes] = {
    "shop/bill.py": "class Bill:\n    def settle_bill(self):\n        return 1\n",
    "shop/desk.py": "from shop.bill import Bill\n\n\ndef close(bill: Bill):\n    return bill.settle_bill()\n",
    **{
        f"parts/part{number}.py": f"import os\n\n\ndef part{number}():\n    return os.getcwd()\n"
        for number in range(400)
    },
}


def callers(daemon: DaemonProcess, root: Path) -> Any:
    return daemon.call("Query", cwd=str(root), query="what calls settle_bill?")


def places(reply: Any) -> list[tuple[str, int, list[str]]]:
    return [(each["path"], each["line"], each["why"]) for each in reply["results"]]


def forget_links(state: Path) -> None:
    """Have all files of the one index wait to be linked, as after their reading."""
    (index,) = state.rglob(FILE_NAME)
    store = Store(str(index.parent), System())
    with store.transaction():
        ids = [store.chunks.id_of(path) for path in FILES]
        for file_id in ids:
            assert file_id is not None
            store.links.clear(file_id)
        store.links.queue_all()
    store.close()


def test_callers_are_known_before_all_files_are_linked(tmp_path: Path) -> None:
    root = write_files(tmp_path / "shop", FILES)
    for path in FILES:
        os.utime(root / path, ns=(OLD_NS, OLD_NS))
    with running_daemon(tmp_path) as daemon:
        daemon.open_ready(root)
        known = callers(daemon, root)
    assert [place[:2] for place in places(known)] == [("shop/desk.py", 5)]
    assert known["degraded"] == []
    forget_links(tmp_path / "state")
    with running_daemon(tmp_path) as daemon:
        daemon.call("OpenProject", path=str(root))
        reply = callers(daemon, root)
        while places(reply) != places(known):
            assert reply["degraded"], "an answer that lacks something says so"
            reply = callers(daemon, root)
        waiting = [reason for reason in reply["degraded"] if "to be linked" in reason]
        assert all("those that mention settle_bill were linked first" in reason for reason in waiting)
        daemon.open_ready(root)
        assert callers(daemon, root)["degraded"] == []


def test_callers_are_known_before_all_files_are_read(tmp_path: Path) -> None:
    files = FILES | {
        f"more/more{number}.py": f"def more{number}():\n    return [{number}]\n" for number in range(400)
    }
    root = write_files(tmp_path / "shop", files)
    with running_daemon(tmp_path) as daemon:
        daemon.call("OpenProject", path=str(root))
        reply = daemon.call("Query", cwd=str(root), query="what calls settle_bill?", deadline_ms=60_000)
        found = daemon.call("FindSymbols", cwd=str(root), query="settle_b", deadline_ms=60_000)
        words = daemon.call("Query", cwd=str(root), query="where are bills settled", deadline_ms=60_000)
        daemon.open_ready(root)
        assert places(reply) == places(callers(daemon, root))
    assert [symbol["node_id"] for symbol in found["symbols"]] == ["shop/bill.py#Bill.settle_bill"]
    assert words["results"][0]["path"].startswith("shop/")
