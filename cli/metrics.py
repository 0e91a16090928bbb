"""Owns `foveal metrics`: what the daemon measured of itself since it started, for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from . import terminal
from .command import Command, json_option, settings_of
from .connect import CALL_TIMEOUT_S, connect_running
from .metric_curves import describe_history

AGENTS_SHOWN = 10
PERIODS = ("hour", "day")


@click.command("metrics", cls=Command, short_help="Show latencies, sizes of contexts, memory.")
@click.option("--history", type=click.Choice(PERIODS), help="Curves of the last hour or day.")
@json_option
@click.pass_context
def metrics_command(context: click.Context, history: str | None, as_json: bool) -> None:
    """Show what the daemon measured since it started. Nothing of it ever leaves this machine.

    Starts no daemon; exits with 1 if none runs.
    """
    with connect_running(settings_of(context)) as client:
        params = {} if history is None else {"history": history}
        reply = client.call("GetMetrics", params, CALL_TIMEOUT_S)
    if as_json:
        terminal.say_json(reply)
        return
    lines = describe(reply) if history is None else describe_history(reply["history"])
    for line in lines:
        terminal.say(line)


def describe(reply: dict[str, Any]) -> Iterator[str]:
    """Yield the lines about a reply to GetMetrics."""
    yield _methods_table(reply["methods"]) if reply["methods"] else "no request was answered yet"
    yield ""
    yield from _describe_contexts(reply["contexts"])
    pending = reply["index"]
    yield (
        f"index queue: {terminal.count(pending['files_pending'], 'file')} to read,"
        f" {terminal.count(pending['chunks_pending'], 'chunk')} to embed"
    )
    memory = [
        f"{name} {terminal.size(amount)}"
        for name, amount in reply["memory_bytes"].items()
        if amount is not None
    ]
    yield f"memory: {', '.join(memory)}; {terminal.count(reply['scopes']['count'], 'scope')} in it"


def _methods_table(methods: dict[str, Any]) -> str:
    rows = [
        (
            terminal.clean(name),
            f"{method['count']:,}",
            *(_milliseconds(method[quantile]) for quantile in ("p50_ms", "p95_ms", "p99_ms")),
            f"{sum(method['errors'].values()):,}",
        )
        for name, method in sorted(methods.items(), key=lambda one: -one[1]["count"])
    ]
    return terminal.table(("METHOD", "CALLS", "P50", "P95", "P99", "ERRORS"), rows, right=(1, 2, 3, 4, 5))


def _describe_contexts(contexts: dict[str, Any]) -> Iterator[str]:
    if not contexts["count"]:
        yield "no context was given yet"
        return
    yield (
        f"contexts: {contexts['count']:,}, {contexts['cache_hit_rate']:.0%} from what was kept,"
        f" {contexts['partial']:,} partial; half of them have {contexts['tokens']['p50']:,.0f} tokens or less"
    )
    if contexts["compression_ratio"] is not None:
        yield (
            f"compression: {contexts['tokens_before']:,} tokens to {contexts['tokens_after']:,}"
            f" ({contexts['compression_ratio']:.0%})"
        )
    agents = sorted(contexts["tokens_by_agent"].items(), key=lambda one: (-one[1], one[0]))
    for name, tokens in agents[:AGENTS_SHOWN]:
        yield f"  {terminal.clean(name) or '(no name)'}: {terminal.count(tokens, 'token')}"
    if contexts["secrets_masked"]:
        yield f"masked: {terminal.count(contexts['secrets_masked'], 'value')} that looked like secrets"


def _milliseconds(amount: float | None) -> str:
    return "" if amount is None else f"{amount:,.2f} ms" if amount < 10 else f"{amount:,.0f} ms"
