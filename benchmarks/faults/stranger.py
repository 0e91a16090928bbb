"""Attacks by another user of the machine, in a process that runs as that user.

Started by root as python -S stranger.py UID SOCKET HTTP_SOCKET STATE: prints what it got, as JSON. The
standard library only: it can read nothing of root's.
"""

import json
import os
import socket
import sys


def main() -> None:
    """Become the user, try everything once, and print what it came to."""
    uid, paths, folder = int(sys.argv[1]), sys.argv[2:4], sys.argv[4]
    os.setgroups([])
    os.setgid(uid)
    os.setuid(uid)
    got = {path: _say(path) for path in paths}
    opened = []
    for base, folders, files in os.walk(folder):
        opened += [os.path.join(base, name) for name in (*folders, *files)]
    for path in (folder, *(os.path.join(folder, name) for name in ("lock", "scopes.sqlite", "foveal.log"))):
        try:
            os.close(os.open(path, os.O_RDONLY))
            opened.append(path)
        except OSError:
            continue
    print(json.dumps({"heard": got, "opened": opened}))


def _say(path: str) -> str:
    """Ask in both languages; return what was heard, empty for nothing, or the name of the error."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(10)
        try:
            connection.connect(path)
            connection.sendall(b"\x94\x00\x01\xa4Ping\x90")
            heard = connection.recv(65536)
            return heard.decode("latin-1")
        except (ConnectionError, PermissionError) as error:
            return "" if isinstance(error, ConnectionError) else f"{type(error).__name__}"


if __name__ == "__main__":
    main()
