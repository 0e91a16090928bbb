"""Entry point: python -m benchmarks.transcripts prints precision and recall of what is found.

Each set in English has a row, each other language over all sets, and the sets without a part in the fit.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from foveal.daemon.transcripts.extraction import MinedDecision, extract
from foveal.daemon.transcripts.transcripts import read

from .labelled import OTHER_LANGUAGES, SETS, UNSEEN, read_set, transcript_lines
from .matching import Compared, Figures, compare, figures

MIN_PRECISION, MIN_RECALL = 0.9, 0.65
"""Of a set in English."""
MIN_PRECISION_UNSEEN, MIN_RECALL_UNSEEN = 0.95, 0.7
"""Of the sets that nothing was fitted to, together, in all languages."""
MIN_PRECISION_OF_LANGUAGE, MIN_RECALL_OF_LANGUAGE = 0.95, 0.5
"""Of another language over all sets; one with less isn't worth its file."""


def main() -> int:
    """Run and print; the exit status is 1 if a set or a language misses its targets."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.transcripts", description=__doc__)
    parser.add_argument("--misses", action="store_true", help="print what was wrong and what was missed")
    parser.add_argument("--set", choices=tuple(SETS), help="only this set")
    arguments = parser.parse_args()
    compared = {
        name: [compare(one, findings_in(one.path)) for one in read_set(folder)]
        for name, folder in SETS.items()
        if arguments.set in (None, name)
    }
    results = {
        name: figures(one for one in of_set if one.labelled.is_english)
        for name, of_set in compared.items()
        if of_set
    }
    languages = {
        name: figures(one for of_set in compared.values() for one in of_set if name in one.labelled.kinds)
        for name in sorted(OTHER_LANGUAGES)
    }
    unseen = figures(one for name in UNSEEN for one in compared.get(name, ()))
    met = all(map(is_met, results.values()))
    if arguments.set is None:
        met = met and is_met_unseen(unseen) and all(map(is_worth_its_file, languages.values()))
        results["unseen"] = unseen
    results |= {name: result for name, result in languages.items() if result.transcripts}
    print(_table(results))
    if arguments.misses:
        for of_set in compared.values():
            print("\n".join(line for one in of_set for line in _misses(one)))
    return 0 if met else 1


def findings_in(path: Path) -> list[MinedDecision]:
    """Return what the product finds in a transcript, read as the product reads it."""
    with tempfile.TemporaryDirectory(prefix="fv-") as folder:
        whole = Path(folder, path.name)
        whole.write_text("".join(transcript_lines(path)), "utf-8")
        with read(str(whole)) as reading:
            return extract(reading.entries())


def is_met(result: Figures) -> bool:
    """Whether a set meets the targets."""
    return result.precision >= MIN_PRECISION and result.recall >= MIN_RECALL and not result.unasked


def is_met_unseen(result: Figures) -> bool:
    """Whether the unseen sets meet the targets."""
    enough = result.precision >= MIN_PRECISION_UNSEEN and result.recall >= MIN_RECALL_UNSEEN
    return enough and not result.unasked


def is_worth_its_file(result: Figures) -> bool:
    """Whether a language other than English meets its targets."""
    enough = result.recall >= MIN_RECALL_OF_LANGUAGE and not result.unasked
    return enough and result.precision >= MIN_PRECISION_OF_LANGUAGE


def _table(results: dict[str, Figures]) -> str:
    head = (
        "set",
        "transcripts",
        "without",
        "labels",
        "findings",
        "precision",
        "recall",
        "unasked",
        "outcome",
        "files",
    )
    rows: list[Sequence[str]] = [head, ["---"] * len(head)]
    for name, result in results.items():
        counts = (result.transcripts, result.without, result.labels, result.findings)
        shares = (result.precision, result.recall)
        told = [*map(str, counts), *(f"{share:.3f}" for share in shares), str(result.unasked)]
        rows.append([name, *told, f"{result.outcome:.3f}", f"{result.files:.3f}"])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _misses(one: Compared) -> list[str]:
    name = one.labelled.path.name
    lines = [f"{name}: wrong: {found.decision} <- {found.rationale}" for found in one.wrong]
    lines += [f"{name}: missed: {label.says}" for label in one.missed]
    for found, label in one.pairs:
        if label.outcome is not None and found.outcome != label.outcome:
            lines.append(f"{name}: outcome {found.outcome!r}, not {label.outcome!r}: {label.says}")
        if label.files is not None and not all(
            any(path.endswith(file) for path in found.files) for file in label.files
        ):
            lines.append(f"{name}: files {found.files}, not {label.files}: {label.says}")
    return lines


if __name__ == "__main__":
    sys.exit(main())
