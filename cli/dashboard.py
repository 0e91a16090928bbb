"""The command `foveal dashboard`: the page in a browser, signed in."""

from __future__ import annotations

import sys
import webbrowser
from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from . import terminal
from .command import Remark, Reply, Run, command
from .errors import CliError
from .options import flag
from .text import count


@command(
    "Open the dashboard in the browser.",
    flag("--no-browser", "Only print the address, for a browser that is signed in."),
    flag("--login-url", "Print an address that signs in one browser within a minute."),
    flag("--sign-out", "Sign out every browser and program."),
)
def dashboard_command(run: Run) -> None:
    """Open the dashboard in the default browser and sign it in there.

    It shows what agents get, and why. It is served on 127.0.0.1 only, and nothing of it leaves this machine.
    A browser stays signed in for a week after its last use, also across restarts of the daemon.

    For example:

        foveal dashboard               # opens the browser, signed in
        foveal dashboard --login-url   # the same as an address, for another browser
        foveal dashboard --sign-out    # signs out everybody
    """
    if run.no_browser + run.login_url + run.sign_out > 1:
        raise run.usage("--no-browser, --login-url and --sign-out don't go together")
    if run.sign_out:
        reply = run.ask("RevokeDashboard", start=False)
        run.show(reply, [f"signed out: {count(reply['revoked'], 'browser')}, and all programs"])
        return
    found = run.ask("OpenDashboard", login=not run.no_browser)
    if found["remark"]:
        terminal.warn(found["remark"])
    run.show(
        {"address": found["address"], "url": found.get("url"), "token": found["token"]}, _lines(found, run)
    )


def _lines(found: Reply, run: Run) -> Iterator[str]:
    """Open the page as the options say, and yield how to reach it."""
    if run.no_browser:
        yield found["address"]
        yield Remark("to sign in a browser, open the address that this prints: foveal dashboard --login-url")
    elif run.login_url:
        yield found["url"]
    else:
        yield from _open(found, run.settings.environ)


def _open(found: Reply, environ: Mapping[str, str]) -> Iterator[str]:
    """Open a browser if this machine has a display, else say how to reach the page."""
    if environ.get("SSH_CONNECTION") or environ.get("SSH_TTY"):
        port = urlsplit(found["address"]).port
        yield found["url"]
        yield Remark(
            f"you are connected by SSH: where the browser is, run ssh -N -L {port}:127.0.0.1:{port} "
            "and this machine's name, then open the address there within a minute"
        )
    elif has_display(environ) and _browse(found["url"]):
        yield f"opened {found['address']} in the browser"
    else:
        yield found["url"]
        yield Remark("no browser can be opened here: open the address in a browser within a minute")


def has_display(environ: Mapping[str, str]) -> bool:
    """Whether a window can appear: elsewhere `webbrowser` may start a text browser in the terminal."""
    if sys.platform == "darwin" or environ.get("BROWSER"):
        return True
    return bool(environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY") or environ.get("WSL_DISTRO_NAME"))


def _browse(url: str) -> bool:
    try:
        return webbrowser.open(url)
    except (OSError, webbrowser.Error) as error:
        raise CliError(f"the browser can't be started: {error}", "foveal dashboard --login-url") from error
