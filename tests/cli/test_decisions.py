"""Decisions are listed, shown, changed, deleted, restored and pruned from the command line, over a real daemon."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest
from foveal.cli import decision_lines, terminal

from tests.command_cases import CommandLine
from tests.conftest import git, write_files


def decide(foveal: CommandLine, text: str, *more: str) -> str:
    [identifier] = foveal.json("decide", text, *more)["experience_ids"]
    assert isinstance(identifier, str)
    return identifier


def decided(foveal: CommandLine, *arguments: str) -> list[str]:
    return [experience["decision"] for experience in foveal.json("decisions", *arguments)["experiences"]]


def test_a_decision_is_changed_and_shows_its_history(foveal: CommandLine) -> None:
    first = decide(foveal, "use WAL", "--why", "readers", "--file", "README.md")
    said = foveal.says("decisions", "edit", first, "--decision", "use files", "--why", "", "--no-files")
    assert said.splitlines()[1:] == ["  use files"]
    foveal.says("decisions", "mark", first, "--outcome", "failure", "--error", "too slow", "--trust", "low")
    lines = foveal.says("decisions", "show", first).splitlines()
    assert lines[0].endswith("[failure, low trust]")
    assert "  error: too slow" in lines
    assert "  session: command-line" in lines
    assert lines[-2].endswith("  changed: decision use files; rationale none; files none")
    assert lines[-1].endswith("  changed: trust low; outcome failure")
    shown = foveal.json("decisions", "show", first)
    assert [edit["kind"] for edit in shown["history"]] == ["update", "update"]
    assert foveal.json("decisions", "mark", first, "--outcome", "none")["experience"].get("outcome") is None
    foveal.says("decisions", "edit", first, "--file", "src/shop/auth.py")
    assert foveal.json("decisions", "show", first)["experience"]["files_touched"] == ["src/shop/auth.py"]


def test_a_file_that_is_not_there_is_refused(foveal: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    first = decide(foveal, "tokens expire", "--file", "src/shop", "--file", "src/shop/auth.py")
    root = str(foveal.folder)
    monkeypatch.chdir(foveal.folder / "src")
    for command in (("decide", "x"), ("decisions", "edit", first)):
        for given, where in (
            ("shop/atuh.py", f"in {root}/src or in {root}"),
            ("./src/shop/auth.py", f"in {root}/src or in {root}"),
            (f"{root}/gone.py", ""),
        ):
            told = foveal.fails(*command, "--file", "shop/auth.py", "--file", given)
            assert told.startswith(f"error: there is no {given} {where}".rstrip().replace(" or in ", " or "))
            assert "--allow-missing takes a file that was deleted" in told
    assert decided(foveal) == ["tokens expire"]
    files = ("--file", "src/shop/auth.py", "--file", "shop/auth.py", "--file", "old.py", "--allow-missing")
    noted = foveal.json("decisions", "show", decide(foveal, "drop the old API", *files))["experience"]
    assert noted["files_touched"] == ["src/shop/auth.py", "old.py"]


def test_a_decision_is_deleted_and_comes_back(foveal: CommandLine) -> None:
    first = decide(foveal, "use WAL")
    assert foveal.says("decisions", "delete", first) == f"deleted: {first}\n"
    assert foveal.says("decisions", "delete", first) == f"deleted already: {first}\n"
    assert decided(foveal) == []
    assert decided(foveal, "--deleted") == ["use WAL"]
    assert "deleted: foveal decisions restore" in foveal.says("decisions", "show", first)
    code, output, errors = foveal("decide", "use WAL")
    assert (code, output) == (0, "already noted earlier\n")
    assert errors == f"warning: it was deleted as {first}, which can be restored\n"
    assert foveal.says("decisions", "restore", first) == f"restored: {first}\n"
    assert foveal.says("decisions", "restore", first) == f"not deleted before: {first}\n"
    assert decided(foveal) == ["use WAL"]


def test_pruning_shows_first_and_asks(foveal: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    for text in ("one", "two", "three"):
        decide(foveal, text, "--outcome", "success", "--file", "gone.py", "--allow-missing")
    decide(foveal, "four", "--file", "README.md")
    code, output, errors = foveal("decisions", "prune", "--outcome", "success", "--dry-run")
    assert code == 0
    assert [line for line in output.splitlines() if line in {"  one", "  two", "  three"}] == [
        "  three", "  two", "  one",
    ]  # fmt: skip
    assert errors == "note: 3 decisions would go for good, 1 would be left\n"
    refused = foveal.fails("decisions", "prune", "--keep", "3")
    assert refused == "error: can't prompt: stdin is not a terminal; pass --yes\n"
    assert len(decided(foveal)) == 4

    def answer(yes: bool) -> None:
        monkeypatch.setattr(click, "confirm", lambda text, err: yes)

    monkeypatch.setattr(terminal, "is_terminal", lambda stream: True)
    answer(False)
    assert foveal("decisions", "prune", "--keep", "3")[0] == 0
    assert len(decided(foveal)) == 4
    answer(True)
    assert foveal("decisions", "prune", "--keep", "3")[1].endswith("pruned: 1, 3 are left\n")
    assert decided(foveal) == ["four", "three", "two"]


def test_lines_in_quarantine(foveal: CommandLine) -> None:
    assert foveal.says("decisions", "quarantine") == "no lines in quarantine\n"


def test_decisions_are_exported_and_imported_with_their_provenance(
    foveal: CommandLine, tmp_path: Path
) -> None:
    first = (
        "tokens expire",
        "--agent",
        "bob",
        "--session",
        "s-1",
        "--why",
        "audit",
        "--file",
        "src/shop/auth.py",
    )
    decide(foveal, *first)
    other = decide(
        foveal, "use JWT", "--agent", "eve", "--session", "s-2", "--outcome", "failure", "--error", "long"
    )
    foveal.json("decisions", "mark", other, "--trust", "low")
    lines = foveal.says("decisions", "export").splitlines()
    assert [json.loads(line)["decision"] for line in lines] == ["tokens expire", "use JWT"]
    exported = write_files(tmp_path, {"decisions.jsonl": "\n".join(lines)}) / "decisions.jsonl"
    copy = str(write_files(tmp_path / "copy", {".git/HEAD": "", "src/shop/auth.py": ""}))
    assert (
        foveal.says("decisions", "import", str(exported), "--cwd", copy) == "imported: 2, known already: 0\n"
    )
    assert (
        foveal.says("decisions", "import", str(exported), "--cwd", copy) == "imported: 0, known already: 2\n"
    )
    edited = ("decisions", "edit", other, "--decision", "use short-lived JWT")
    foveal.says(*edited)
    newer = "\n".join(foveal.says("decisions", "export").splitlines())
    write_files(tmp_path, {"newer.jsonl": newer})
    for place in (copy, str(foveal.folder)):
        again = foveal.says("decisions", "import", str(tmp_path / "newer.jsonl"), "--cwd", place)
        assert again == "imported: 0, known already: 2\n", "an edit makes no second decision"
    kept = ("agent_id", "session_id", "timestamp", "rationale", "files_touched", "outcome")
    for before, after in zip(
        lines, foveal.says("decisions", "export", "--cwd", copy).splitlines(), strict=True
    ):
        old, new = json.loads(before), json.loads(after)
        assert {name: old.get(name) for name in kept} == {name: new.get(name) for name in kept}
        assert old["provenance"]["trust"] == new["provenance"]["trust"]


def test_more_decisions_of_one_moment_than_fit_on_a_page_are_exported(
    foveal: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decision_lines, "EXPORT_PAGE", 4)
    moment = {"agent_id": "eve", "session_id": "s", "timestamp": "2025-01-31T12:00:00Z"}
    given = [f"decision {number}" for number in range(11)]
    lines = "\n".join(json.dumps({"decision": text, **moment}) for text in given)
    file = write_files(tmp_path, {"many.jsonl": lines}) / "many.jsonl"
    assert foveal.says("decisions", "import", str(file)) == "imported: 11, known already: 0\n"
    exported = foveal.says("decisions", "export").splitlines()
    assert sorted(json.loads(line)["decision"] for line in exported) == sorted(given)
    assert len(foveal.json("decisions", "export")["experiences"]) == 11


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "line 2 is no JSON"),
        ('{"why": "x"}', "line 2 has no decision"),
        ("[]", "line 2 has no decision"),
        ('{"decision": "x"}', "line 2 has no agent_id"),
        ('{"decision": "x", "agent_id": "a"}', "line 2 has no session_id"),
    ],
)
def test_a_line_that_is_no_decision_keeps_all_from_being_imported(
    foveal: CommandLine, tmp_path: Path, line: str, problem: str
) -> None:
    good = '{"decision": "use JWT", "agent_id": "eve", "session_id": "s"}'
    file = write_files(tmp_path, {"bad.jsonl": f"{good}\n{line}\n"}) / "bad.jsonl"
    assert problem in foveal.fails("decisions", "import", str(file))
    assert decided(foveal) == []


def test_decisions_of_other_work_trees_and_of_a_moved_project(foveal: CommandLine) -> None:
    root = foveal.folder
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "first")
    git(root, "worktree", "add", "-q", "../linked")
    (root / "new.py").write_text("new = 1\n")
    decide(foveal, "new things", "--file", "new.py")
    foveal.at(root.parent / "linked")
    code, output, errors = foveal("decisions")
    assert (code, output) == (0, "no decisions\n")
    assert errors == "note: 1 more in other work trees; --all-worktrees shows them\n"
    lines = foveal.says("decisions", "--all-worktrees").splitlines()
    assert lines[1:] == ["  new things", "  files: new.py", f"  work tree: {root.name}"]
    exported = json.loads(foveal.says("decisions", "export"))
    assert exported["decision"] == "new things", "all of them"
    assert f"1 of the repository's decisions stay, for its other work trees: {root}." in foveal.says(
        "forget", "--dry-run"
    )
    moved = root.parent / "moved"
    foveal.at(root.parent)
    foveal.says("close", str(root))
    root.rename(moved)
    foveal.at(moved)
    question = f"this looks like the project that was at {root} (1 decision)"
    assert question in foveal("decisions")[2]
    assert question in foveal.says("status")
    assert foveal.says("decisions", "adopt", str(root)) == f"1 decision taken over from {root}\n"
    assert decided(foveal) == ["new things"]
    told = foveal.fails("decisions", "adopt", "../other", "--never")
    assert told.startswith(
        f"error: no project of this repository with decisions is known at '{root.parent}/other'"
    )
