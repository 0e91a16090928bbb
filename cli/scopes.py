"""The commands on scopes, which say what each agent has in focus."""

from __future__ import annotations

import os
from collections.abc import Iterator

from .command import Reply, Run, list_command, show_command
from .options import ALL, argument
from .settings import current_folder, is_inside, locate
from .table import Column, number, path, words
from .text import clean

COLUMNS = (
    Column("SCOPE", "scope_id"),
    path("PROJECT", "project"),
    words("AGENT", lambda scope: " ".join(filter(None, (scope.get("agent_name"), scope.get("agent_id"))))),
    words(
        "SESSION", lambda scope: scope.get("session", {}).get("title") or scope.get("session_id") or "", 30
    ),
    words("LAST PROMPT", lambda scope: scope.get("last_prompt") or "", 50),
    words("FOCUS", lambda scope: ", ".join([*scope["focus_paths"], *scope["expanded"]]), 60),
    number("TOKENS", lambda scope: f"{sum(scope.get('layers', {}).values()):,}"),
)
KNOWN = "foveal scopes"
NODES = (argument("scope_id"), argument("nodes", "NODE...", nargs=-1, required=True))


@list_command(
    "ListScopes",
    "List what each agent has in focus.",
    *ALL,
    rows="scopes",
    columns=COLUMNS,
    nothing="no scopes",
)
def scopes_command() -> None:
    """List the scopes of this project: what each agent has in focus.

    For example:

        foveal scopes
        foveal scopes --all               # of all projects
    """


def _nodes(run: Run) -> dict[str, object]:
    """Return the parameters of a change: nodes seen from the current folder if that lies in the scope's
    project, else from its root."""
    root = run.ask("GetScope", KNOWN, scope_id=run.scope_id)["project"]
    folder = os.path.realpath(current_folder())
    inside = is_inside(folder, root)
    found = [locate(node, [folder]) if inside else node for node in run.nodes]
    return {"scope_id": run.scope_id, "node_ids": found}


def _unknown(reply: Reply) -> bool:
    return bool(reply["unknown"])


@show_command("ExpandFocus", "Add nodes to a scope's focus.", *NODES, sends=_nodes, fails=_unknown)
def expand_command(reply: Reply, run: Run) -> Iterator[str]:
    """Add files, folders or definitions (file#symbol) to what a scope shows in full.

    For example:

        foveal expand s_0123456789abcdef src/auth.py 'src/store.py#Store.save'
    """
    return (clean(f"{outcome}: {node}") for outcome, found in reply.items() for node in found)


@show_command("ContractFocus", "Take nodes out of a scope's focus.", *NODES, sends=_nodes, fails=_unknown)
def contract_command(reply: Reply, run: Run) -> Iterator[str]:
    """Take files, folders or definitions (file#symbol) out of a scope's focus.

    For example:

        foveal contract s_0123456789abcdef src/auth.py
    """
    return (clean(f"{outcome}: {node}") for outcome, found in reply.items() for node in found)


@show_command("ReleaseScope", "Forget a scope.", argument("scope_id"), hint=KNOWN)
def release_command(reply: Reply, run: Run) -> Iterator[str]:
    """Forget a scope: what its agent has in focus. The next prompt makes a new one."""
    yield f"released: {clean(run.scope_id)}"
