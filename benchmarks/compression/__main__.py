"""Entry point: python -m benchmarks.compression FOLDER prints which share of the needed lines survives."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from foveal.daemon.compression.service import compress
from foveal.daemon.context.excerpt import FileSource, shorten
from foveal.daemon.context.focus import prompt_words
from foveal.daemon.index.service import query_terms
from foveal.daemon.languages.shared.language import fence_tag, language_of
from foveal.daemon.languages.shared.parse import parse_source

from ..retrieval.corpora import CorpusError
from .pairs import Pair, languages_of, read_file, read_pairs
from .survival import share_kept

RATIO = 4
"""How many times smaller a file is made."""

METHODS = ("compress", "context", "head")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What survived of one pair: the share of its needed lines by method, and what the first one took."""

    pair: Pair
    kept: dict[str, float]
    milliseconds: float


def main(arguments: list[str] | None = None) -> int:
    """Run and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compression", description=__doc__)
    parser.add_argument("folder", type=Path, help="where archives are fetched to and unpacked")
    parser.add_argument("--ratio", type=float, default=RATIO)
    parser.add_argument("--split", choices=("tune", "held_out"))
    options = parser.parse_args(arguments)
    options.folder.mkdir(parents=True, exist_ok=True)
    outcomes, failed = [], 0
    for pair in read_pairs():
        if options.split not in (None, pair.split):
            continue
        try:
            text = read_file(pair, options.folder)
        except CorpusError as error:
            print(error, file=sys.stderr)
            failed += 1
            continue
        outcomes.append(measure(pair, text, options.ratio))
    print(report(outcomes))
    return 1 if failed else 0


def measure(pair: Pair, text: str, ratio: float) -> Outcome:
    """Compress one file in each way to the same number of characters."""
    language = language_of(pair.path, text[:256].encode())
    symbols = parse_source(text.encode(), language).symbols
    room = int(len(text) / ratio)
    began = time.perf_counter()
    forms = {"compress": compressed(text, pair, room)}
    took = time.perf_counter() - began
    source = FileSource(pair.path, text, fence_tag(language), symbols)
    forms["context"] = shorten(source, prompt_words(pair.prompt), (), room).text
    forms["head"] = text[:room].rpartition("\n")[0]
    for method, form in forms.items():
        assert len(form) <= room, f"{method} is too long for {pair.name}"
    kept = {method: share_kept(text, form, pair.needed) for method, form in forms.items()}
    return Outcome(pair, kept, took * 1000)


def compressed(text: str, pair: Pair, room: int) -> str:
    """Compress a file as the product does: with the terms of the prompt as retrieval cuts them."""
    return compress(text, pair.path, query_terms(pair.prompt).weights, room).text


def report(outcomes: Sequence[Outcome]) -> str:
    """Return the tables: by who wrote the pairs and when they are looked at, and by language."""
    groups: list[tuple[str, Callable[[Outcome], bool]]] = [
        ("tune", lambda one: one.pair.split == "tune"),
        ("held out", lambda one: one.pair.split == "held_out" and not one.pair.blind),
        ("blind", lambda one: one.pair.blind),
        ("held out and blind", lambda one: one.pair.split == "held_out"),
        ("all", lambda one: True),
    ]
    columns = [f"{method} {what}" for what in ("mean", "all lines") for method in METHODS]
    rows = ["| pairs | n | " + " | ".join(columns) + " |", "|---|---|" + "---|" * len(columns)]
    for name, belongs in groups:
        rows.append(_row(name, [one for one in outcomes if belongs(one)]))
    rows += ["", "| language | n | " + " | ".join(columns) + " |", "|---|---|" + "---|" * len(columns)]
    for language in languages_of(one.pair for one in outcomes):
        rows.append(_row(language, [one for one in outcomes if one.pair.language == language]))
    slowest = max((outcome.milliseconds for outcome in outcomes), default=0.0)
    return "\n".join([*rows, "", f"The slowest took {slowest:.1f} ms."])


def _row(name: str, outcomes: Sequence[Outcome]) -> str:
    cells = []
    for good in (lambda kept: kept, lambda kept: float(kept == 1.0)):
        for method in METHODS:
            values = [good(outcome.kept[method]) for outcome in outcomes]
            cells.append(f"{sum(values) / len(values):.3f}" if values else "")
    return f"| {name} | {len(outcomes)} | " + " | ".join(cells) + " |"


if __name__ == "__main__":
    sys.exit(main())
