"""What was edited or decided about after it was shown weighs more for later prompts, and can be forgotten."""

from __future__ import annotations

from pathlib import Path

from foveal.daemon.context.feedback import feedback_path
from foveal.daemon.project.roots import project_folder

from tests.command_cases import CommandLine
from tests.conftest import DaemonProcess, git, write_files


def test_a_decision_about_a_file_lets_it_weigh_more(shared_daemon: DaemonProcess, tmp_path: Path) -> None:
    text = "def pay_invoice() -> None:\n    'Pay an invoice of a customer.'\n"
    root = str(write_files(tmp_path / "kite", {"pay.py": text, "other.py": "x = 1\n", "third.py": "y = 2\n"}))
    shared_daemon.open_ready(root)
    asked = {"cwd": root, "prompt": "how is an invoice paid?"}
    before = next(
        one for one in shared_daemon.call("GetContext", **asked)["slices"] if one.get("path") == "pay.py"
    )
    experience = {"decision": "Invoices are paid at once", "agent_id": "a", "session_id": "s"}
    shared_daemon.call("GraftExperience", cwd=root, experience={**experience, "files_touched": ["pay.py"]})
    assert shared_daemon.call("GetFeedback", cwd=root)["boosts"] == [{"path": "pay.py", "boost": 1.05}]
    after = next(
        one for one in shared_daemon.call("GetContext", **asked)["slices"] if one.get("path") == "pay.py"
    )
    assert "of use before (x1.05)" in after["source"]
    assert before["weight"] <= after["weight"] <= 1.0
    assert shared_daemon.call("ClearFeedback", cwd=root)["cleared"] == 1
    again = next(
        one for one in shared_daemon.call("GetContext", **asked)["slices"] if one.get("path") == "pay.py"
    )
    assert again["weight"] == before["weight"]


def test_it_can_be_switched_off(shared_daemon: DaemonProcess, tmp_path: Path) -> None:
    files = {
        "pay.py": "def pay_invoice(): ...\n",
        "foveal.toml": "[context]\nfeedback = false\n",
        ".git/HEAD": "",
    }
    root = str(write_files(tmp_path / "kite", files))
    shared_daemon.open_ready(root)
    experience = {"decision": "Paid at once", "agent_id": "a", "session_id": "s", "files_touched": ["pay.py"]}
    shared_daemon.call("GraftExperience", cwd=root, experience=experience)
    assert shared_daemon.call("GetFeedback", cwd=root)["enabled"] is False
    reply = shared_daemon.call("GetContext", cwd=root, prompt="pay_invoice")
    assert "of use before" not in str(reply["slices"])


def test_the_command_shows_and_forgets_it(foveal: CommandLine) -> None:
    assert "no file or item stands out yet" in foveal.says("feedback")
    foveal.says("decide", "Paid at once", "--file", "pay.py", "--allow-missing")
    assert "pay.py" in foveal.says("feedback")
    assert foveal.json("feedback")["boosts"][0]["boost"] == 1.05
    assert foveal.says("feedback", "--clear") == "forgotten: 1 file or item\n"
    assert foveal.json("feedback")["boosts"] == []


def test_a_checkout_is_no_use(shared_daemon: DaemonProcess, tmp_path: Path) -> None:
    root = write_files(tmp_path / "kite", {"pay.py": "def pay_invoice(): ...\n"})
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "one")
    git(root, "checkout", "-qb", "other")
    (root / "pay.py").write_text("def pay_invoice(now): ...\n")
    git(root, "commit", "-qam", "two")
    shared_daemon.open_ready(root)
    asked = {"cwd": str(root), "prompt": "pay_invoice", "fresh": "tree"}
    assert "now" in shared_daemon.call("GetContext", **asked)["context"]
    git(root, "checkout", "-q", "main")
    assert "pay_invoice()" in shared_daemon.call("GetContext", **asked)["context"]
    assert shared_daemon.call("GetFeedback", cwd=str(root))["boosts"] == []


def test_an_edit_of_what_was_shown_is_use(shared_daemon: DaemonProcess, tmp_path: Path) -> None:
    root = write_files(tmp_path / "kite", {"pay.py": "def pay_invoice(): ...\n"})
    shared_daemon.open_ready(root)
    asked = {"cwd": str(root), "prompt": "pay_invoice", "fresh": "tree"}
    shared_daemon.call("GetContext", **asked)
    (root / "pay.py").write_text("def pay_invoice(later): ...\n")
    boosts: list[object] = []
    while not boosts:  # until the watcher tells of it
        boosts = shared_daemon.call("GetFeedback", cwd=str(root))["boosts"]
    assert boosts == [{"path": "pay.py", "boost": 1.05}]


def test_what_cannot_be_written_is_told_and_written_later(
    shared_daemon: DaemonProcess, tmp_path: Path
) -> None:
    root = str(write_files(tmp_path / "kite", {"pay.py": "x = 1\n", ".git/HEAD": ""}))
    shared_daemon.open_ready(root)
    file = Path(feedback_path(project_folder(str(shared_daemon.state), root)))
    file.unlink(missing_ok=True)
    file.mkdir()  # a file can't take a folder's place

    def problems() -> str:
        shared_daemon.call("ClearFeedback", cwd=root)
        return str(shared_daemon.call("Status", cwd=root)["projects"])

    assert "feedback on what was useful can't be written" in problems()
    file.rmdir()
    assert "usage feedback" not in problems()
    assert file.is_file()
