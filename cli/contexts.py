"""The commands `foveal contexts` and `why`: the contexts that agents got, and why a file is in one."""

from __future__ import annotations

from collections.abc import Iterator

from .command import Reply, Run, command, degraded, list_command
from .last import LAST, budget, last_context, print_sent
from .options import ALL, CWD, SINCE, UNTIL, argument, limit, option
from .table import Column, number, path, words
from .terminal import styled
from .text import clean, local_time

LIST_LIMIT = 100


COLUMNS = (
    Column("CONTEXT", "context_id"),
    Column("AT", lambda context: local_time(context["at"])),
    number("TIMES", "times", spare=1),
    number("TOKENS", "tokens"),
    number("OF", lambda context: f"{budget(context):,}", spare=3),
    number("MS", lambda context: f"{context['elapsed_ms']:,.1f}", spare=2),
    words("FOR", lambda context: context["agent_name"] or context["session_id"]),
    words("PROMPT", "prompt", 50),
)
"""The columns of contexts. Where there is no room, the middle ones go first: their figures are in the
context itself."""

FILTERS = ("scope_id", "session_id", "path", "agent", "since", "until")


def _wanted(run: Run) -> Reply:
    return run.without("context_id") | {"path": None if run.path is None else run.locate(run.path)}


def _nothing(run: Run) -> str:
    filtered = any(run.options[name] is not None for name in FILTERS)
    return "no context matches" if filtered else "no agent got a context yet"


@list_command(
    "ListContexts",
    "List the contexts that agents got.",
    argument("context_id", "[CONTEXT]", required=False),
    *ALL,
    option("--scope scope_id", "ID", "Of this scope."),
    option("--session session_id", "ID", "Of this session."),
    option("--path", "PATH", "Those that showed this file."),
    option("--agent", "NAME", "Of this agent."),
    SINCE,
    UNTIL,
    limit(1, LIST_LIMIT, "contexts"),
    rows="contexts",
    columns=lambda run: (*COLUMNS, path("PROJECT", "project")) if run.everywhere else COLUMNS,
    nothing=_nothing,
    most=LIST_LIMIT,
    sends=_wanted,
    instead=lambda run: run.context_id is not None and _print(run),
)
def contexts_command() -> None:
    """List the contexts that agents got, the latest first.

    With CONTEXT, an id or `last`, print exactly the text of that context.

    For example:

        foveal contexts
        foveal contexts last > context.md
        foveal contexts --path src/auth.py    # which turns showed this file
        foveal contexts --session s-1 --json | jq '.contexts[].tokens'
    """


def _print(run: Run) -> bool:
    found = last_context(run, run.folder)["context_id"] if run.context_id == LAST else run.context_id
    print_sent(run, found, "foveal contexts ID --json still shows what it consisted of")
    return True


@command(
    "Say why a file is in a context, or why not.",
    argument("context_id", "CONTEXT"),
    argument("path"),
    CWD,
)
def why_command(run: Run) -> None:
    """Say why PATH is in CONTEXT, an id or `last`, or what kept it out and what would bring it in.

    PATH may also be the name of a rule or reference. Exits with 1 where nothing of it is shown.

    For example:

        foveal why last src/auth.py
        foveal why c_0123456789abcdef docs/plan.md --json
    """
    found = last_context(run, run.folder)["context_id"] if run.context_id == LAST else run.context_id
    reply = run.ask("ExplainPath", "foveal contexts", context_id=found, path=run.locate(run.path))
    run.show(reply, describe_explanation(reply, run))
    if not reply["shown"]:
        run.fail()


def describe_explanation(reply: Reply, run: Run) -> Iterator[str]:
    """Yield the lines about a reply to ExplainPath: a verdict, the reasons, what to do."""
    verdict = "shown" if reply["shown"] else "only named" if reply["named"] else "not in it"
    yield f"{styled(clean(run.path), bold=True)}: {verdict}"
    yield from (f"  {clean(reason)}" for reason in reply["reasons"])
    yield from (f"  -> {clean(advice)}" for advice in reply["advice"])
    yield from degraded(reply)
