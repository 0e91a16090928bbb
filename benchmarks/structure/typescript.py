"""The oracle for TypeScript: runs the compiler's language service in Node, and reads what it prints."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from .sites import Site, Target, Verdict

SCRIPT = Path(__file__).parent / "typescript_oracle.js"


class OracleFailed(Exception):
    """The script of the oracle ended with an error."""


def ask_typescript(root: Path, node: str, package: Path) -> dict[Site, Verdict]:
    """Return what TypeScript says of all call sites in a project's sources; `package` is its npm folder.

    Raises `OracleFailed`.
    """
    command = [node, "--max-old-space-size=4096", str(SCRIPT), str(package), str(root)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise OracleFailed(done.stderr.strip()[-500:])
    found = {}
    for *site, outcome, targets in json.loads(done.stdout):
        places = tuple(Target(*each) for each in targets)
        found[Site(*site)] = Verdict(outcome, places)
    return found
