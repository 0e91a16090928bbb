"""Entry point: python -m benchmarks.items prints the tables of the README's section on items."""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from foveal.daemon.config.item_selection import parse_selection
from foveal.daemon.rules.items import chunks
from foveal.daemon.rules.records import Item, ItemMatches, ItemScore, Profiles
from foveal.daemon.rules.selection import LEXICAL_WEIGHT, Profile
from foveal.daemon.rules.service import ItemSearch, item_text, resolve
from msgspec.structs import replace

from ..statistics import Measure, table
from .labelled import Query, read_items, read_queries
from .measures import quantiles, recall_at, taken
from .searching import PATIENT_S, item_search

KINDS = ("rules", "tools")
PRESETS = ("aggressive", "normal", "conservative")
EVERYTHING = Profile(top_k=100_000, top_n=100_000, floor=-1.0, near_best=0.0)

FIRST_CHUNKS = 151
FIRST_SEARCHES = 7
LATER_DOCUMENTS = 100
LATER_SEARCHES = 200


def main() -> int:
    """Run and print; the exit status is 1 if a time was above its target."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.items", description=__doc__)
    parser.add_argument("--half", choices=("choosing", "held-out"), default="held-out")
    half = parser.parse_args().half
    with (
        tempfile.TemporaryDirectory(prefix="fv-") as first,
        tempfile.TemporaryDirectory(prefix="fv-") as state,
    ):
        return asyncio.run(_run(first, state, half))


async def _run(first: str, state: str, half: str) -> int:
    items = read_items()
    queries = [query for query in read_queries(items) if query.half == half]
    async with item_search(first) as search:
        times = await _times(search, items)
    async with item_search(state) as search:
        await search.embed(items, PATIENT_S)
        everything = await _searched(search, items, queries, Profiles(EVERYTHING, EVERYTHING))
        print(f"{len(items)} items, {len(queries)} {half} queries\n")
        _print_scores(queries, everything)
        _print_evidence(queries, everything)
        presets = {
            preset: await _searched(search, items, queries, resolve(parse_selection(preset)))
            for preset in PRESETS
        }
    _print_presets(queries, presets)
    print(table(times))
    return 1 if any(one.met is False for one in times) else 0


async def _searched(
    search: ItemSearch, items: Sequence[Item], queries: Sequence[Query], profiles: Profiles
) -> list[ItemMatches]:
    found = [
        await search.search(items, query.text, profiles, within_s=PATIENT_S, history=query.history)
        for query in queries
    ]
    problems = {reason for one in found for reason in one.degraded}
    if problems:
        raise SystemExit(f"not all was searched: {'; '.join(sorted(problems))}")
    return found


def _print_scores(queries: Sequence[Query], everything: Sequence[ItemMatches]) -> None:
    """Print how the scores of all pairs of a query and an item are spread."""
    shares = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99)
    names = " | ".join(f"{share:.0%}" for share in shares)
    print(f"| pairs | n | {names} |\n|---|---|{'---|' * len(shares)}")
    for kind in KINDS:
        for what in ("similarity", "score"):
            for relevant in (True, False):
                samples = [
                    getattr(score, what)
                    for query, found in zip(queries, everything, strict=True)
                    for score in _of(kind, found)
                    if (score.key in query.wanted) == relevant
                ]
                figures = " | ".join(f"{quantile:.2f}" for quantile in quantiles(samples, shares))
                name = f"{kind}, {'cosine' if what == 'similarity' else what}"
                print(f"| {name}, {'' if relevant else 'ir'}relevant | {len(samples):,} | {figures} |")
    print()


def _print_evidence(queries: Sequence[Query], everything: Sequence[ItemMatches]) -> None:
    """Print recall@5 by what the items are ordered by."""
    orders: dict[str, Callable[[ItemScore], float]] = {
        "meaning and words": lambda one: one.score,
        "meaning alone": lambda one: one.similarity,
        "words alone": lambda one: one.lexical,
    }
    print(f"| recall@5 (words weigh {LEXICAL_WEIGHT}) | rules | tools |\n|---|---|---|")
    for name, order in orders.items():
        print(
            f"| {name} | " + " | ".join(f"{_recall(queries, everything, k, order):.3f}" for k in KINDS) + " |"
        )
    print()


def _recall(
    queries: Sequence[Query],
    everything: Sequence[ItemMatches],
    kind: str,
    order: Callable[[ItemScore], float],
) -> float:
    recalls = [
        recall_at([one.key for one in sorted(_of(kind, found), key=order, reverse=True)], wanted)
        for query, found in zip(queries, everything, strict=True)
        if (wanted := query.wanted_of(kind))
    ]
    return sum(recalls) / len(recalls)


def _print_presets(queries: Sequence[Query], presets: dict[str, list[ItemMatches]]) -> None:
    print("| preset | kind | recall@5 | precision | recall | taken a query | taken where none is wanted |")
    print("|---|---|---|---|---|---|---|")
    for preset, searched in presets.items():
        for kind in KINDS:
            chosen = [[one.key for one in _of(kind, found) if one.taken] for found in searched]
            figures = taken(
                (keys, query.wanted_of(kind)) for keys, query in zip(chosen, queries, strict=True)
            )
            recalls = [
                recall_at(keys, wanted)
                for keys, query in zip(chosen, queries, strict=True)
                if (wanted := query.wanted_of(kind))
            ]
            print(
                f"| {preset} | {kind} | {sum(recalls) / len(recalls):.3f} | {figures.precision:.3f} |"
                f" {figures.recall:.3f} | {figures.per_query:.2f} | {figures.needless:.2f} |"
            )
    print()


def _of(kind: str, found: ItemMatches) -> list[ItemScore]:
    """Return what was said of the items of a kind, the best first."""
    both = [
        one for one in (*found.taken, *found.considered) if (one.item.type == "tool") == (kind == "tools")
    ]
    return sorted(both, key=lambda one: -one.score)


async def _times(search: ItemSearch, items: Sequence[Item]) -> list[Measure]:
    """Time a first search, in which all is embedded, and later ones."""
    profiles = resolve()
    documents = [(item, len(chunks(item_text(item)))) for item in items]
    hundred = _up_to(documents, LATER_DOCUMENTS)
    # The process is started and its model loaded, which the daemon does when a project is opened.
    await search.embed([], PATIENT_S)
    ask = partial(search.search, profiles=profiles, within_s=PATIENT_S)
    measures = [
        Measure(f"first search, {FIRST_CHUNKS} chunks to embed", target=800.0),
        Measure(f"later search, {LATER_DOCUMENTS} chunks, a new message", target=10.0),
        Measure(f"later search, {LATER_DOCUMENTS} chunks, the same message", target=10.0),
        Measure(f"later search, all {sum(count for _, count in documents)} chunks, a new message"),
    ]
    for number in range(FIRST_SEARCHES):
        # Other texts each time: none has an embedding.
        new = [(replace(item, description=f"{item.description} {number}"), size) for item, size in documents]
        first = _up_to(new, FIRST_CHUNKS)
        await _timed(measures[0], partial(ask, first, f"list a customer's orders {number}"))
    await search.embed(items, PATIENT_S)
    for number in range(LATER_SEARCHES):
        await _timed(measures[1], partial(ask, hundred, f"fix test {number} of the parser"))
        await _timed(measures[2], partial(ask, hundred, "fix the parser"))
        await _timed(measures[3], partial(ask, items, f"review change {number} of the parser"))
    return measures


async def _timed(measure: Measure, work: Callable[[], Awaitable[object]]) -> None:
    started = time.perf_counter()
    await work()
    measure.samples.append((time.perf_counter() - started) * 1000)


def _up_to(documents: Sequence[tuple[Item, int]], most: int) -> list[Item]:
    """Return the first items whose chunks are so many together."""
    found, count = [], 0
    for item, size in documents:
        if count + size <= most:
            found.append(item)
            count += size
    return found


if __name__ == "__main__":
    sys.exit(main())
