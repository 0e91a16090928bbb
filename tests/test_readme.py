"""Each command of the README runs on a real project and prints what the README says of it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import need_tool, write_files

README = Path(__file__).parents[1] / "README.md"

SHOP = {
    "README.md": "# Shop\n\nSells things.\n",
    "CLAUDE.md": "Use tabs nowhere.\n",
    "src/auth.py": '''"""Who is logged in."""

from src.store import save

EXPIRES_S = 3600


class Session:
    """Sessions expire an hour after the login."""

    def login(self, name: str) -> None:
        """Begin the session."""
        self.name = name
        save(name)


def load_session(name: str) -> Session:
    """Return a session that hasn't expired."""
    session = Session()
    session.login(name)
    return session
''',
    "src/store.py": 'def save(name: str) -> None:\n    """Write a session to the store."""\n    print(name)\n',
    "src/cart.py": "from src.auth import load_session\n\n\ndef pay(name: str) -> str:\n"
    '    """Pay for the cart of a session."""\n    return load_session(name).name\n',
    "tests/test_auth.py": "from src.auth import load_session\n\n\ndef test_login() -> None:\n"
    '    assert load_session("ann").name == "ann"\n',
}

ASKED = {
    "foveal init": "foveal init --yes --no-hosts --question 'how do sessions expire?'",
    "foveal hooks install claude-code --user": "foveal hooks install claude-code --user --yes",
    "foveal dashboard": "foveal dashboard --no-browser",
}
"""What is run in place of a command that asks a person, or opens a browser."""

ELSEWHERE = ("uv tool install .", "cd ~/src/shop")
"""Commands that set up what this test has already: an installed package, a project."""

PRINTS = {
    "foveal init": "foveal uninstall",
    "foveal hooks install": "settings.json",
    "foveal hooks check": "events registered",
    "foveal last": "Sent",
    "foveal why last": "src/auth.py",
    "foveal usage": "TOKENS",
    "foveal dashboard": "http://127.0.0.1:",
    'foveal context "how': "class Session",
    'foveal query "how': "src/auth.py",
    'foveal query "what calls': "load_session",
    'foveal query "what breaks': "pay",
    'foveal query "which tests': "tests/test_auth.py",
    "foveal query Session": "src/auth.py",
    "foveal node": "def login",
    "foveal changes": "HEAD -> work tree",
    "foveal items put": "sql",
    "foveal items list": "sql",
    "foveal items search": "sql",
    "foveal items usage": "request",
    "foveal decide": "",
    "foveal decisions list": "Retries are bounded to three",
    "foveal status": "shop",
    "foveal doctor": "",
    "foveal forget": "shop",
    "foveal down": "",
    "curl": '"context"',
}
"""By the beginning of a command, what its output must have."""


def commands() -> list[str]:
    """Return the commands of the README, without their remarks."""
    blocks = re.findall(r"(?ms)^```console\n(.*?)^```", README.read_text(encoding="utf-8"))
    lines = (line for block in blocks for line in block.splitlines() if line.startswith("$ "))
    return [re.split(r"\s{2,}# ", line.removeprefix("$ "))[0].strip() for line in lines]


@pytest.fixture(scope="module")
def environ(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Give the environment of a person with a project, whose daemon is stopped in the end."""
    home = tmp_path_factory.mktemp("h")
    project = write_files(home / "src" / "shop", SHOP)
    for name in ("run", ".claude"):
        (home / name).mkdir(mode=0o700)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    given = {"HOME": str(home), "XDG_RUNTIME_DIR": str(home / "run"), "PATH": path, "PWD": str(project)}
    git = ["git", "-c", "user.name=Ann", "-c", "user.email=ann@example.org"]
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-qm", "Sell things"]):
        subprocess.run([*git, *arguments], cwd=project, env=given, check=True)
    try:
        yield given
    finally:
        run("foveal down", given)


def run(command: str, environ: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a command as a person would in the project's folder."""
    return subprocess.run(
        ["bash", "-c", command],
        cwd=Path(environ["HOME"]) / "src" / "shop",
        env=environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_every_command_does_what_is_said(environ: dict[str, str]) -> None:
    need_tool("curl")
    # In the order of the page, except that the daemon is stopped last.
    found = sorted(commands(), key="foveal down".__eq__)
    assert len(found) > len(ELSEWHERE) + 20
    for command in found:
        if command in ELSEWHERE:
            continue
        printed = next((text for begin, text in PRINTS.items() if command.startswith(begin)), None)
        assert printed is not None, f"what {command!r} prints isn't known"
        done = run(ASKED.get(command, command), environ)
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        assert printed in done.stdout + done.stderr, f"{command}: {done.stdout}{done.stderr}"


PAGES = sorted({README, *README.parent.glob("*.md"), *README.parent.glob("docs/*.md")})


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)|(?:src|srcset)=\"([^\"]+)\"", text)
    assert len(targets) > 10 or page != README
    for target in ("".join(pair) for pair in targets):
        if not target.startswith(("https:", "http:")):
            assert (page.parent / target).exists(), target
