"""The peer for Python: what jedi goes to from call sites, as answers beside the product's own."""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Collection
from itertools import groupby
from pathlib import Path

from .sites import Site, Target, Verdict

SEED = 4
SITES = 300
"""Sites a package that jedi is asked about: it takes up to a second for one."""

TIMEOUT_S = 1_200


def ask_jedi(root: Path, sites: Collection[Site], python: Path) -> dict[Site, Verdict]:
    """Return what jedi says of a sample of call sites."""
    chosen = sorted(random.Random(SEED).sample(sorted(sites), min(SITES, len(sites))))
    request = [
        (path, [(site.line, site.column) for site in inside])
        for path, inside in groupby(chosen, key=lambda site: site.path)
    ]
    worker = Path(__file__).parent / "jedi_worker.py"
    done = subprocess.run(
        [str(python), str(worker), str(root)],
        input=json.dumps(request),
        capture_output=True,
        text=True,
        check=True,
        timeout=TIMEOUT_S,
    )
    return {
        site: _verdict([Target(*row) for row in rows])
        for site, rows in zip(chosen, json.loads(done.stdout), strict=True)
    }


def _verdict(targets: list[Target]) -> Verdict:
    inside = tuple(target for target in targets if target.path and target.kind in {"function", "class"})
    if inside:
        return Verdict("project", inside)
    if not targets:
        return Verdict("unknown")
    return Verdict("variable" if any(target.path for target in targets) else "external")
