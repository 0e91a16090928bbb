"""The baseline of a bare socket: a process that answers so many bytes with as many others, and no more.

Started by its path, since it imports nothing of this package: python echo.py SOCKET REQUEST_BYTES REPLY_BYTES
"""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def echoing(path: str, request: bytes, reply_bytes: int) -> Iterator[Callable[[], None]]:
    """Start the process; gives a function that sends the request and takes the whole reply."""
    command = [sys.executable, "-I", "-S", __file__, path, str(len(request)), str(reply_bytes)]
    with subprocess.Popen(command) as process, socket.socket(socket.AF_UNIX) as connection:
        try:
            _connect(connection, path)

            def ask() -> None:
                connection.sendall(request)
                left = reply_bytes
                while left:
                    received = len(connection.recv(left))
                    if not received:
                        raise ConnectionResetError("the echo ended")
                    left -= received

            yield ask
        finally:
            process.kill()


def _connect(connection: socket.socket, path: str) -> None:
    limit = time.monotonic() + 10
    while True:
        try:
            return connection.connect(path)
        except OSError:
            if time.monotonic() > limit:
                raise
            time.sleep(0.01)


def _serve(path: str, request_bytes: int, reply: bytes) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        connection, _ = listener.accept()
        with connection:
            left = request_bytes
            while data := connection.recv(left):
                left -= len(data)
                if not left:
                    connection.sendall(reply)
                    left = request_bytes


if __name__ == "__main__":
    _serve(sys.argv[1], int(sys.argv[2]), bytes(int(sys.argv[3])))
