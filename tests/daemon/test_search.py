"""Questions to a real daemon with the real model: what is found, what costs nothing, what survives a kill."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
from foveal.daemon.embedding.embedder_client import INCOMPLETE
from foveal.ipc import errors as codes

from tests.conftest import (
    DEADLINE_S,
    SMALL_PROJECT,
    DaemonProcess,
    git,
    running_daemon,
    write_files,
)
from tests.search_cases import until

PROJECT: dict[str, str | bytes] = {
    **SMALL_PROJECT,
    "src/shop/invoice.py": (
        '"""Invoices and their totals."""\n\n\nclass Invoice:\n    """What somebody has to pay."""\n\n'
        "    def __init__(self, lines):\n        self.lines = lines\n\n"
        '    def total(self):\n        """Add up the prices of all lines."""\n'
        "        return sum(line.price for line in self.lines)\n"
    ),
    "src/shop/mail.py": (
        "import smtplib\n\n\ndef send_receipt(address, invoice):\n"
        '    """Mail what was paid to the customer."""\n'
        "    with smtplib.SMTP('localhost') as server:\n        server.sendmail('shop', address, str(invoice))\n"
    ),
    "tests/test_invoice.py": (
        "from shop.invoice import Invoice\n\n\ndef test_total_of_an_empty_invoice():\n"
        "    assert Invoice([]).total() == 0\n"
    ),
    "docs/guide.md": (
        "# Guide\n\n## Payment\n\nCustomers pay by card or by bank transfer.\n\n"
        "## Upgrading\n\nRun the migrations before the server is started again.\n"
    ),
}


LOGIN = "open a session at login"


@contextmanager
def searching(base: Path) -> Iterator[DaemonProcess]:
    """Give a daemon that embeds, with the model that all tests share."""
    with running_daemon(base, embedding=True) as daemon:
        yield daemon


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[DaemonProcess]:
    with searching(tmp_path) as process:
        yield process


@pytest.fixture
def wordy(tmp_path: Path) -> Iterator[DaemonProcess]:
    """Give a daemon that embeds nothing, which takes a second or two less: words and structure answer."""
    with running_daemon(tmp_path) as process:
        yield process


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonProcess]:
    """Give a daemon to the tests that leave it and `asked` as they found them."""
    with searching(tmp_path_factory.mktemp("d")) as process:
        yield process


@pytest.fixture(scope="module")
def asked(shared: DaemonProcess, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Give a project that is embedded."""
    root = write_files(tmp_path_factory.mktemp("p") / "shop", PROJECT)
    embedded(shared, root)
    return str(root)


def status(daemon: DaemonProcess, root: Path | str) -> dict[str, Any]:
    found: dict[str, Any] = daemon.call("Status", cwd=str(root))["projects"][0]
    return found


def embedded(daemon: DaemonProcess, root: Path | str) -> dict[str, Any]:
    """Open a project and wait until all of it can be found by its meaning."""
    daemon.call("OpenProject", path=str(root))

    def done() -> bool:
        found = status(daemon, root)
        return (found["state"], found["embedding"], found["pending"]) == ("ready", "done", 0)

    until(done, "it is embedded", lambda: status(daemon, root))
    return status(daemon, root)


def open_paused(daemon: DaemonProcess, root: Path) -> dict[str, Any]:
    """Open a project while embedding is paused, and wait until it answers with all that it has."""
    daemon.open_ready(root)
    until(lambda: status(daemon, root)["embedding"] == "paused", "it waits", lambda: status(daemon, root))
    return status(daemon, root)


def query(daemon: DaemonProcess, root: Path | str, text: str, **params: Any) -> dict[str, Any]:
    reply: dict[str, Any] = daemon.call("Query", cwd=str(root), query=text, **params)
    return reply


def found(daemon: DaemonProcess, root: Path | str, text: str, **params: Any) -> list[str]:
    """Return the paths that are found, where nobody who was asked failed."""
    reply = query(daemon, root, text, **params)
    said = (INCOMPLETE, "index.sqlite could not be used")  # of one that was built anew, as long as it is open
    assert [reason for reason in reply["degraded"] if not reason.startswith(said)] == []
    return [result["path"] for result in reply["results"]]


def embeddings(daemon: DaemonProcess) -> int:
    """Return how many texts were ever embedded: each has its row, and no number is used twice."""
    with closing(sqlite3.connect(daemon.state / "embeddings" / "embeddings.sqlite")) as database:
        ((count, first, next_id),) = database.execute(
            "SELECT COUNT(*), MIN(id), (SELECT value FROM meta WHERE key = 'next_id') FROM embeddings"
        )
    assert count == 0 or next_id - first == count, "something was embedded and lost"
    return int(count)


# What is found


@pytest.mark.parametrize(
    ("text", "path", "source"),
    [
        ("open a session at login", "src/shop/auth.py", "vector"),
        ("the amount that is owed", "src/shop/invoice.py", "vector"),
        ("e-mail a confirmation of payment", "src/shop/mail.py", "vector"),
        ("send_receipt", "src/shop/mail.py", "lexical"),
        ("Sessions and how they end", "src/shop/sessions.py", "lexical"),
        ("where is Invoice defined", "src/shop/invoice.py", "tree"),
        ('find the migrations in section "Upgrading"', "docs/guide.md", "lexical"),
    ],
)
def test_a_question_finds_its_answer(
    shared: DaemonProcess, asked: str, text: str, path: str, source: str
) -> None:
    reply = query(shared, asked, text)
    assert reply["degraded"] == []
    first = reply["results"][0]
    assert first["path"] == path
    assert source in first["sources"]
    assert first["snippet"]
    lines = str(PROJECT[path]).split("\n")
    assert lines[first["snippet_line"] - 1].rstrip() == first["snippet"].split("\n")[0].rstrip()
    assert first["start_line"] <= first["line"] <= first["end_line"]


def test_the_same_question_has_the_same_answer(shared: DaemonProcess, asked: str) -> None:
    first, second = (query(shared, asked, "pay by card") for _ in range(2))
    for reply in (first, second):
        del reply["elapsed_ms"]
    assert first == second


@pytest.mark.parametrize(
    ("text", "filters", "expected"),
    [
        ("how to pay", {"path_prefix": "docs/"}, {"docs/guide.md"}),
        ("total", {"path_prefix": "src/shop/invoice.py"}, {"src/shop/invoice.py"}),
        ("total", {"path_prefix": "src/"}, {"src/shop/invoice.py"}),
        ("total", {"glob": "web/*.ts"}, {"web/app.ts", "web/money.ts"}),
        ("total", {"glob": "invoice.py"}, {"src/shop/invoice.py"}),
        ("total", {"languages": ["typescript"]}, {"web/app.ts", "web/money.ts"}),
        ("total", {"languages": ["typescript", "python"], "path_prefix": "tests"}, {"tests/test_invoice.py"}),
        ("session", {"kinds": ["class"]}, {"src/shop/sessions.py"}),
        ("total", {"symbol": "Invoice"}, {"src/shop/invoice.py"}),
        ("total", {"symbol": "Invoice.total"}, {"src/shop/invoice.py"}),
        ("total", {"path_prefix": "nowhere/"}, set()),
        ("total", {"glob": "*.rs"}, set()),
        ("total", {"languages": ["rust"]}, set()),
        ("total", {"kinds": ["trait"]}, set()),
        ("total", {"symbol": "Nobody"}, set()),
        ("total", {"changed_since": "2199-01-01"}, set()),
        ("total", {"min_score": 1}, set()),
    ],
)
def test_filters(
    shared: DaemonProcess, asked: str, text: str, filters: dict[str, Any], expected: set[str]
) -> None:
    reply = query(shared, asked, text, limit=100, **filters)
    assert {result["path"] for result in reply["results"] if "lexical" in result["sources"]} == expected
    if not expected:
        assert (reply["results"], "hint" in reply) == ([], True)
    for result in reply["results"]:  # what is found by its meaning alone passes all the same
        assert result["path"].startswith(filters.get("path_prefix", ""))
        assert result["language"] in filters.get("languages", [result["language"]])


def test_changed_since(shared: DaemonProcess, tmp_path: Path) -> None:
    root = write_files(tmp_path / "p", {"old.py": "def alpha(): ...\n", "new.py": "def alpha(): ...\n"})
    os.utime(root / "old.py", (1_000_000_000, 1_000_000_000))
    embedded(shared, root)
    assert found(shared, root, "alpha", changed_since="2020-06-01") == ["new.py"]
    assert len(found(shared, root, "alpha", changed_since="2001-09-09T01:46:40Z")) == 2
    assert found(shared, root, "alpha", changed_since="2001-09-09T03:46:41+02:00") == ["new.py"]


def test_a_limit_above_the_corpus_gives_it_and_a_score_cuts_it(shared: DaemonProcess, asked: str) -> None:
    everything = query(shared, asked, "shop", limit=1_000)["results"]
    assert len(everything) >= 5
    assert len({result["path"] for result in everything}) == len(everything)
    scores = [result["score"] for result in everything]
    assert scores == sorted(scores, reverse=True)
    assert query(shared, asked, "shop", limit=3)["results"] == everything[:3]
    above = query(shared, asked, "shop", limit=1_000, min_score=scores[2])["results"]
    assert above == [result for result in everything if result["score"] >= scores[2]]


def test_one_document_and_none(shared: DaemonProcess, tmp_path: Path) -> None:
    one = write_files(tmp_path / "one", {"only.py": "def open_the_garage():\n    return True\n"})
    embedded(shared, one)
    assert found(shared, one, "close the garage door", limit=50) == ["only.py"]
    none = tmp_path / "none"
    none.mkdir()
    shared.open_ready(none)
    until(lambda: status(shared, none)["embedding"] == "done", "nothing is embedded")
    assert found(shared, none, "anything") == []


def test_a_scopes_own_files_come_first(shared: DaemonProcess, asked: str) -> None:
    usual = found(shared, asked, "shop", limit=50)
    assert len(usual) > 1
    mine = usual[-1]
    scope = shared.call("GetContext", cwd=asked, focus_paths=[mine])["scope_id"]
    reply = shared.call("Query", scope_id=scope, query="shop", limit=50)
    assert reply["project"] == asked
    own = [result["path"] for result in reply["results"]]
    assert own == [mine, *usual[:-1]]
    shared.call("ReleaseScope", scope_id=scope)


@pytest.mark.parametrize(
    "text",
    [
        "", "   \n\t", "the of and a", "?", "!!! ??? ...", "\U0001f600\U0001f389", "如何登录用户", "как войти", "ログイン",
        "x", "\x00\x1b[2J", "a" * 10_000, "login " * 700, "* AND (OR) NOT \"", "'; DROP TABLE chunks; --", "[a-z]+(", "\\",
        "path:src lang:py", "{{7*7}}", "../../etc/passwd", "\ufeffinvoice", "fn()->Result<(), E>",
        'Traceback (most recent call last):\n  File "src/shop/auth.py", line 7, in login\nTypeError: x',
    ],
)  # fmt: skip
def test_any_text_is_a_question(shared: DaemonProcess, asked: str, text: str) -> None:
    reply = query(shared, asked, text)
    assert reply["degraded"] == []
    assert reply["evidence"]
    if not text.strip():
        assert (reply["results"], "hint" in reply) == ([], True)


def test_a_stack_trace_leads_to_its_files(shared: DaemonProcess, asked: str) -> None:
    text = 'It broke:\n\nTraceback (most recent call last):\n  File "/srv/src/shop/mail.py", line 6, in send_receipt\nOSError: no'
    assert found(shared, asked, text)[0] == "src/shop/mail.py"


def test_a_relation_is_asked_of_a_name_whatever_the_language(shared: DaemonProcess, asked: str) -> None:
    reply = shared.call("Query", cwd=asked, query="Wo ist `send_receipt`?", relation="definition")
    assert (reply["route"], reply["evidence"][0]) == ("structural", "the caller asks for definition")
    assert [hit["path"] for hit in reply["results"]] == ["src/shop/mail.py"]
    error = shared.error("Query", cwd=asked, query="send_receipt", relation="callers", route="hybrid")
    assert (error.code, error.data) == (codes.INVALID_PARAMS, {"field": "relation"})


def test_a_question_of_a_megabyte(shared: DaemonProcess, asked: str) -> None:
    assert found(shared, asked, "invoice total " * 80_000)


WRONG: dict[str, tuple[Any, ...]] = {
    "query": (None, 5, True, ["x"], {"a": 1}, b"x"),
    "limit": (0, -1, 1_001, 1.5, "3", True, [1]),
    "route": ("fast", 5, ["hybrid"], ""),
    "relation": ("friends", 5, ["callers"], ""),
    "path_prefix": (5, ["src"], "../out", "/etc", "a\0b"),
    "glob": (5, ["*"], True, "[", "src/[ab", "{a,b", "!a"),
    "languages": ("python", [5], {"a": 1}, ["pythn"], [None]),
    "kinds": ("class", [5], 7, ["nothing"], ["class", "clas"], [""]),
    "symbol": (5, ["x"], False),
    "changed_since": ("yesterday", 5, "2020-13-01", []),
    "min_score": (-0.1, 1.1, "high", True, [0.5]),
    "fresh": ("very", 5),
    "deadline_ms": (-1, "soon", 10**9),
}


@pytest.mark.parametrize(
    ("params", "field"), [({field: value}, field) for field, values in WRONG.items() for value in values]
)
def test_a_parameter_that_can_not_be_used(
    shared: DaemonProcess, asked: str, params: dict[str, Any], field: str
) -> None:
    error = shared.error("Query", **({"cwd": asked, "query": "invoice"} | params))
    assert (error.code, error.data) == (codes.INVALID_PARAMS, {"field": field})


def test_questions_to_nobody(shared: DaemonProcess, asked: str) -> None:
    assert shared.error("Query", cwd="/nowhere/at/all", query="x").code in {
        codes.NOT_FOUND,
        codes.INVALID_PARAMS,
    }
    assert shared.error("Query", scope_id="no-such", query="x").code == codes.NOT_FOUND
    assert shared.error("SetEmbedding", paused="yes").data == {"field": "paused"}
    assert shared.error("SetEmbedding").data == {"field": "paused"}


def test_a_deadline_that_has_passed_leaves_the_rest(shared: DaemonProcess, asked: str) -> None:
    reply = query(shared, asked, "invoice total", deadline_ms=0)
    assert reply["results"][0]["path"] == "src/shop/invoice.py"
    assert any("by meaning" in reason for reason in reply["degraded"])


ODD: dict[str, str | bytes] = {
    "large.py": "".join(f"def handler_{n}(request):\n    return request.get({n})\n\n\n" for n in range(2_600)) + "def needle_large(): ...\n",
    "line.js": "const needle_line = 1;" + "var a=1;" * 30_000,
    "app.min.js": "!function(){var needle_minified=1;" + "a(b,c);" * 20_000 + "}();\n",
    "api_pb2.py": "# Generated by the protocol buffer compiler.  DO NOT EDIT!\nneedle_generated = 1\n" + "x = 1\n" * 3_000,
    "empty.py": "",
    "three.py": "ab\n",
    "latin.py": "# Größe\nneedle_latin = 'Grüße'\n".encode("latin-1"),
    "wide.py": "def needle_wide():\n    return 'über'\n".encode("utf-16"),
    "windows.py": b"\xef\xbb\xbfdef needle_windows():\r\n    return 1\r\n",
    "null.bin": b"\0\1\2needle_binary",
    "deep.json": '{"needle_deep": ' + "[" * 5_000 + "]" * 5_000 + "}\n",
}  # fmt: skip


def test_files_of_every_kind(shared: DaemonProcess, tmp_path: Path) -> None:
    root = write_files(tmp_path / "p", ODD)
    shared.call("SetEmbedding", paused=True)
    try:
        assert open_paused(shared, root)["files"] == len(ODD)
        for name, path in (
            ("large", "large.py"), ("line", "line.js"), ("minified", "app.min.js"), ("generated", "api_pb2.py"),
            ("latin", "latin.py"), ("wide", "wide.py"), ("windows", "windows.py"), ("deep", "deep.json"),
        ):  # fmt: skip
            assert found(shared, root, f"needle_{name}")[0] == path
        assert "null.bin" not in found(shared, root, "needle_binary", limit=50)
        assert "über" in query(shared, root, "needle_wide")["results"][0]["snippet"]
        assert all(len(one["snippet"]) < 1_500 for one in query(shared, root, "needle")["results"])
        shared.call("CloseProject", path=str(root))
    finally:
        shared.call("SetEmbedding", paused=False)


# What changes


def test_copies_moves_and_reverts_cost_no_embedding(shared: DaemonProcess, tmp_path: Path) -> None:
    root = write_files(tmp_path / "p", PROJECT)
    embedded(shared, root)
    contents = embeddings(shared)
    shutil.copy(root / "src/shop/mail.py", root / "src/shop/mail_copy.py")
    (root / "src/shop/invoice.py").rename(root / "src/shop/bills.py")
    (root / "docs/guide.md").unlink()
    settled(shared, root)
    paths = found(shared, root, "mail a receipt to the customer", limit=50)
    assert {"src/shop/mail.py", "src/shop/mail_copy.py"} <= set(paths)
    assert "docs/guide.md" not in found(shared, root, "how is paid, by card or bank transfer", limit=50)
    assert "src/shop/bills.py" in found(shared, root, "what has somebody to pay", limit=50)
    write_files(root, {"docs/guide.md": PROJECT["docs/guide.md"]})
    settled(shared, root)
    assert (
        found(shared, root, "how is paid, by card or bank transfer", kinds=["section"])[0] == "docs/guide.md"
    )
    assert embeddings(shared) == contents
    other = shutil.copytree(root, tmp_path / "worktree")
    embedded(shared, other)
    assert found(shared, other, "what has somebody to pay", limit=50)
    assert embeddings(shared) == contents


def settled(daemon: DaemonProcess, root: Path) -> None:
    """Wait until all changes on the disk are in the index, and embedded."""
    query(daemon, root, "", fresh="tree")
    embedded(daemon, root)


def test_a_deleted_file_leaves_nothing_behind(shared: DaemonProcess, tmp_path: Path) -> None:
    root = write_files(tmp_path / "leaving", PROJECT)
    before = embedded(shared, root)
    (root / "src/shop/mail.py").unlink()
    assert "src/shop/mail.py" not in found(shared, root, "send_receipt", fresh="tree", limit=50)
    until(lambda: status(shared, root)["embedded"] < before["embedded"], "its vectors are gone")
    assert "src/shop/mail.py" not in found(shared, root, "mail to the customer", limit=50)
    (index,) = shared.state.glob("projects/leaving-*/index.sqlite")
    with closing(sqlite3.connect(index)) as database:
        assert database.execute(
            "SELECT COUNT(*) FROM chunks WHERE file_id NOT IN (SELECT id FROM files)"
        ).fetchone() == (0,)
        assert database.execute(
            "SELECT COUNT(*) FROM texts WHERE file_id NOT IN (SELECT id FROM files)"
        ).fetchone() == (0,)
    shutil.rmtree(root / "src")
    assert all(
        path.split("/")[0] != "src" for path in found(shared, root, "invoice session", fresh="tree", limit=50)
    )


def test_an_edit_shows_in_the_next_answer(shared: DaemonProcess, tmp_path: Path) -> None:
    root = write_files(tmp_path / "p", PROJECT)
    embedded(shared, root)
    for n in range(5):
        write_files(root, {"src/shop/mail.py": f"# changed\ndef quokka_{n}():\n    return {n}\n"})
        (first, *_) = query(shared, root, f"quokka_{n}", fresh="tree")["results"]
        assert (first["path"], f"def quokka_{n}()" in first["snippet"]) == ("src/shop/mail.py", True)
    reply = query(shared, root, "invoice total")
    write_files(root, {"src/shop/invoice.py": "\n\n" + str(PROJECT["src/shop/invoice.py"])})
    moved = query(shared, root, "invoice total")["results"][0]
    assert moved["start_line"] == reply["results"][0]["start_line"] + 2, "what is shown is looked at"


def test_questions_while_files_change(shared: DaemonProcess, tmp_path: Path) -> None:
    root = write_files(
        tmp_path / "p", {f"m{n}.py": f"def steady_{n}(): return 'alpha {n}'\n" for n in range(40)}
    )
    embedded(shared, root)
    failures: list[str] = []
    done = threading.Event()

    def ask(number: int) -> None:
        with shared.client() as client:
            while not done.is_set():
                params = {"cwd": str(root), "query": f"steady alpha {number}", "limit": 100}
                reply = client.call("Query", params, DEADLINE_S)
                failures.extend(
                    f"{result['path']}: {result['snippet']}"
                    for result in reply["results"]
                    if "steady_" not in result["snippet"]
                )
                if len(reply["results"]) < 30:
                    failures.append(f"{len(reply['results'])} results; {reply['degraded']}")

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for n in range(60):
        write_files(root, {f"m{n % 10}.py": f"# {n}\n" * (n % 7) + f"def steady_{n}(): return 'alpha {n}'\n"})
    query(shared, root, "steady", fresh="tree")
    done.set()
    for thread in threads:
        thread.join(DEADLINE_S)
    assert failures == []
    settled(shared, root)
    assert len(found(shared, root, "steady", limit=100)) == 40


def test_a_branch_switch_of_many_files_and_back(wordy: DaemonProcess, tmp_path: Path) -> None:
    main = {f"src/m{n}.py": f"def walrus_{n}():\n    return {n}\n" for n in range(250)}
    other = {f"lib/m{n}.py": f"def narwhal_{n}():\n    return {n}\n" for n in range(250)}
    root = write_files(tmp_path / "p", {"keep.py": "def keeper(): ...\n", **main})
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "main")
    wordy.open_ready(root)
    assert len(found(wordy, root, "walrus_7 walrus", limit=1_000)) == 250
    git(root, "checkout", "-q", "-b", "other")
    shutil.rmtree(root / "src")
    write_files(root, other)
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "other")
    assert len(found(wordy, root, "narwhal_7 narwhal", limit=1_000, fresh="tree")) == 250
    assert found(wordy, root, "walrus", limit=1_000, fresh="tree") == []
    git(root, "checkout", "-q", "main")
    assert len(found(wordy, root, "walrus", limit=1_000, fresh="tree")) == 250
    assert found(wordy, root, "narwhal", limit=1_000, fresh="tree") == []
    assert status(wordy, root)["files"] == 251


@pytest.mark.usefixtures("asked")
def test_two_projects_at_once_keep_apart(shared: DaemonProcess, tmp_path: Path) -> None:
    before = embeddings(shared)
    roots = [
        write_files(
            tmp_path / name,
            {"a.py": f"def {name}_alpha():\n    return 'shared words'\n", "b.py": "def same(): ...\n"},
        )
        for name in ("one", "two")
    ]
    for root in roots:
        shared.call("OpenProject", path=str(root))
    for root in roots:
        embedded(shared, root)
        (first, *_) = query(shared, root, "shared words")["results"]
        assert f"{root.name}_alpha" in first["snippet"]
    shared.call("CloseProject", path=str(roots[0]))
    assert found(shared, roots[1], "shared words")[0] == "a.py"
    assert embeddings(shared) - before <= 3, "what both have is embedded once"


@pytest.mark.usefixtures("asked")
def test_a_project_that_is_closed_while_it_is_embedded(shared: DaemonProcess, tmp_path: Path) -> None:
    before = embeddings(shared)
    many = {f"m{n}.py": f"def job_{n}(queue):\n    return queue.take({n})\n" for n in range(100)}
    root = write_files(tmp_path / "p", many)
    shared.open_ready(root)
    until(
        lambda: status(shared, root)["embedded"] > 0, "some of it is embedded", lambda: status(shared, root)
    )
    shared.call("CloseProject", path=str(root))
    small = write_files(tmp_path / "small", {"a.py": "def alone(): return 'job'\n"})
    embedded(shared, small)
    assert embedded(shared, root)["embedded"] == 100
    assert embeddings(shared) - before == 101


# What breaks


def kill_embedder(daemon: DaemonProcess) -> None:
    pid = daemon.call("Status")["embedder"]["pid"]
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    until(lambda: daemon.call("Status")["embedder"]["pid"] not in {None, pid}, "another one has started")


def kill_indexer(daemon: DaemonProcess) -> None:
    pid = daemon.call("Status")["indexer_pid"]
    os.kill(pid, signal.SIGKILL)
    until(lambda: daemon.call("Status")["indexer_pid"] not in {None, pid}, "another one has started")


def kill_daemon(daemon: DaemonProcess) -> None:
    daemon.stop(signal.SIGKILL)


@pytest.mark.parametrize("kill", [kill_embedder, kill_indexer, kill_daemon])
def test_a_kill_in_the_middle_loses_nothing_and_costs_nothing(
    daemon: DaemonProcess, tmp_path: Path, kill: Callable[[DaemonProcess], None]
) -> None:
    files = 120
    root = write_files(
        tmp_path / "p",
        {f"m{n}.py": f"def job_{n}(queue):\n    return queue.take({n})\n" for n in range(files)},
    )
    daemon.open_ready(root)
    until(
        lambda: status(daemon, root)["embedded"] > 0, "some of it is embedded", lambda: status(daemon, root)
    )
    before = embeddings(daemon)
    assert before > 0
    kill(daemon)
    assert embeddings(daemon) >= before
    after = embedded(daemon, root)
    assert (after["files"], after["embedded"]) == (files, files)
    until(lambda: status(daemon, root)["degraded"] == [], "all run again")
    assert embeddings(daemon) == files, "nothing is embedded twice"
    assert found(daemon, root, "job_100")[0] == "m100.py"
    assert len(found(daemon, root, "take something from a queue", limit=1_000)) > 60


def test_a_kill_of_the_indexer_while_it_indexes(wordy: DaemonProcess, tmp_path: Path) -> None:
    files = 600
    root = write_files(tmp_path / "p", {f"m{n}.py": f"def job_{n}(): ...\n" * 5 for n in range(files)})
    wordy.call("OpenProject", path=str(root))
    until(lambda: 0 < status(wordy, root)["files_pending"] < files, "it is being indexed")
    kill_indexer(wordy)
    wordy.open_ready(root)
    for n in (0, 299, 599):
        assert found(wordy, root, f"job_{n}")[0] == f"m{n}.py"


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    for place in range(len(data) // 3, len(data) // 3 + 64):
        data[place] ^= 0xFF
    path.write_bytes(data)


@pytest.mark.parametrize("harm", ["flipped", "deleted"])
def test_a_harmed_lexical_index_is_filled_again_while_answers_go_on(
    wordy: DaemonProcess, tmp_path: Path, harm: str
) -> None:
    root = write_files(tmp_path / "p", PROJECT)
    wordy.open_ready(root)
    wordy.stop()
    (folder,) = wordy.state.glob("projects/*/lexical")
    if harm == "deleted":
        shutil.rmtree(folder)
    else:
        flip(max(folder.iterdir(), key=lambda path: path.stat().st_size))
    reply = query(wordy, root, "where is Invoice defined")
    assert reply["results"][0]["path"] == "src/shop/invoice.py"

    def whole() -> bool:
        reply = query(wordy, root, "send_receipt")
        return not reply["degraded"] and "lexical" in reply["results"][0]["sources"]

    until(whole, "the words are found again", lambda: query(wordy, root, "send_receipt")["degraded"])
    assert status(wordy, root)["degraded"] == []


@pytest.mark.parametrize("harm", ["deleted", "cut off"])
def test_a_lexical_index_that_goes_while_it_serves(wordy: DaemonProcess, tmp_path: Path, harm: str) -> None:
    root = write_files(tmp_path / "p", PROJECT)
    wordy.open_ready(root)
    assert found(wordy, root, "send_receipt")
    pid = wordy.pid
    (folder,) = wordy.state.glob("projects/*/lexical")
    if harm == "deleted":
        shutil.rmtree(folder)
    else:
        for path in folder.iterdir():
            if path.name[0] != "." and path.suffix != ".json":
                os.truncate(path, 0)
    reply = query(wordy, root, "send_receipt")
    assert "src/shop/mail.py" in [result["path"] for result in reply["results"]], "by its name"
    assert any("words" in reason for reason in reply["degraded"])
    until(lambda: "lexical" in _sources(wordy, root, "send_receipt"), "it is filled again")
    until(lambda: not query(wordy, root, "send_receipt")["degraded"], "that is known")
    assert wordy.pid == pid, "nobody read what is no more"


def test_a_harmed_index_and_harmed_embeddings_are_built_anew(daemon: DaemonProcess, tmp_path: Path) -> None:
    root = write_files(tmp_path / "p", PROJECT)
    contents = embedded(daemon, root)["embedded"]
    daemon.stop()
    for path in (
        *daemon.state.glob("projects/*/index.sqlite"),
        daemon.state / "embeddings" / "embeddings.sqlite",
    ):
        path.write_bytes(b"garbage" * 1_000)
    assert embedded(daemon, root)["embedded"] == contents
    assert found(daemon, root, LOGIN)[0] == "src/shop/auth.py"
    assert found(daemon, root, "send_receipt")[0] == "src/shop/mail.py"
    assert embeddings(daemon) == contents


def test_without_a_model_all_else_goes_on_and_says_so(tmp_path: Path) -> None:
    write_files(tmp_path, {"config/config.toml": '[embedding]\nmodel = "no/such-model"\n'})
    root = write_files(tmp_path / "p", PROJECT)
    with running_daemon(tmp_path, embedding=True) as daemon:
        daemon.open_ready(root)
        until(lambda: status(daemon, root)["embedding"] == "failed", "it is said")
        assert any("no/such-model" in reason for reason in status(daemon, root)["degraded"])
        reply = query(daemon, root, "send_receipt")
        assert reply["results"][0]["path"] == "src/shop/mail.py"
        assert any("no/such-model" in reason for reason in reply["degraded"])


def test_when_it_is_switched_off_nothing_is_embedded_and_nothing_is_missing(tmp_path: Path) -> None:
    root = write_files(tmp_path / "p", PROJECT)
    with running_daemon(tmp_path) as daemon:
        daemon.open_ready(root)
        assert found(daemon, root, "send_receipt")[0] == "src/shop/mail.py"
        reply = daemon.call("Status")
        assert (reply["embedder"], reply["projects"][0]["embedding"]) == (None, "off")
        assert daemon.error("SetEmbedding", paused=True).code == codes.UNSUPPORTED
        assert len(psutil.Process(daemon.pid).children()) == 1
    assert not (daemon.state / "embeddings").exists()


def test_a_pause_holds_and_questions_are_answered(daemon: DaemonProcess, tmp_path: Path) -> None:
    root = write_files(tmp_path / "p", PROJECT)
    assert daemon.call("SetEmbedding", paused=True) == {"paused": True}
    opened = open_paused(daemon, root)
    assert opened["embedded"] == 0
    [reason] = opened["degraded"]
    assert reason == (
        f"{INCOMPLETE}: 0 of {opened['pending']} chunks are embedded; "
        "that is paused, go on with: foveal embed --resume"
    )
    [listed] = [one for one in daemon.call("ListProjects")["projects"] if one["root"] == opened["root"]]
    assert listed["degraded"] == [reason]

    def says_so(reply: dict[str, Any]) -> bool:
        return any(reason.startswith(INCOMPLETE) for reason in reply["degraded"])

    # Until the model is loaded a reply says that instead.
    prompt = {"cwd": str(root), "prompt": "how is an invoice paid?"}
    until(lambda: says_so(daemon.call("GetContext", **prompt)), "a context says so")
    until(lambda: says_so(query(daemon, root, "how is it paid by card")), "an answer says so")
    until(lambda: "vector" in _sources(daemon, root, "invoice total"), "a question embeds what it needs")
    kill_embedder(daemon)
    assert daemon.call("Status")["embedder"]["paused"] is True
    assert daemon.call("SetEmbedding", paused=False) == {"paused": False}
    assert embedded(daemon, root)["degraded"] == []
    until(lambda: not query(daemon, root, "how is it paid by card")["degraded"], "nothing is missing")


def _sources(daemon: DaemonProcess, root: Path, text: str) -> set[str]:
    return {source for result in query(daemon, root, text)["results"] for source in result["sources"]}


def test_an_idle_embedder_ends_and_comes_back(tmp_path: Path) -> None:
    write_files(tmp_path, {"config/config.toml": "[embedding]\nidle_minutes = 0.05\n"})
    root = write_files(tmp_path / "p", {"a.py": "def login(user):\n    return open_session(user)\n"})
    with searching(tmp_path) as daemon:
        embedded(daemon, root)
        contents = embeddings(daemon)
        until(lambda: daemon.call("Status")["embedder"]["pid"] is None, "it rests")
        assert status(daemon, root)["degraded"] == []
        until(lambda: not query(daemon, root, LOGIN)["degraded"], "it is back")
        assert daemon.call("Status")["embedder"]["loaded"]
        assert embeddings(daemon) == contents


def test_a_question_while_everything_is_being_loaded(daemon: DaemonProcess, tmp_path: Path) -> None:
    root = write_files(tmp_path / "p", PROJECT)
    replies = [query(daemon, root, "send_receipt") for _ in range(5)]
    until(lambda: bool(query(daemon, root, "send_receipt")["results"]), "it is found")
    for reply in replies:
        assert reply["results"] or reply["degraded"] or "hint" in reply
    embedded(daemon, root)
    daemon.stop()
    reply = query(daemon, root, "send_receipt")
    assert reply["results"][0]["path"] == "src/shop/mail.py", "what was known answers at once"


HEAVY = ("numpy", "onnxruntime", "onnx", "fastembed", "huggingface_hub", "tokenizers")


def test_the_daemon_never_loads_what_embeds() -> None:
    code = (
        "import sys, foveal.daemon.app.server, foveal.daemon.search.router, foveal.daemon.search.results\n"
        f"print([name for name in {HEAVY} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_daemon_that_answers_has_not_loaded_it_either(shared: DaemonProcess, asked: str) -> None:
    assert found(shared, asked, LOGIN)
    maps = Path(f"/proc/{shared.pid}/maps").read_text()
    assert not [name for name in HEAVY if f"/{name}/" in maps]
