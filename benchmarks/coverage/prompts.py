"""Owns the prompts: what is asked of which project, and the files and definitions that the change took."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from foveal.daemon.project.languages import language_of
from foveal.daemon.project.parse import parse_source
from foveal.daemon.project.tree import Symbol

from ..retrieval.mining import Question, read_questions
from ..retrieval.repositories import git_command

_HUNK = re.compile(rb"^@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt. `files` are the paths that are needed, `symbols` pairs of a path and the qualified name of
    a definition in it, all of them in the project's tree. `focus` is a path that the caller gives, or ""."""

    id: str
    collection: str
    project: str
    split: str
    text: str
    files: tuple[str, ...]
    symbols: tuple[tuple[str, str], ...]
    focus: str = ""


def read_prompts(
    paths: Iterable[Path], trees: Path, clones: dict[str, Path], most: int | None
) -> list[Prompt]:
    """Return the prompts of files that `retrieval.mining` wrote, at most so many a project and file.

    `clones` are the histories by project; what is about another project is left out.
    """
    prompts: list[Prompt] = []
    for path in paths:
        grouped: dict[str, list[Question]] = {}
        for question in read_questions(path):
            grouped.setdefault(question.repo, []).append(question)
        for name, questions in grouped.items():
            if name in clones:
                asked = (one for one in questions if one.query)
                prompts += [
                    _prompt(path.stem, one, trees / name, clones[name]) for one in islice(asked, most)
                ]
    return prompts


def with_focus(prompts: Iterable[Prompt]) -> list[Prompt]:
    """Return the prompts that need several files, with the first as focus: needed are the others, and all
    definitions, since a focus that is shown without them helps as little."""
    return [
        Prompt(
            f"{one.id}+focus",
            f"{one.collection} with a focus",
            one.project,
            one.split,
            one.text,
            one.files[1:],
            one.symbols,
            one.files[0],
        )
        for one in prompts
        if len(one.files) > 1
    ]


def changed_definitions(clone: Path, commit: str, path: str) -> list[str]:
    """Return the definitions of a file that a commit changed, by name, in the order of the file.

    They are the innermost ones around the changed lines in the parent's version; of lines that were only
    added the innermost one that holds both neighbours. What lies in no definition names none.
    Raises `subprocess.CalledProcessError` for a commit without a parent.
    """
    before = _git(clone, "cat-file", "blob", f"{commit}^:{path}")
    shown = ("--unified=0", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color")
    difference = _git(clone, "diff", *shown, f"{commit}^", commit, "--", path)
    symbols = definitions(path, before)
    found: dict[str, int] = {}
    for first, last in _changed_lines(difference):
        inside = [one for one in symbols if one.start_line <= first and last <= one.end_line]
        innermost = max(inside, key=lambda one: (one.start_line, -one.end_line), default=None)
        if innermost is not None:
            found[innermost.name] = innermost.start_line
    return sorted(found, key=lambda name: found[name])


def definitions(path: str, source: bytes) -> Sequence[Symbol]:
    """Return the definitions of a source file, as the product's parser reads them."""
    return parse_source(source, language_of(path, source[:200])).symbols


def _prompt(collection: str, question: Question, tree: Path, clone: Path) -> Prompt:
    symbols: list[tuple[str, str]] = []
    for path in question.answers:
        here = {one.name for one in definitions(path, (tree / path).read_bytes())}
        changed = changed_definitions(clone, question.commit, path)
        symbols += [(path, name) for name in changed if name in here]
    return Prompt(
        f"{collection}-{question.repo}-{question.commit[:12]}",
        collection,
        question.repo,
        question.split,
        question.query,
        question.answers,
        tuple(symbols),
    )


def _changed_lines(difference: bytes) -> Iterator[tuple[int, int]]:
    """Yield each changed line of the former version, and for lines that were only added their neighbours."""
    for match in _HUNK.finditer(difference):
        first, count = int(match[1]), int(match[2] or 1)
        if not count:
            yield first, first + 1
        yield from ((line, line) for line in range(first, first + count))


def _git(clone: Path, *arguments: str) -> bytes:
    return subprocess.run(git_command(clone, *arguments), stdout=subprocess.PIPE, check=True).stdout
