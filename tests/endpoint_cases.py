"""What the servers of tests have in common that stand for a service with a model.

They answer from threads: the clients under test block, so no loop of the test could serve them as those of
pytest-aiohttp do.
"""

from __future__ import annotations

from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler


class Answerer(BaseHTTPRequestHandler):
    """Sends whole answers over connections that stay open."""

    protocol_version = "HTTP/1.1"

    def send(self, data: bytes, status: int = 200, headers: Mapping[str, str] = {}) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(data)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Stay quiet."""
