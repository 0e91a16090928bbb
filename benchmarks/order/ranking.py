"""The ranking of what was gathered, and its figures: NDCG@10 and recall@10 by state, kind and language."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from foveal.daemon.index.service import Reader
from foveal.daemon.project.service import Tree
from foveal.daemon.search.candidates import Candidates, GatheredCandidates
from foveal.daemon.search.ranking import rank
from foveal.daemon.search.router import candidates_of

from ..retrieval.bootstrap import Interval, difference
from ..retrieval.measures import answering, ndcg, recall
from .collect import DEPTH, STATES, WHOLE, Gathered, Hits, cache_file, read
from .projects import TRANSLATED_KINDS

Order = Callable[[GatheredCandidates, Candidates, Mapping[str, str], Reader], Sequence[str]]
"""Ranks what is known of a question: the paths, best first."""

Earlier = dict[tuple[object, object], dict[str, object]]
"""The same by question and state."""

Rows = list[dict[str, object]]
"""A question in a state each: id, project, split, language, kind, state, NDCG@10 and recall@10."""


def product_order(
    gathered: GatheredCandidates, candidates: Candidates, languages: Mapping[str, str], reader: Reader
) -> list[str]:
    """Rank as the product does."""

    def rarity(term: str) -> float:
        return gathered.rarity.get(term, 0.0)

    return [file.path for file in rank(gathered.question, candidates, languages, rarity)]


def projects(state: Path, only: Sequence[str] = ()) -> Iterator[tuple[str, list[Gathered], Reader, Tree]]:
    """Yield each code base that was gathered, with its index open."""
    for file in sorted((state / "gathered").glob("*.pickle")):
        if only and file.stem not in only:
            continue
        (folder,) = (state / "projects").glob(f"*/{file.stem}")
        reader = Reader(str(folder))
        try:
            yield file.stem, read(cache_file(state, file.stem)), reader, Tree("/", 1, reader.load_files())
        finally:
            reader.close()


def ranked(found: Gathered, state: str, tree: Tree, reader: Reader, order: Order) -> list[str]:
    """Return the files that a question finds in a state, best first, as the search service joins them."""
    routed_hits, unrouted_hits = found.hits[state]

    def paths(gathered: GatheredCandidates, hits: Hits) -> list[str]:
        candidates, languages = candidates_of(gathered, hits, tree, reader, embedded=state in WHOLE)
        return list(order(gathered, candidates, languages, reader))[:DEPTH]

    if found.routed is found.unrouted:
        return paths(found.unrouted, unrouted_hits)
    first = found.answer if found.answer is not None else paths(found.routed, routed_hits)
    if not found.follows:
        return first
    others = paths(found.unrouted, unrouted_hits)
    return list(dict.fromkeys((*first, *others)))


def measure(state: Path, only: Sequence[str], split: str | None, order: Order = product_order) -> Rows:
    """Return the figures of all questions in all states that they were gathered in."""
    rows: Rows = []
    for _, gathered, reader, tree in projects(state, only):
        for found in gathered:
            if split and found.asked.split != split:
                continue
            for name in STATES:
                if name in found.hits:
                    rows.append(figures(found, name, ranked(found, name, tree, reader, order)))
    return rows


def figures(found: Gathered, state: str, paths: Sequence[str]) -> dict[str, object]:
    """Return the figures of one ranking."""
    asked, seen = found.asked, list(dict.fromkeys(paths))
    return {
        "id": asked.id,
        "project": asked.project,
        "split": asked.split,
        "language": asked.language,
        "kind": asked.kind,
        "state": state,
        "ndcg": ndcg(seen, asked.relevant, 10),
        "recall": recall(seen, answering(asked.relevant), 10),
    }


def run(state: Path, only: Sequence[str], split: str | None, save: Path | None, beside: Path | None) -> int:
    """Rank everything and print the tables."""
    rows = measure(state.absolute(), only, split)
    if save:
        save.write_text(json.dumps(rows), encoding="utf-8")
    print_tables(rows, json.loads(beside.read_text(encoding="utf-8")) if beside else None)
    return 0


def print_tables(rows: Rows, before: Rows | None) -> None:
    """Print NDCG@10 and recall@10 by half, state and kind, beside an earlier run with 95 % intervals."""
    earlier: Earlier = {(row["id"], row["state"]): row for row in before or ()}
    for split in ("held_out", "tune"):
        of_split = [row for row in rows if row["split"] == split]
        if not of_split:
            continue
        print(f"\n{split}: {len({row['project'] for row in of_split})} code bases")
        print("| what | state | questions | NDCG@10 | R@10 |" + (" before | difference |" if before else ""))
        for what, chosen in _groups(of_split):
            for state in STATES:
                some = [row for row in chosen if row["state"] == state]
                if some:
                    print(_line(what, state, some, earlier if before else None))


def _groups(rows: Rows) -> Iterator[tuple[str, Rows]]:
    yield "commits", [row for row in rows if row["kind"] == "commit"]
    yield "questions", [row for row in rows if row["kind"] not in ("commit", *TRANSLATED_KINDS)]
    for kind in sorted({str(row["kind"]) for row in rows} - {"commit"}):
        yield f"questions, {kind}", [row for row in rows if row["kind"] == kind]


def _line(what: str, state: str, rows: Rows, earlier: Earlier | None) -> str:
    mean, recalled = _mean(row["ndcg"] for row in rows), _mean(row["recall"] for row in rows)
    line = f"| {what} | {state} | {len(rows)} | {mean:.3f} | {recalled:.3f} |"
    if earlier is None:
        return line
    pairs = [(row, earlier[row["id"], row["state"]]) for row in rows if (row["id"], row["state"]) in earlier]
    if not pairs:
        return f"{line} | |"
    change = compare([pair[0] for pair in pairs], [pair[1] for pair in pairs])
    was = _mean(pair[1]["ndcg"] for pair in pairs)
    return f"{line} {was:.3f} | {change.mean:+.3f} [{change.low:+.3f}, {change.high:+.3f}] |"


def compare(ours: Sequence[Mapping[str, object]], theirs: Sequence[Mapping[str, object]]) -> Interval:
    """Return the difference in NDCG@10 of the same questions."""
    return difference([float(str(row["ndcg"])) for row in ours], [float(str(row["ndcg"])) for row in theirs])


def _mean(values: Iterable[object]) -> float:
    return float(np.mean([float(str(value)) for value in values]))
