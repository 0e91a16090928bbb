"""Entry point: python -m benchmarks.experiences prints a table, and kills writers."""

from __future__ import annotations

import argparse
import sys
import tempfile
import tracemalloc
from functools import partial
from pathlib import Path
from random import Random

from foveal.daemon.core.system import System
from foveal.daemon.memory.experience import Draft
from foveal.daemon.memory.pool import Pool
from foveal.daemon.memory.pool_filters import Criteria, ExperienceListing

from ..statistics import Measure, table
from .crashes import crash

GRAFTED = 10_000
BATCH = 100
"""What a long transcript gives, and what one write holds."""
CHOICES = 500
DELETED = 200
WORDS = (
    "session", "token", "cache", "socket", "parse", "retry", "scope", "index", "budget", "slice", "chunk",
    "header", "queue", "worker", "lock", "journal", "schema", "column", "query", "router", "handler",
    "render", "template", "tenant", "shard", "replica", "cursor", "stream", "buffer", "frame", "codec",
)  # fmt: skip


def main() -> int:
    """Run and print; the exit status is 1 if a target was missed or a crash lost something."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.experiences", description=__doc__)
    parser.add_argument("--kills", type=int, default=200, help="kill so many writers")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fv-") as folder:
        measures = measure(Path(folder))
    print(table(measures))
    with tempfile.TemporaryDirectory(prefix="fv-") as folder:
        crashes = crash(Path(folder), arguments.kills, arguments.seed)
    done = ", ".join(f"{count:,} {kind}" for kind, count in crashes.acknowledged.most_common())
    print(
        f"\n{crashes.kills} writers killed; acknowledged: {done}; {crashes.repaired_tails} torn lines mended,"
    )
    print(f"at most {crashes.files_max} files; lost or wrong: {len(crashes.wrong)}")
    for one in crashes.wrong:
        print(f"  {one}")
    return 1 if crashes.wrong or any(one.met is False for one in measures) else 0


def measure(folder: Path) -> list[Measure]:
    """Measure a pool of `GRAFTED` experiences in a folder."""
    chance = Random(5)
    drafts = [_draft(number, chance) for number in range(GRAFTED)]
    single, batched = str(folder / "single.jsonl"), str(folder / "batched.jsonl")
    one_by_one, batches = Measure("graft one, durable"), Measure("graft a hundred at once, durable")
    pool = Pool(single, System(), root="/project")
    for draft in drafts:
        one_by_one.time(partial(pool.graft, [draft]))
    pool = Pool(batched, System(), root="/project")
    for start in range(0, GRAFTED, BATCH):
        batches.time(partial(pool.graft, drafts[start : start + BATCH]))
    measures = [
        one_by_one,
        batches,
        Measure(f"graft {GRAFTED:,} one by one", "s", [sum(one_by_one.samples) / 1000]),
        Measure(f"graft {GRAFTED:,} in batches", "s", [sum(batches.samples) / 1000]),
        Measure(f"open a pool of {GRAFTED:,}").time(partial(Pool, batched, System(), root="/project"), 5),
        Measure("see that nothing changed").time(pool.refresh, 1_000),
        Measure("choose five for a scope", target=5.0, which="p99").time(
            partial(_choose, pool, chance), CHOICES
        ),
        Measure("list by words").time(partial(pool.list, ExperienceListing(50, query="token cache")), 20),
        Measure("memory of an open pool", "MB", [_memory(batched)]),
        Measure("size on the disk", "MB", [Path(batched).stat().st_size / 1e6]),
    ]
    deleted = Measure("delete one, durable")
    for experience in pool.list(ExperienceListing(limit=DELETED))[0]:
        deleted.time(partial(pool.delete, experience.id))
    prune = partial(pool.prune, Criteria(deleted=True), lambda path: True, dry_run=False)
    return [*measures, deleted, Measure(f"prune {DELETED}").time(prune)]


def _draft(number: int, chance: Random) -> Draft:
    """Return a decision of 60 to 120 characters with a reason of 150 to 450 about two of 2,000 files."""
    files = tuple(f"src/{chance.randrange(40)}/m{chance.randrange(50)}.py" for _ in range(2))
    decision = f"{number} " + " ".join(chance.choices(WORDS, k=chance.randrange(10, 18)))
    rationale = " ".join(chance.choices(WORDS, k=chance.randrange(25, 70)))
    outcome = chance.choice(("", "success", "success", "failure", "reverted"))
    day = f"2025-{chance.randrange(1, 13):02}-{chance.randrange(1, 29):02}T12:00:00Z"
    return Draft(decision, f"agent-{number % 7}", f"s-{number // 50}", rationale, files, outcome, "", day)


def _choose(pool: Pool, chance: Random) -> None:
    files = [f"src/{chance.randrange(40)}/m{chance.randrange(50)}.py" for _ in range(8)]
    pool.relevant(files[:3], files[3:], chance.choices(WORDS, k=12))


def _memory(path: str) -> float:
    """Return what a pool holds in memory when it was opened, in MB."""
    tracemalloc.start()
    pool = Pool(path, System(), root="/project")
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert pool.statistics().experiences
    return size / 1e6


if __name__ == "__main__":
    sys.exit(main())
