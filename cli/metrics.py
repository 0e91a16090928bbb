"""The command `foveal metrics`: what the daemon measures of itself, and its history as curves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import click

from . import terminal
from .command import Command, ask, json_option
from .times import local_time

BARS = "▁▂▃▄▅▆▇█"
GAP = " "
"""Where there is no number."""

WIDTH = 56
"""Characters of a curve: with its name and numbers it fits into 100 columns."""

Value = Callable[[Mapping[str, Any]], float | None]

FIGURES: Sequence[tuple[str, Value, Callable[[float], str]]] = (
    ("requests", lambda sample: sample["requests"], lambda value: f"{value:,.0f}"),
    ("errors", lambda sample: sample["errors"], lambda value: f"{value:,.0f}"),
    ("contexts", lambda sample: sample["contexts"], lambda value: f"{value:,.0f}"),
    (
        "from the cache",
        lambda sample: _share(sample["cached"], sample["contexts"]),
        lambda value: f"{value:.0%}",
    ),
    ("tokens", lambda sample: sample["tokens"], lambda value: f"{value:,.0f}"),
    ("context P50", lambda sample: sample["context_ms"]["p50"], lambda value: f"{value:,.2f} ms"),
    ("context P95", lambda sample: sample["context_ms"]["p95"], lambda value: f"{value:,.2f} ms"),
    ("all methods P95", lambda sample: sample["all_ms"]["p95"], lambda value: f"{value:,.2f} ms"),
    ("files to read", lambda sample: sample["files_pending"], lambda value: f"{value:,.0f}"),
    ("chunks to embed", lambda sample: sample["chunks_pending"], lambda value: f"{value:,.0f}"),
    ("memory", lambda sample: _total(sample["memory_bytes"]), lambda value: terminal.size(int(value))),
)
"""The curves: a name, its value in a sample (None for a gap), and how a value is written."""

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
    reply = ask(context, "GetMetrics", {"history": history}, start=False)
    lines = describe(reply) if history is None else describe_history(reply["history"])
    terminal.say_reply(reply, as_json, *lines)


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
        for name, method in sorted(methods.items(), key=lambda pair: -pair[1]["count"])
    ]
    return terminal.table(
        ("METHOD", "CALLS", "P50", "P95", "P99", "ERRORS"), rows, right=(1, 2, 3, 4, 5), texts=(0,)
    )


def _describe_contexts(contexts: dict[str, Any]) -> Iterator[str]:
    if not contexts["count"]:
        yield "no context was given yet"
        return
    yield (
        f"contexts: {contexts['count']:,}, {contexts['cache_hit_rate']:.0%} from the cache,"
        f" {contexts['partial']:,} partial; half of them have {contexts['tokens']['p50']:,.0f} tokens or less"
    )
    if contexts["compression_ratio"] is not None:
        yield (
            f"compression: {contexts['tokens_before']:,} tokens to {contexts['tokens_after']:,}"
            f" ({contexts['compression_ratio']:.0%})"
        )
    agents = sorted(contexts["tokens_by_agent"].items(), key=lambda pair: (-pair[1], pair[0]))
    for name, tokens in agents[:AGENTS_SHOWN]:
        yield f"  {terminal.clean(name) or '(no name)'}: {terminal.count(tokens, 'token')}"
    if contexts["secrets_masked"]:
        yield f"masked: {terminal.count(contexts['secrets_masked'], 'value')} that looked like secrets"


def _milliseconds(amount: float | None) -> str:
    return "" if amount is None else f"{amount:,.2f} ms" if amount < 10 else f"{amount:,.0f} ms"


def describe_history(history: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines about the history in a reply to GetMetrics."""
    samples = history["samples"]
    if not samples:
        wait = terminal.duration(history["step_s"])
        yield f"nothing was sampled yet: the daemon started less than {wait} ago"
        return
    yield (
        f"from {local_time(samples[0]['at'])} to {local_time(samples[-1]['at'])}, a sample every"
        f" {terminal.duration(history['step_s'])}"
    )
    curves = [(name, [value_of(sample) for sample in samples], write) for name, value_of, write in FIGURES]
    names = max(len(name) for name, _, _ in curves)
    width = min(WIDTH, terminal.room(names + 2 + 2 * len(f"{'':>10}  ")))
    drawn = min(len(samples), width)
    yield terminal.styled(f"{'':<{names}}  {'':<{drawn}}  {'LAST':>10}  {'MOST':>10}", bold=True)
    for name, values, write in curves:
        last, most = values[-1], max((value for value in values if value is not None), default=None)
        numbers = "  ".join(f"{'' if number is None else write(number):>10}" for number in (last, most))
        yield f"{name:<{names}}  {sparkline(values, width)}  {numbers}".rstrip()
    yield from _by_agent(samples)


def _by_agent(samples: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the tokens of agents over the whole time, those with the most first."""
    totals: dict[str, int] = {}
    for sample in samples:
        for name, tokens in sample["tokens_by_agent"].items():
            totals[name] = totals.get(name, 0) + tokens
    for name, tokens in sorted(totals.items(), key=lambda pair: (-pair[1], pair[0])):
        yield f"  {terminal.clean(name) or '(no name)'}: {terminal.count(tokens, 'token')}"


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _total(amounts: Mapping[str, int | None]) -> float:
    return sum(amount for amount in amounts.values() if amount is not None)


def sparkline(values: Sequence[float | None], width: int) -> str:
    """Return numbers of at least 0 as a curve of at most `width` characters; the largest number has full
    height.

    Where there are more numbers than characters, each character shows the largest of several, because peaks
    matter most. Zero is the lowest bar, None a gap.
    """
    shown = [_largest(part) for part in _parts(values, width)]
    top = max((value for value in shown if value is not None), default=0.0)
    return "".join(GAP if value is None else _bar(value, top) for value in shown)


def _bar(value: float, top: float) -> str:
    return BARS[round(value / top * (len(BARS) - 1))] if top else BARS[0]


def _largest(values: Sequence[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def _parts(values: Sequence[float | None], width: int) -> list[Sequence[float | None]]:
    """Divide values into so many runs at most, as equal as can be."""
    count = min(len(values), width)
    edges = [place * len(values) // count for place in range(count + 1)] if count else [0]
    return [values[start:end] for start, end in pairwise(edges)]
