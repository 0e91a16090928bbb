"""The command `foveal metrics`: what the daemon measures of itself, and its history as curves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice, pairwise
from typing import Any

from . import terminal
from .command import Reply, Run, show_command
from .options import choice
from .table import number, table, words
from .text import clean, count, duration, local_time, size

BARS = "▁▂▃▄▅▆▇█"


GAP = " "
"""Where there is no number."""


WIDTH = 56
"""Characters of a curve: with its name and numbers it fits into 100 columns."""


AGENTS_SHOWN = 10
PERIODS = ("hour", "day")

Value = Callable[[Mapping[str, Any]], float | None]


def _whole(value: float) -> str:
    return f"{value:,.0f}"


def _ms(value: float) -> str:
    return f"{value:,.2f} ms"


FIGURES: Sequence[tuple[str, Value, Callable[[float], str]]] = (
    ("requests", lambda sample: sample["requests"], _whole),
    ("errors", lambda sample: sample["errors"], _whole),
    ("contexts", lambda sample: sample["contexts"], _whole),
    (
        "from the cache",
        lambda sample: sample["cached"] / sample["contexts"] if sample["contexts"] else None,
        "{:.0%}".format,
    ),
    ("tokens", lambda sample: sample["tokens"], _whole),
    ("context P50", lambda sample: sample["context_ms"]["p50"], _ms),
    ("context P95", lambda sample: sample["context_ms"]["p95"], _ms),
    ("all methods P95", lambda sample: sample["all_ms"]["p95"], _ms),
    ("files to read", lambda sample: sample["files_pending"], _whole),
    ("chunks to embed", lambda sample: sample["chunks_pending"], _whole),
    (
        "memory",
        lambda sample: sum(filter(None, sample["memory_bytes"].values())),
        lambda value: size(int(value)),
    ),
)
"""The curves: a name, its value in a sample (None for a gap), and how a value is written."""

METHODS = (
    words("METHOD", "name"),
    number("CALLS", "count"),
    number("P50", lambda method: _milliseconds(method["p50_ms"])),
    number("P95", lambda method: _milliseconds(method["p95_ms"])),
    number("P99", lambda method: _milliseconds(method["p99_ms"])),
    number("ERRORS", lambda method: _whole(sum(method["errors"].values()))),
)


@show_command(
    "GetMetrics",
    "Show latencies, sizes of contexts, memory.",
    choice("--history", PERIODS, "Curves of the last hour or day."),
    start=False,
)
def metrics_command(reply: Reply, run: Run) -> Iterator[str]:
    """Show what the daemon measured since it started. Nothing of it ever leaves this machine.

    Starts no daemon; exits with 1 if none runs.

    For example:

        foveal metrics
        foveal metrics --history day
    """
    return describe(reply) if run.history is None else describe_history(reply["history"])


def describe(reply: Reply) -> Iterator[str]:
    """Yield the lines about a reply to GetMetrics."""
    methods = [{"name": name, **method} for name, method in reply["methods"].items()]
    methods.sort(key=lambda method: -method["count"])
    yield table(METHODS, methods) if methods else "no request was answered yet"
    yield ""
    yield from _describe_contexts(reply["contexts"])
    pending = reply["index"]
    yield (
        f"index queue: {count(pending['files_pending'], 'file')} to read,"
        f" {count(pending['chunks_pending'], 'chunk')} to embed"
    )
    memory = [
        f"{name} {size(amount)}" for name, amount in reply["memory_bytes"].items() if amount is not None
    ]
    yield f"memory: {', '.join(memory)}; {count(reply['scopes']['count'], 'scope')} in it"


def _by_agent(tokens_by_agent: Mapping[str, int]) -> Iterator[str]:
    """Yield the tokens of agents, those with the most first."""
    for name, tokens in sorted(tokens_by_agent.items(), key=lambda pair: (-pair[1], pair[0])):
        yield f"  {clean(name) or '(no name)'}: {count(tokens, 'token')}"


def _describe_contexts(contexts: Reply) -> Iterator[str]:
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
    yield from islice(_by_agent(contexts["tokens_by_agent"]), AGENTS_SHOWN)
    if contexts["secrets_masked"]:
        yield f"masked: {count(contexts['secrets_masked'], 'value')} that looked like secrets"


def _milliseconds(amount: float | None) -> str:
    return "" if amount is None else f"{amount:,.2f} ms" if amount < 10 else f"{amount:,.0f} ms"


def describe_history(history: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines about the history in a reply to GetMetrics."""
    samples = history["samples"]
    if not samples:
        wait = duration(history["step_s"])
        yield f"nothing was sampled yet: the daemon started less than {wait} ago"
        return
    yield (
        f"from {local_time(samples[0]['at'])} to {local_time(samples[-1]['at'])}, a sample every"
        f" {duration(history['step_s'])}"
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
    totals: Counter[str] = Counter()
    for sample in samples:
        totals.update(sample["tokens_by_agent"])
    yield from _by_agent(totals)


def sparkline(values: Sequence[float | None], width: int) -> str:
    """Return numbers of at least 0 as a curve of at most `width` characters; the largest number has full
    height.

    Where there are more numbers than characters, each character shows the largest of several, because peaks
    matter most. Zero is the lowest bar, None a gap.
    """
    shown = [
        max((value for value in part if value is not None), default=None) for part in _parts(values, width)
    ]
    top = max((value for value in shown if value is not None), default=0.0)
    heights = (None if value is None else round(value / (top or 1) * (len(BARS) - 1)) for value in shown)
    return "".join(GAP if height is None else BARS[height] for height in heights)


def _parts(values: Sequence[float | None], width: int) -> list[Sequence[float | None]]:
    """Divide values into so many runs at most, as equal as can be."""
    count = min(len(values), width)
    edges = [place * len(values) // count for place in range(count + 1)] if count else [0]
    return [values[start:end] for start, end in pairwise(edges)]
