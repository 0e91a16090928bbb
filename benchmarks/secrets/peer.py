"""The peer: detect-secrets in an environment of its own, asked what it finds in the same texts."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from .forms import Form

_ENDINGS: Mapping[str, str] = {
    "python": "py",
    "javascript": "js",
    "java": "java",
    "c#": "cs",
    "go": "go",
    "swift": "swift",
    "php": "php",
    "ini": "ini",
    "env": "ini",
    "yaml": "yaml",
    "toml": "toml",
    "json": "json",
    "xml": "xml",
    "terraform": "tf",
}
"""What it knows by a file's ending. A context that names a file gives its own; anything else is a
configuration file, its widest rules."""


def peer_passed(python: Path, forms: Sequence[Form]) -> tuple[list[Form], list[Form]]:
    """Return the forms with a secret of which it finds nothing, and those without one of which it does."""
    with tempfile.TemporaryDirectory(prefix="fv-") as folder:
        names = {}
        for number, form in enumerate(forms):
            ending = _ENDINGS.get(form.context) or form.context.rpartition(".")[2]
            names[form.id] = f"{number}.{ending if ending.isalnum() else 'ini'}"
            (Path(folder) / names[form.id]).write_text(form.text + "\n", encoding="utf-8")
        found = {Path(name).name for name in _found(python, Path(folder))}
    return (
        [form for form in forms if form.secret and names[form.id] not in found],
        [form for form in forms if not form.secret and names[form.id] in found],
    )


def peer_count(python: Path, folder: Path) -> int:
    """Return how many secrets it finds in a folder."""
    return sum(len(one) for one in _found(python, folder).values())


def _found(python: Path, folder: Path) -> dict[str, list[object]]:
    command = [str(python), "-m", "detect_secrets", "scan", "--all-files", "--no-verify", "."]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    results: dict[str, list[object]] = json.loads(run.stdout)["results"]
    return results


def shares(passed: Iterable[Form], forms: Iterable[Form]) -> dict[str, tuple[int, int]]:
    """Return how many of each context passed, and how many there are."""
    left = [form.context for form in passed]
    total = [form.context for form in forms if form.secret]
    return {fromkey: (left.count(fromkey), total.count(fromkey)) for fromkey in dict.fromkeys(total)}
