"""The command `foveal dashboard`: open the page in a browser, or print its address."""

from __future__ import annotations

import os
import sys
import webbrowser
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import click

from . import terminal
from .command import Command, json_option, settings_of
from .connect import CALL_TIMEOUT_S, connect, connect_running
from .errors import CliError

EXAMPLES = (
    "foveal dashboard               # opens the browser, signed in",
    "foveal dashboard --login-url   # the same as an address, for another browser",
    "foveal dashboard --sign-out    # signs out everybody",
)


@click.command("dashboard", cls=Command, short_help="Open the dashboard in the browser.", examples=EXAMPLES)
@click.option("--no-browser", is_flag=True, help="Only print the address, for a browser that is signed in.")
@click.option("--login-url", is_flag=True, help="Print an address that signs in one browser within a minute.")
@click.option("--sign-out", is_flag=True, help="Sign out every browser and program.")
@json_option
@click.pass_context
def dashboard_command(
    context: click.Context, no_browser: bool, login_url: bool, sign_out: bool, as_json: bool
) -> None:
    """Open the dashboard in the default browser and sign it in there.

    It shows what agents get, and why. It is served on 127.0.0.1 only, and nothing of it leaves this machine.
    A browser stays signed in for a week after its last use, also across restarts of the daemon.
    """
    if no_browser + login_url + sign_out > 1:
        raise click.UsageError("--no-browser, --login-url and --sign-out don't go together", context)
    if sign_out:
        _sign_out(context, as_json=as_json)
        return
    with connect(settings_of(context)) as client:
        found = client.call("OpenDashboard", {"login": not no_browser}, CALL_TIMEOUT_S)
    if found["remark"]:
        terminal.warn(found["remark"])
    if as_json:
        terminal.say_json({"address": found["address"], "url": found.get("url"), "token": found["token"]})
    elif no_browser:
        terminal.say(found["address"])
        terminal.note("to sign in a browser, open the address that this prints: foveal dashboard --login-url")
    elif login_url:
        terminal.say(found["url"])
    else:
        _open(found, settings_of(context).environ)


def _sign_out(context: click.Context, *, as_json: bool) -> None:
    with connect_running(settings_of(context)) as client:
        reply = client.call("RevokeDashboard", {}, CALL_TIMEOUT_S)
    if as_json:
        terminal.say_json(reply)
    else:
        terminal.say(f"signed out: {terminal.count(reply['revoked'], 'browser')}, and all programs")


def _open(found: Mapping[str, Any], environ: Mapping[str, str]) -> None:
    """Open a browser if this machine has a display, else say how to reach the page."""
    if environ.get("SSH_CONNECTION") or environ.get("SSH_TTY"):
        port = urlsplit(found["address"]).port
        terminal.say(found["url"])
        terminal.note(
            f"you are connected by SSH: where the browser is, run ssh -N -L {port}:127.0.0.1:{port} "
            "and this machine's name, then open the address there within a minute"
        )
    elif has_display(environ) and _browse(found["url"]):
        terminal.say(f"opened {found['address']} in the browser")
    else:
        terminal.say(found["url"])
        terminal.note("no browser can be opened here: open the address in a browser within a minute")


def has_display(environ: Mapping[str, str]) -> bool:
    """Whether a window can appear: elsewhere `webbrowser` may start a text browser in the terminal."""
    if sys.platform == "darwin" or environ.get("BROWSER"):
        return True
    return bool(environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY") or environ.get("WSL_DISTRO_NAME"))


def _browse(url: str) -> bool:
    """Open an address, without the messages that a browser prints when it starts."""
    kept = os.dup(2)
    quiet = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(quiet, 2)
        return webbrowser.open(url)
    except (OSError, webbrowser.Error) as error:
        raise CliError(f"the browser can't be started: {error}", "foveal dashboard --login-url") from error
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(quiet)
