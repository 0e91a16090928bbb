"""A resumed session begins with what it was about: the files that exist, how many don't, the applet, other sets."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from foveal.daemon.core.system import System
from foveal.daemon.sessions.context_sets import Applet, exists_on, resume_text
from foveal.daemon.sessions.session import Session

EMPTY = Session("s1", "/project", "2025-01-01T00:00:00.000Z")


def test_the_text_says_all_that_is_set(tmp_path: Path) -> None:
    here = tmp_path / "notes.md"
    here.touch()
    gone = [str(tmp_path / name) for name in ("a.md", "b.md")]
    session = Session(
        "s1", "/project", "2025-01-01T00:00:00.000Z",
        current_intent="fix the login",
        env_hint="NODE_ENV=test\nTZ=UTC",
        context={
            "files": (str(here), *gone, str(tmp_path)),
            "applet": ("board", "tab=2", "id=7"),
            "endpoints": ("http://localhost:8080/", "https://a.example/"),
            "ports": ("80", "8080"),
            "people": ("Ada",),
        },
    )  # fmt: skip
    resume = resume_text(session, exists_on(System()))
    assert resume.text == (
        "Context of this session, as it was left:\n"
        "Intent: fix the login\n"
        "Environment:\n"
        "  NODE_ENV=test\n"
        "  TZ=UTC\n"
        "Relevant files:\n"
        f"- {here}\n"
        f"- {tmp_path}\n"
        "(2 files not found)\n"
        "Last applet: board (tab=2, id=7)\n"
        "endpoints: http://localhost:8080/, https://a.example/\n"
        "ports: 80, 8080\n"
        "people: Ada"
    )
    assert resume.context == session.context
    assert resume.files == (str(here), str(tmp_path))
    assert resume.missing_files == tuple(gone)
    assert resume.applet == Applet("board", {"tab": "2", "id": "7"})


def test_nothing_is_said_where_nothing_is_set() -> None:
    resume = resume_text(EMPTY, exists_on(System()))
    assert (resume.text, resume.context, resume.missing_files, resume.applet) == ("", {}, (), None)


def test_each_part_stands_alone() -> None:
    def check(session: Session, *expected: str) -> None:
        lines = resume_text(session, lambda path: path == "/there").text.split("\n")
        assert lines == ["Context of this session, as it was left:", *expected]

    def with_context(**context: tuple[str, ...]) -> Session:
        return Session("s1", "/project", "2025-01-01T00:00:00.000Z", context=context)

    check(with_context(files=("/there",)), "Relevant files:", "- /there")
    check(with_context(files=("/gone",)), "Relevant files:", "(1 file not found)")
    check(with_context(applet=("board",)), "Last applet: board")
    check(with_context(ports=("80",)), "ports: 80")


def test_what_cannot_be_looked_at_counts_as_missing(tmp_path: Path) -> None:
    class Refusing(System):
        def stat(self, path: str) -> os.stat_result:
            if path == "/refused":
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
            return super().stat(path)

    exists = exists_on(Refusing())
    loop, dangling = tmp_path / "loop", tmp_path / "dangling"
    loop.symlink_to(loop)
    dangling.symlink_to(tmp_path / "nothing")
    for path in ("/refused", "/a\0b", str(loop), str(dangling), "/" + "x" * 5_000):
        assert not exists(path)
    link = tmp_path / "link"
    link.symlink_to(tmp_path)
    assert exists(str(link))
