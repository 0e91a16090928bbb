"""A model that somebody configured is fetched from the hub alone, which is told nothing, into foveal's folder."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

from foveal.daemon.embedding.model import DEFAULT_MODEL_FOLDER

COMMIT = "a" * 40

FETCH = """
import sys
from foveal.daemon.core.system import System
from foveal.daemon.embedding.model import load_model
model = load_model("BAAI/bge-small-en-v1.5", sys.argv[1], 1, lambda phase, fraction: None, System())
print(model.embed(["a"]).shape)
"""


@dataclass
class Hub:
    """A hub on loopback, with one model; it says of each file that it could come by the protocol xet too."""

    url: str
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)


@contextmanager
def hub_with(files: dict[str, bytes]) -> Iterator[Hub]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - the base class names it
            pass

        def do_HEAD(self) -> None:
            self.do_GET()

        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            hub.requests.append((f"{self.command} {path}", dict(self.headers.items())))
            more: dict[str, str] = {}
            if "/resolve/" in path:
                data = files.get(path.rpartition("/")[2], b"")
                digest = hashlib.sha256(data).hexdigest()
                more = {"ETag": f'"{digest}"', "X-Repo-Commit": COMMIT, "X-Xet-Hash": digest}
                more["Link"] = f'<{hub.url}/api/xet-read-token>; rel="xet-auth"'
            elif "/tree/" in path:
                entry = {"type": "file", "oid": "0" * 40}
                data = json.dumps(
                    [entry | {"path": name, "size": len(text)} for name, text in files.items()]
                ).encode()
            else:
                about = {"id": "Qdrant/bge-small-en-v1.5-onnx-Q", "sha": COMMIT, "tags": [], "private": False}
                data = json.dumps(about | {"siblings": [{"rfilename": name} for name in files]}).encode()
            self.send_response(200 if data else 404)
            for name, value in (more | {"Content-Length": str(len(data))}).items():
                self.send_header(name, value)
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(data)

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        hub = Hub(f"http://127.0.0.1:{server.server_port}")
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield hub
        finally:
            server.shutdown()
            thread.join()


def test_a_model_is_fetched_silently_into_its_folder(tmp_path: Path) -> None:
    files = {path.name: path.read_bytes() for path in Path(DEFAULT_MODEL_FOLDER).glob("*[nx]")}
    files["model_optimized.onnx"] = files.pop("model.onnx")
    home, cache = tmp_path / "home", tmp_path / "cache"
    home.mkdir()
    cache.mkdir()
    loud = {"AI_AGENT": "claude-code", "CLAUDECODE": "1", "HF_TOKEN": "hf_secret"}
    with hub_with(files) as hub:
        environ = {
            name: value
            for name, value in os.environ.items()
            if not name.lower().startswith(("hf_", "xdg_", "hugging")) and not name.lower().endswith("_proxy")
        } | {"HOME": str(home), "HF_ENDPOINT": hub.url, "HF_HUB_DISABLE_TELEMETRY": "0", **loud}
        done = subprocess.run(
            [sys.executable, "-c", FETCH, str(cache)],
            env=environ,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    assert done.stdout == "(1, 384)\n", done.stderr
    asked = {request for request, _ in hub.requests}
    assert {f"GET /Qdrant/bge-small-en-v1.5-onnx-Q/resolve/{COMMIT}/{name}" for name in files} <= asked
    assert not [request for request in asked if "Qdrant/bge-small-en-v1.5-onnx-Q" not in request]
    said = json.dumps([headers for _, headers in hub.requests])
    assert not [word for word in ("hf_secret", "agent/", "Bearer") if word in said]
    assert list(home.iterdir()) == []
