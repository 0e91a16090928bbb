"""The methods about experiences over a real daemon: they are changed, pruned, told to subscribers, and survive."""

from __future__ import annotations

import subprocess
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import DEADLINE_S, DaemonProcess, git, running_daemon, write_files


@pytest.fixture
def root(tmp_path: Path) -> str:
    root = write_files(tmp_path / "shop", {"README.md": "# Shop\n", "src/auth.py": "def login(): ...\n"})
    git(root, "init", "-q")
    return str(root)


def graft(daemon: DaemonProcess, root: str, decision: str, **more: Any) -> str:
    experience = {"decision": decision, "agent_id": "claude", "session_id": "s1", **more}
    [identifier] = daemon.call("GraftExperience", cwd=root, experience=experience)["experience_ids"]
    assert isinstance(identifier, str)
    return identifier


def listed(daemon: DaemonProcess, root: str, **filters: Any) -> list[str]:
    reply = daemon.call("ListExperiences", cwd=root, **filters)
    return [one["decision"] for one in reply["experiences"]]


def context(daemon: DaemonProcess, root: str) -> str:
    text = daemon.call("GetContext", cwd=root, focus_paths=["src/auth.py"])["context"]
    assert isinstance(text, str)
    return text


def test_a_change_shows_in_the_next_context(shared_daemon: DaemonProcess, root: str) -> None:
    first = graft(shared_daemon, root, "Sessions end after an hour", files_touched=["src/auth.py"])
    assert "Sessions end after an hour" in context(shared_daemon, root)
    reply = shared_daemon.call(
        "UpdateExperience", cwd=root, experience_id=first, decision="Sessions end after a day",
        outcome={"kind": "failure", "error": "too long"},
    )  # fmt: skip
    assert reply["experience"]["decision"] == "Sessions end after a day"
    assert reply["experience"]["outcome"] == {"kind": "failure", "error": "too long"}
    assert "claude: Sessions end after a day (failed: too long)" in context(shared_daemon, root)
    reply = shared_daemon.call("UpdateExperience", cwd=root, experience_id=first, commit="0123abcd")
    assert reply["experience"]["commit"] == "0123abcd"
    assert reply["history"][-1]["commit"] == "0123abcd"
    reply = shared_daemon.call("DeleteExperience", cwd=root, experience_id=first)
    assert (reply["deleted"], reply["experience"]["experience_id"]) == (True, first)
    assert "Sessions end" not in context(shared_daemon, root)
    assert listed(shared_daemon, root) == []
    assert listed(shared_daemon, root, deleted=True) == ["Sessions end after a day"]
    assert shared_daemon.call("DeleteExperience", cwd=root, experience_id=first)["deleted"] is False
    assert shared_daemon.call("RestoreExperience", cwd=root, experience_id=first)["restored"] is True
    assert "Sessions end after a day" in context(shared_daemon, root)
    found = shared_daemon.call("GetExperience", cwd=root, experience_id=first)
    assert [edit["kind"] for edit in found["history"]] == ["update", "update", "delete", "restore"]
    assert found["history"][0]["decision"] == "Sessions end after a day"
    assert found["deleted"] is False


def test_the_outcome_that_is_shown_is_listed_and_pruned_by(shared_daemon: DaemonProcess, root: str) -> None:
    first = graft(shared_daemon, root, "Keep sessions in Redis", files_touched=["src/auth.py"])
    graft(shared_daemon, root, "Redis lost them", rationale=f"undoes {first}", outcome={"kind": "reverted"})
    for kind in ("", "success", "failure", "reverted"):
        if kind:  # a person says so after the mark
            about = {"experience_id": first, "outcome": {"kind": kind}}
            assert shared_daemon.call("UpdateExperience", cwd=root, **about)["experience"]["marks"]
        text = context(shared_daemon, root)
        shown = kind or "reverted"
        note = {"reverted": " (reverted)", "failure": " (failed)"}.get(shown, "")
        assert f"claude: Keep sessions in Redis{note}\n" in text
        for asked in ("success", "failure", "reverted"):
            is_it = asked == shown
            assert ("Keep sessions in Redis" in listed(shared_daemon, root, outcome=asked)) is is_it
            pruned = shared_daemon.call("PruneExperiences", cwd=root, outcomes=[asked], dry_run=True)
            assert (first in {one["experience_id"] for one in pruned["experiences"]}) is is_it


def test_the_commit_is_noted(shared_daemon: DaemonProcess, root: str) -> None:
    git(Path(root), "add", ".")
    git(Path(root), "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "first")
    head = subprocess.run(
        ["git", "-C", root, "rev-parse", "HEAD"], capture_output=True, text=True, check=True
    ).stdout.strip()

    def commit(experience_id: str) -> str:
        found = shared_daemon.call("GetExperience", cwd=root, experience_id=experience_id)["experience"]
        assert isinstance(found["commit"], str)
        return found["commit"]

    assert commit(graft(shared_daemon, root, "now")) == head
    assert commit(graft(shared_daemon, root, "given", commit="abc")) == "abc"
    assert commit(graft(shared_daemon, root, "then", timestamp="2020-01-01")) == "", (
        "another one, most likely"
    )


def test_a_revert_in_git_is_the_outcome_though_no_hook_tells_of_it(
    shared_daemon: DaemonProcess, root: str
) -> None:
    def commit(*arguments: str) -> None:
        git(Path(root), "-c", "user.name=a", "-c", "user.email=a@b", *arguments)

    def outcome() -> Any:
        return shared_daemon.call("GetExperience", cwd=root, experience_id=made)["experience"].get("outcome")

    commit("commit", "-q", "--allow-empty", "-m", "first")
    made = graft(shared_daemon, root, "Sign in without a password", files_touched=["src/auth.py"])
    git(Path(root), "add", ".")
    commit("commit", "-q", "-m", "Sign in")
    commit("revert", "--no-edit", "HEAD")
    pruned = shared_daemon.call("PruneExperiences", cwd=root, outcomes=["reverted"], dry_run=True)
    assert [one["experience_id"] for one in pruned["experiences"]] == [made]
    commit("revert", "--no-edit", "HEAD")
    assert outcome() is None, "the revert is reverted"
    commit("revert", "--no-edit", "HEAD")
    assert "Sign in without a password (reverted" in context(shared_daemon, root)
    assert outcome() == {"kind": "reverted"}
    assert listed(shared_daemon, root, outcome="reverted") == ["Sign in without a password"]


def test_pruning_by_each_criterion(shared_daemon: DaemonProcess, root: str) -> None:
    graft(shared_daemon, root, "old", timestamp="2020-01-01")
    graft(shared_daemon, root, "gone", files_touched=["gone.py", "src/gone.py"], timestamp="2021-01-01")
    graft(shared_daemon, root, "here", files_touched=["gone.py", "src/auth.py"], timestamp="2022-01-01")
    graft(shared_daemon, root, "fine", outcome={"kind": "success"}, timestamp="2023-01-01")

    def prune(expected: list[str], **criteria: Any) -> None:
        dry = shared_daemon.call("PruneExperiences", cwd=root, dry_run=True, **criteria)
        assert dry["dry_run"] is True
        assert dry["pruned"] + dry["kept"] == len(listed(shared_daemon, root))
        done = shared_daemon.call("PruneExperiences", cwd=root, **criteria)
        assert [one["decision"] for one in done["experiences"]] == expected
        assert done == {**dry, "dry_run": False}

    prune([], max_age_days=36_500)
    prune(["gone"], irrelevant=True)
    prune(["fine"], outcomes=["success"])
    prune(["old"], max_count=1)
    graft(shared_daemon, root, "new")
    prune(["here"], max_age_days=300, outcomes=["none"])
    prune(["new"], max_count=0)
    assert listed(shared_daemon, root) == []


def test_pages_go_through_experiences_of_one_moment(shared_daemon: DaemonProcess, root: str) -> None:
    decisions = [f"d{number}" for number in range(7)]
    for decision in decisions:
        graft(shared_daemon, root, decision, timestamp="2025-01-31T12:00:00Z", rationale="r" * 60_000)

    def pages(**params: Any) -> list[list[str]]:
        found: list[list[str]] = []
        more: dict[str, Any] | None = {}
        while more is not None:
            reply = shared_daemon.call("ListExperiences", cwd=root, **params, **more)
            assert reply["total"] == len(decisions)
            found.append([one["decision"] for one in reply["experiences"]])
            more = {"before": reply["next"]} if "next" in reply else None
        return found

    assert [len(page) for page in pages(limit=3)] == [3, 3, 1]
    assert sorted(chain.from_iterable(pages(limit=3))) == decisions
    assert [len(page) for page in pages(limit=7)] == [7]
    assert pages(limit=0) == [[]]
    assert shared_daemon.error("ListExperiences", cwd=root, before="x").data == {"field": "before"}


def test_page_ends_before_it_is_too_large_for_a_message(shared_daemon: DaemonProcess, root: str) -> None:
    for number in range(140):
        graft(shared_daemon, root, f"{number} {'🦊' * 16_000}", rationale="🦉" * 16_000)
    first = shared_daemon.call("ListExperiences", cwd=root, limit=1_000)
    rest = shared_daemon.call("ListExperiences", cwd=root, limit=1_000, before=first["next"])
    assert len(first["experiences"]) + len(rest["experiences"]) == first["total"] == 140
    assert "next" not in rest


def test_what_can_not_be_asked(shared_daemon: DaemonProcess, root: str) -> None:
    def check(code: str, method: str, **params: Any) -> Any:
        error = shared_daemon.error(method, cwd=root, **params)
        assert error.code == code
        return error

    for method in ("GetExperience", "UpdateExperience", "DeleteExperience", "RestoreExperience"):
        check("invalid_params", method)
        check("invalid_params", method, experience_id=" ")
        check("not_found", method, experience_id="x_none", trust="low")
    first = graft(shared_daemon, root, "d")
    assert check("invalid_params", "UpdateExperience", experience_id=first).data == {"field": "decision"}
    check("invalid_params", "UpdateExperience", experience_id=first, outcome={"kind": "odd"})
    check("invalid_params", "UpdateExperience", experience_id=first, decision="d" * 70_000)
    check("invalid_params", "PruneExperiences")
    check("invalid_params", "PruneExperiences", dry_run=True)
    check("invalid_params", "PruneExperiences", outcomes=["odd"])
    check("invalid_params", "PruneExperiences", max_count=-1)
    check("invalid_params", "ListExperiences", outcome="odd")
    check("invalid_params", "ListExperiences", until="tomorrow")
    check("invalid_params", "ListQuarantine", limit=-1)
    shared_daemon.call("DeleteExperience", cwd=root, experience_id=first)
    assert (
        "restore it first" in check("not_found", "UpdateExperience", experience_id=first, trust="low").message
    )


def test_changes_are_told(shared_daemon: DaemonProcess, root: str) -> None:
    with shared_daemon.subscribed("experience.grafted", "experience.changed") as client:
        first = graft(shared_daemon, root, "d")
        calls: list[tuple[str, dict[str, Any]]] = [
            ("UpdateExperience", {"experience_id": first, "rationale": "r"}),
            ("DeleteExperience", {"experience_id": first}),
            ("DeleteExperience", {"experience_id": first}),
            ("RestoreExperience", {"experience_id": first}),
            ("PruneExperiences", {"max_count": 0, "dry_run": True}),
            ("PruneExperiences", {"max_count": 0}),
        ]
        for method, params in calls:
            shared_daemon.call(method, cwd=root, **params)
        events = client.events(DEADLINE_S)
        grafted = next(events)
        assert (grafted["topic"], grafted["data"]["experience_ids"]) == ("experience.grafted", [first])
        for change in ("updated", "deleted", "restored", "pruned"):
            event = next(events)
            assert event["topic"] == "experience.changed"
            assert event["data"] == {
                "project": root, "change": change, "count": 1, "experience_ids": [first],
            }  # fmt: skip


def test_the_users_configuration_shares_a_pool_and_limits_the_private_one(tmp_path: Path, root: str) -> None:
    settings = '[experience]\npath = "team/decisions.jsonl"\nmax_count = 1\n'
    write_files(tmp_path / "d", {"config/config.toml": settings})
    with running_daemon(tmp_path / "d") as daemon:
        graft(daemon, root, "shared")
        assert "shared" in (Path(root) / "team" / "decisions.jsonl").read_text()
        assert listed(daemon, root) == ["shared"]
        assert list(daemon.state.rglob("experiences.jsonl")) == []
        pool = daemon.call("Status", cwd=root)["projects"][0]["pool"]
        assert (pool["shared"], pool["files"], pool["retired"], pool["problem"]) == (
            "team/decisions.jsonl", 1, 0, None,
        )  # fmt: skip


def test_a_repository_alone_shares_no_pool(shared_daemon: DaemonProcess, root: str) -> None:
    write_files(Path(root), {"foveal.toml": '[experience]\npath = "decisions.jsonl"\n'})
    graft(shared_daemon, root, "mine")
    assert not (Path(root) / "decisions.jsonl").exists()
    assert listed(shared_daemon, root) == ["mine"]
    degraded = shared_daemon.call("Status", cwd=root)["projects"][0]["degraded"]
    assert any("the project is not trusted" in reason for reason in degraded)
