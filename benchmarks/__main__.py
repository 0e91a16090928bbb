"""Owns the run: python -m benchmarks prints one table, with --json for programs, --quick in a minute."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from . import contexts, corpus
from .statistics import table


def main() -> int:
    """Run and print; the exit status is 1 if a target was missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--quick", action="store_true", help="fewer samples")
    parser.add_argument(
        "--project", type=Path, help="measure on this folder (a copy of it) instead of Django"
    )
    arguments = parser.parse_args()
    source = arguments.project or corpus.fetch()
    with tempfile.TemporaryDirectory(prefix="fv-") as temporary:
        measures = contexts.run(source, Path(temporary), quick=arguments.quick)
    machine = f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"
    date = datetime.now(UTC).date().isoformat()
    if arguments.json:
        body = {"machine": machine, "date": date, "project": source.name}
        print(json.dumps(body | {"measures": [one.to_map() for one in measures]}, indent=2))
    else:
        print(f"{source.name}, {machine}, {date}\n\n{table(measures)}")
    return 1 if any(one.met is False for one in measures) else 0


if __name__ == "__main__":
    sys.exit(main())
