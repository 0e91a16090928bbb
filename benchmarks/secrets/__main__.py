"""Entry point: python -m benchmarks.secrets prints which forms of secrets pass, and what else is masked."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from .forms import DATA, Form, read_forms, scored
from .peer import peer_count, peer_passed, shares
from .trees import Mask, masks_in, sample

SAMPLE = 200


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.secrets", description=__doc__)
    parser.add_argument("--forms", help="a file of data, default: all")
    parser.add_argument("--misses", action="store_true", help="print each form that is wrong")
    parser.add_argument("--trees", nargs="*", type=Path, default=[], help="folders of repositories")
    parser.add_argument("--masks", type=Path, help="where to write each line of the trees that is masked")
    parser.add_argument("--peer", type=Path, help="the Python of an environment with detect-secrets")
    options = parser.parse_args()
    for name in [options.forms] if options.forms else sorted(one.name for one in DATA.glob("*.json")):
        _print_forms(name, read_forms(name), options.peer, misses=options.misses)
    if options.trees:
        _print_trees(options.trees, options.masks, options.peer)


def _print_forms(name: str, forms: Sequence[Form], peer: Path | None, *, misses: bool) -> None:
    secrets = sum(form.secret is not None for form in forms)
    results = {"foveal": scored(forms)}
    if peer:
        results["detect-secrets"] = peer_passed(peer, forms)
    print(f"{name}: {secrets} secrets, {len(forms) - secrets} texts without one")
    for who, (passed, false) in results.items():
        recall = 1 - len(passed) / max(secrets, 1)
        print(f"  {who:<15} recall {recall:.3f} ({len(passed)} pass), false masks {len(false)}")
    passed, false = results["foveal"]
    for context, (left, total) in shares(passed, forms).items():
        if left:
            print(f"    {left:3} of {total:3} pass: {context}")
    if misses:
        for form in passed:
            print(f"  passes: {form.id}: {form.text!r}")
        for form in false:
            print(f"  false: {form.id}: {form.text!r}")


def _print_trees(trees: Sequence[Path], kept: Path | None, peer: Path | None) -> None:
    masks: list[Mask] = []
    lines = size = 0
    seconds = 0.0
    for tree in trees:
        found = masks_in(tree)
        masks += found.masks
        lines, size, seconds = lines + found.lines, size + found.bytes, seconds + found.seconds
        rate = 10_000 * len(found.masks) / max(found.lines, 1)
        beside = f"  {peer_count(peer, tree):6} of detect-secrets" if peer else ""
        print(
            f"{tree.name:<40} {found.files:6} files {found.lines:9} lines {len(found.masks):5} masked lines"
            f" {rate:6.2f} in 10,000  slowest {1000 * found.slowest:6.0f} ms{beside}"
        )
    rate = 10_000 * len(masks) / max(lines, 1)
    print(f"{len(masks)} masked lines of {lines}: {rate:.2f} in 10,000; {size / 1e6 / seconds:.0f} MB/s")
    if kept:
        chosen = set(sample(masks, SAMPLE))
        rows = [{**asdict(mask), "sampled": mask in chosen} for mask in masks]
        kept.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


if __name__ == "__main__":
    main()
