"""Questions to a real daemon with the real model: what is found, what costs nothing, what survives a kill."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from foveal.daemon.embedding.records import INCOMPLETE

from tests.conftest import (
    SMALL_PROJECT,
    DaemonProcess,
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


@pytest.mark.parametrize(
    "text",
    [
        "", "the of and a", "\U0001f600\U0001f389", "如何登录用户", "\x00\x1b[2J", "a" * 10_000, "* AND (OR) NOT \"",
        "'; DROP TABLE chunks; --", "[a-z]+(", "path:src lang:py", "../../etc/passwd", "fn()->Result<(), E>",
    ],
)  # fmt: skip
def test_any_text_is_a_question(shared: DaemonProcess, asked: str, text: str) -> None:
    reply = query(shared, asked, text)
    assert reply["degraded"] == []
    assert reply["evidence"]
    if not text.strip():
        assert (reply["results"], "hint" in reply) == ([], True)


def test_a_deadline_that_has_passed_leaves_the_rest(shared: DaemonProcess, asked: str) -> None:
    reply = query(shared, asked, "invoice total", deadline_ms=0)
    assert reply["results"][0]["path"] == "src/shop/invoice.py"
    assert any("by meaning" in reason for reason in reply["degraded"])


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


# What breaks


def kill_embedder(daemon: DaemonProcess) -> None:
    pid = daemon.call("Status")["embedder"]["pid"]
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    until(lambda: daemon.call("Status")["embedder"]["pid"] not in {None, pid}, "another one has started")


def kill_daemon(daemon: DaemonProcess) -> None:
    daemon.stop(signal.SIGKILL)


@pytest.mark.parametrize("kill", [kill_embedder, kill_daemon])
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
    until(lambda: not query(daemon, root, "job_100")["degraded"], "all run again")
    assert embeddings(daemon) == files, "nothing is embedded twice"
    assert found(daemon, root, "job_100")[0] == "m100.py"
    assert len(found(daemon, root, "take something from a queue", limit=1_000)) > 60


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


HEAVY = ("numpy", "onnxruntime", "onnx", "fastembed", "huggingface_hub", "tokenizers")


def test_a_daemon_that_answers_has_not_loaded_it_either(shared: DaemonProcess, asked: str) -> None:
    assert found(shared, asked, LOGIN)
    maps = Path(f"/proc/{shared.pid}/maps").read_text()
    assert not [name for name in HEAVY if f"/{name}/" in maps]


def test_a_restart_changes_no_byte_of_a_context(tmp_path: Path) -> None:
    root = str(write_files(tmp_path / "shop", PROJECT))
    prompts = (LOGIN, "how do customers pay?", "what happens before the server is started again?", "total")

    def ask(daemon: DaemonProcess, prompt: str, tokens: int) -> dict[str, Any]:
        params = {"prompt": prompt, "max_tokens": tokens, "reserve_tokens": 0}
        reply: dict[str, Any] = daemon.call("GetContext", cwd=root, **params)
        return reply

    answers = []
    for _ in range(2):
        with searching(tmp_path) as daemon:
            daemon.open_ready(root)
            embedded(daemon, root)
            until(
                partial(lambda one: not ask(one, "anything", 500)["degraded"], daemon), "the model is loaded"
            )
            replies = [ask(daemon, prompt, tokens) for prompt in prompts for tokens in (2_000, 8_000)]
            assert not any(reply["degraded"] for reply in replies)
            answers.append([(reply["context"], reply["slices"]) for reply in replies])
    assert answers[0] == answers[1]
