"""The program starts fast, ends with the right code, and never shows a traceback for what can be foreseen."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import foveal
import pytest
from foveal.ipc.paths import log_file

HEAVY = ("asyncio", "rich", "uvloop", "sqlite3", "watchfiles", "subprocess", "foveal.daemon")
"""What would make a client command slow to start."""

TIMEOUT_S = 60


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """Return an environment in which no daemon runs."""
    (tmp_path / "home").mkdir()
    (tmp_path / "run").mkdir(mode=0o700)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("FOVEAL_", "XDG_"))}
    return kept | {
        "HOME": str(tmp_path / "home"),
        "XDG_RUNTIME_DIR": str(tmp_path / "run"),
        "FOVEAL_STATE_DIR": str(tmp_path / "state"),
        "FOVEAL_CONFIG_DIR": str(tmp_path / "config"),
        "NO_COLOR": "1",
    }


def run(environ: Mapping[str, str], *arguments: str, cwd: Path | None = None) -> tuple[int, str, str]:
    """Run the program as a user would; returns its exit code, output and errors."""
    done = subprocess.run(
        [sys.executable, "-m", "foveal", *arguments],
        check=False,
        env=dict(environ),
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )
    return done.returncode, done.stdout, done.stderr


def write_log(environ: Mapping[str, str], text: str) -> Path:
    path = Path(log_file(environ["FOVEAL_STATE_DIR"]))
    path.parent.mkdir(mode=0o700)
    path.write_text(text)
    return path


def test_version(environ: dict[str, str]) -> None:
    assert run(environ, "--version") == (0, f"foveal {foveal.__version__}\n", "")


def test_usage_errors_end_with_2_and_failures_with_1(environ: dict[str, str]) -> None:
    def check(arguments: list[str], code: int, error: str, hint: str) -> None:
        assert run(environ, *arguments) == (code, "", f"error: {error}\nhint: {hint}\n")

    check(["contxt"], 2, "there is no command 'contxt'", "did you mean foveal context?")
    check(["zzz"], 2, "there is no command 'zzz'", "foveal help --all lists the commands")
    check(["--nope"], 2, "no such option '--nope'", "foveal --help")
    check(
        ["logs", "-n", "x"],
        2,
        "invalid value for '-n' / '--lines': 'x' is not a valid integer range",
        "foveal logs --help",
    )
    check(["status"], 1, "no daemon runs", "foveal up")
    check(["status", "--socket", "/x/y"], 1, "no daemon runs on /x/y", "foveal up --socket /x/y")


def test_a_named_socket_starts_no_daemon(environ: dict[str, str], tmp_path: Path) -> None:
    for command, problem in (
        ("projects", "error: no daemon runs on "),
        ("items list", "error: no daemon listens on "),
    ):
        code, output, errors = run(
            environ, "--socket", str(tmp_path / "run" / "other.sock"), *command.split()
        )
        assert (code, output) == (1, "")
        assert errors.startswith(problem)
    assert not (tmp_path / "state").exists()


def test_bad_places_are_errors_with_a_way_out(environ: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "state").mkdir(mode=0o755)
    code, output, errors = run(environ, "items", "list")
    assert (code, output) == (1, "")
    state = f"{tmp_path}/state"
    assert errors == (f"error: the folder {state} is open to other users; mend it with: chmod 700 {state}\n")


def test_client_commands_import_nothing_heavy() -> None:
    code = (
        "import sys, foveal.cli.app, foveal.cli.context, foveal.cli.status, foveal.cli.decisions\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "[]\n"


def test_the_entry_imports_nothing_before_it_knows_the_program() -> None:
    code = (
        "import sys, foveal.__main__; print([name for name in ('click', 'msgpack') if name in sys.modules])"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "[]\n"


def test_ctrl_c_ends_quietly_with_130(environ: dict[str, str]) -> None:
    write_log(environ, "first line\n")
    code = (  # a background job's children start with SIGINT ignored
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from foveal.__main__ import main; main()"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code, "logs", "--follow"],
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "first line\n"
    child.send_signal(signal.SIGINT)
    output, errors = child.communicate(timeout=TIMEOUT_S)
    assert (child.returncode, output, errors) == (130, "", "")


def test_output_is_utf_8_in_a_pipe_whatever_the_locale(environ: dict[str, str]) -> None:
    write_log(environ, "naïve ✓\n")
    assert run(environ | {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, "logs") == (
        0, "naïve ✓\n", "",
    )  # fmt: skip
