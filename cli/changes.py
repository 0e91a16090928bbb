"""The command `foveal changes`: what a diff breaks, and which tests reach it."""

from __future__ import annotations

import os
from collections.abc import Iterator

from ..hooks.changes import groups, summary
from .command import Reply, Run, command, degraded, given
from .connection import CALL_TIMEOUT_S, connect
from .options import CWD, argument
from .progress import wait_until_known
from .query import INDEX_WAIT_S
from .settings import current_folder, seen_from
from .text import clean


@command(
    "Show what your changes break, and which tests reach them.",
    argument("range", "[RANGE]", required=False),
    CWD,
)
def changes_command(run: Run) -> None:
    """Show what changed, who calls it outside of the changes, and which tests reach it, the nearest first.

    Without RANGE the work tree is compared with HEAD. A RANGE is what git takes: main, HEAD~3..HEAD,
    main...feature. Callers and tests are those of the work tree as it is now.

    For example:

        foveal changes
        foveal changes main...HEAD
    """
    with connect(run.settings) as client:
        wait_until_known(client, run.folder, INDEX_WAIT_S)
        params = given({"cwd": run.folder, "range": run.range})
        reply = client.call("GetChanges", params, CALL_TIMEOUT_S)
    run.show(reply, _lines(reply, os.path.realpath(current_folder())))


def _lines(reply: Reply, folder: str) -> Iterator[str]:
    yield clean(summary(reply))
    for lines in groups(reply, lambda path: seen_from(folder, reply["project"], path)):
        yield ""
        yield from map(clean, lines)
    yield from degraded(reply)
