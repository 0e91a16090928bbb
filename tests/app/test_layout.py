"""A changed layout of the state folder needs a new `STATE_VERSION`, so that an older program refuses it."""

from __future__ import annotations

import zlib

from foveal.daemon.app.server import MIGRATIONS
from foveal.daemon.app.state_check import layout_of_state
from foveal.daemon.core.state_folder import STATE_VERSION

LAYOUTS: dict[int, dict[str, tuple[int, int]]] = {
    2: {
        "version.json": (2, 0),
        "trusted.json": (1, 0),
        "approvals.json": (1, 0),
        "sessions/*/meta.json": (1, 0),
        "projects/*/items.json": (1, 0),
        "projects/*/experiences.jsonl": (1, 0),
        "projects/*/experiences.*.jsonl": (1, 0),
        "projects/*/project.json": (1, 0),
        "projects/*/feedback.json": (1, 0),
        "projects/*/transcripts.db": (1, 1369569222),
        "scopes.sqlite": (1, 3282712599),
        "requests.sqlite": (3, 1507407343),
        "metrics.sqlite": (1, 1844233506),
        "timeline.sqlite": (1, 1366277961),
        "dashboard.json": (1, 0),
    },
    3: {
        "version.json": (3, 0),
        "trusted.json": (1, 0),
        "approvals.json": (1, 0),
        "sessions/*/meta.json": (1, 0),
        "projects/*/items.json": (1, 0),
        "projects/*/experiences.jsonl": (1, 0),
        "projects/*/experiences.*.jsonl": (1, 0),
        "projects/*/project.json": (1, 0),
        "projects/*/feedback.json": (1, 0),
        "projects/*/transcripts.db": (1, 1369569222),
        "scopes.sqlite": (1, 3282712599),
        "deliveries.sqlite": (1, 4145482594),
        "metrics.sqlite": (1, 1844233506),
        "dashboard.json": (1, 0),
    },
}
"""Of each version of the state folder: the version of each kind of file, and the checksum of its tables (0
without tables). A line is added with a new version and never changed."""


def test_the_layout_is_the_one_recorded_for_this_version() -> None:
    found = {
        name: (version, zlib.crc32(" ".join(schema.split()).encode()))
        for name, (version, schema) in layout_of_state().items()
    }
    assert found == LAYOUTS[STATE_VERSION], "raise STATE_VERSION, add its migration and its record here"
    assert len(found) >= 14


def test_every_version_has_a_migration_and_the_last_a_record() -> None:
    assert sorted(MIGRATIONS) == list(range(1, STATE_VERSION))
    assert max(LAYOUTS) == STATE_VERSION
