"""The connection to the daemon, which is started where none runs and no socket was named."""

from __future__ import annotations

from ..ipc.client import Client, ensure_daemon, lock_holder
from ..ipc.paths import find_socket, state_folder
from .errors import NO_DAEMON, CliError
from .settings import Settings

START_TIMEOUT_S = 20.0
"""Maximum wait for a start in seconds: 0.3 s at rest, seconds on a busy machine or with cold disks."""


CALL_TIMEOUT_S = 60.0
"""Maximum wait for an answer in seconds; the slowest methods have deadlines of seconds."""


def connect(settings: Settings) -> Client:
    """Connect to the daemon, starting one if none runs and no socket was named."""
    return ensure_daemon(settings.socket, settings.environ, START_TIMEOUT_S)


def connect_running(settings: Settings) -> Client:
    """Connect to a daemon that runs. Raises `CliError` where none does."""
    client = try_connect(settings)
    if client is None and not settings.named_socket and lock_holder(state_folder(settings.environ)):
        client = connect(settings)  # its socket was removed, and is bound again within seconds
    if client is None:
        place = f" on {settings.named_socket}" if settings.named_socket else ""
        option = f" --socket {settings.named_socket}" if settings.socket else ""
        raise CliError(f"no daemon runs{place}", f"foveal up{option}", NO_DAEMON)
    return client


def try_connect(settings: Settings) -> Client | None:
    """Connect to a daemon that runs; None where none does. Raises `CliError` for one that doesn't accept."""
    path = find_socket(settings.socket, settings.environ).path
    try:
        return Client.connect(path)
    except (FileNotFoundError, ConnectionRefusedError):
        return None
    except TimeoutError as error:
        raise CliError(
            f"the daemon at {path} doesn't accept connections: it may hang", "foveal restart", NO_DAEMON
        ) from error
