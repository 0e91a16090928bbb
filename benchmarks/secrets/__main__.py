"""Entry point: python -m benchmarks.secrets prints which forms of secrets pass, and what else is masked."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from .forms import DATA, Form, read_forms, scored
from .trees import Mask, masks_in, sample

SAMPLE = 200


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.secrets", description=__doc__)
    parser.add_argument("--forms", help="a file of data, default: all")
    parser.add_argument("--misses", action="store_true", help="print each form that is wrong")
    parser.add_argument("--trees", nargs="*", type=Path, default=[], help="folders of repositories")
    parser.add_argument("--masks", type=Path, help="where to write each line of the trees that is masked")
    options = parser.parse_args()
    for name in [options.forms] if options.forms else sorted(one.name for one in DATA.glob("*.json")):
        _print_forms(name, read_forms(name), misses=options.misses)
    if options.trees:
        _print_trees(options.trees, options.masks)


def _print_forms(name: str, forms: Sequence[Form], *, misses: bool) -> None:
    secrets = sum(form.secret is not None for form in forms)
    passed, false = scored(forms)
    recall = 1 - len(passed) / max(secrets, 1)
    print(f"{name}: {secrets} secrets, {len(forms) - secrets} texts without one")
    print(f"  recall {recall:.3f} ({len(passed)} pass), false masks {len(false)}")
    left, total = (Counter(form.context for form in some if form.secret) for some in (passed, forms))
    for context, count in left.items():
        print(f"    {count:3} of {total[context]:3} pass: {context}")
    if misses:
        for form in passed:
            print(f"  passes: {form.id}: {form.text!r}")
        for form in false:
            print(f"  false: {form.id}: {form.text!r}")


def _print_trees(trees: Sequence[Path], kept: Path | None) -> None:
    masks: list[Mask] = []
    lines = size = 0
    seconds = 0.0
    for tree in trees:
        found = masks_in(tree)
        masks += found.masks
        lines, size, seconds = lines + found.lines, size + found.bytes, seconds + found.seconds
        rate = 10_000 * len(found.masks) / max(found.lines, 1)
        print(
            f"{tree.name:<40} {found.files:6} files {found.lines:9} lines {len(found.masks):5} masked lines"
            f" {rate:6.2f} in 10,000  slowest {1000 * found.slowest:6.0f} ms"
        )
    rate = 10_000 * len(masks) / max(lines, 1)
    print(f"{len(masks)} masked lines of {lines}: {rate:.2f} in 10,000; {size / 1e6 / seconds:.0f} MB/s")
    if kept:
        chosen = set(sample(masks, SAMPLE))
        rows = [{**asdict(mask), "sampled": mask in chosen} for mask in masks]
        kept.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


if __name__ == "__main__":
    main()
