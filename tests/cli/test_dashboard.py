"""`foveal dashboard` opens a browser that is signed in, or says how to come to one, and signs out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.command_cases import CommandLine

ADDRESS = r"http://127\.0\.0\.1:\d+/"
LOGIN = ADDRESS + r"login\?code=[\w-]{43}"


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let there be no display, no browser and no SSH, as on a server's console."""
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME", "BROWSER", "SSH_CONNECTION", "SSH_TTY"):
        monkeypatch.delenv(name, raising=False)


def test_no_browser_prints_the_bare_address_alone(foveal: CommandLine) -> None:
    code, output, errors = foveal("dashboard", "--no-browser")
    assert code == 0
    assert re.fullmatch(ADDRESS + "\n", output)
    assert "foveal dashboard --login-url" in errors
    assert foveal.says("dashboard", "--login-url").startswith(output.strip())


def test_a_browser_is_opened_with_a_login(
    foveal: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = tmp_path / "opened"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho noise >&2\necho "$1" > {opened}\n')
    browser.chmod(0o700)
    monkeypatch.setenv("BROWSER", f"{browser} %s")
    monkeypatch.setattr("webbrowser._tryorder", None)  # it looks at BROWSER once in a process
    assert re.fullmatch(f"opened {ADDRESS} in the browser\n", foveal.says("dashboard"))
    url = opened.read_text().strip()
    assert re.fullmatch(LOGIN, url)
    assert foveal.daemon.call("CheckDashboard", code=url.partition("=")[2])["allowed"]


def test_without_a_display_the_login_is_printed(foveal: CommandLine) -> None:
    code, output, errors = foveal("dashboard")
    assert code == 0
    assert re.fullmatch(LOGIN + "\n", output)
    assert "no browser can be opened here" in errors


def test_over_ssh_it_says_how_to_forward_the_port(
    foveal: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSH_CONNECTION", "192.0.2.1 50000 192.0.2.2 22")
    monkeypatch.setenv("DISPLAY", ":10")
    code, output, errors = foveal("dashboard")
    assert code == 0
    assert re.fullmatch(LOGIN + "\n", output)
    port = output.split(":")[2].split("/")[0]
    assert f"ssh -N -L {port}:127.0.0.1:{port}" in errors


def test_sign_out_ends_all_sessions(foveal: CommandLine) -> None:
    foveal.says("dashboard", "--sign-out")
    found = foveal.json("dashboard")
    cookie = foveal.daemon.call("CheckDashboard", code=found["url"].partition("=")[2])["cookie"]
    assert foveal.says("dashboard", "--sign-out") == "signed out: 1 browser, and all programs\n"
    for given in ({"cookie": cookie}, {"token": found["token"]}):
        assert not foveal.daemon.call("CheckDashboard", **given)["allowed"]
    assert foveal.json("dashboard", "--sign-out") == {"revoked": 0}


def test_what_does_not_go_together(foveal: CommandLine) -> None:
    assert "don't go together" in foveal.fails("dashboard", "--no-browser", "--sign-out", code=2)
