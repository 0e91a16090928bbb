"""The synthetic tree: as many files as are wanted, of realistic sizes, the same in every run.

A smaller tree is the beginning of a larger one of the same seed, so that points of a growth curve differ in
nothing but their number. Sizes are log-normal with a median of 2.5 KB and a mean of about 4.6 KB, as those of
source files are (Django 5.2: 2.3 KB and 7.9 KB over its Python files). Packages have 20 modules, and modules
import from their own package and from earlier ones.
"""

from __future__ import annotations

import math
import os
import random
from collections.abc import Iterator
from pathlib import Path

SEED = 11
MEDIAN_BYTES, SPREAD = 2_500, 1.1
MIN_BYTES, MAX_BYTES = 120, 120_000
PACKAGE, GROUP = 20, 25
"""Modules in a package, packages in a folder."""

_NOUNS = (
    "account address batch budget cache cart channel client column cursor customer device discount event "
    "field filter folder frame invoice item job ledger limit lock message metric order packet page parser "
    "payment plan policy price product queue quota record region report request route rule session shard "
    "shipment signal slot snapshot stock stream table task tenant ticket token trace user "
    "vendor window"
)
_VERBS = (
    "add apply build check close collect compare count create decode drop encode expire fetch filter find "
    "flush format join load lock mark merge move open pack parse plan poll print prune push read release "
    "render reset resolve retry route save scan send sort split start stop store sum sync trim update wait "
    "walk write"
)
NOUNS, VERBS = tuple(_NOUNS.split()), tuple(_VERBS.split())
KINDS = (("py", 80), ("ts", 10), ("md", 6), ("json", 4))
"""Suffixes with their shares of the files, in percent."""


def write_tree(root: Path, count: int, seed: int = SEED) -> Path:
    """Write the first `count` files of the tree of a seed below `root`; return it with its links resolved."""
    made = set()
    for path, text in files(count, seed):
        target = os.path.join(root, path)
        folder = os.path.dirname(target)
        if folder not in made:
            os.makedirs(folder, exist_ok=True)
            made.add(folder)
        with open(target, "w", encoding="utf-8") as file:
            file.write(text)
    (root / ".git").mkdir(exist_ok=True)  # the root of a project, and no repository
    return root.resolve()


def files(count: int, seed: int = SEED) -> Iterator[tuple[str, str]]:
    """Yield paths, relative to the root, and texts."""
    for number in range(count):
        chooser = random.Random(seed * 1_000_003 + number)
        kind = _kind(chooser)
        size = int(min(max(MEDIAN_BYTES * math.exp(chooser.gauss(0, SPREAD)), MIN_BYTES), MAX_BYTES))
        if kind == "py":
            yield path_of(number), _python(number, size, chooser, seed)
        else:
            yield path_of(number, kind), _TEXTS[kind](number, size, chooser)


def path_of(number: int, kind: str = "py") -> str:
    """Return where a file of a number lies."""
    package = number // PACKAGE
    return f"src/group_{package // GROUP}/package_{package}/module_{number}.{kind}"


def function_of(number: int, index: int = 0) -> str:
    """Return the name of a function that only this file defines."""
    return f"{_word(VERBS, number, index)}_{_word(NOUNS, number, index + 3)}_{number}_{index}"


def _python(number: int, size: int, chooser: random.Random, seed: int) -> str:
    used = list(_used(number, chooser, seed))
    noun = _word(NOUNS, number, 1)
    parts = [f'"""Owns the {noun} of part {number}."""\n\nfrom __future__ import annotations\n\n']
    parts += [f"from {path_of(one)[:-3].replace('/', '.')} import {function_of(one)}\n" for one in used]
    length, index = sum(map(len, parts)), 0
    while not index or length < size:
        part = _python_definition(number, index, used, chooser)
        parts.append(part)
        length += len(part)
        index += 1
    return "".join(parts)


def _python_definition(number: int, index: int, used: list[int], chooser: random.Random) -> str:
    noun, other, verb = chooser.choice(NOUNS), chooser.choice(NOUNS), chooser.choice(VERBS)
    called = f"{function_of(chooser.choice(used))}({noun})" if used else f"len({noun})"
    name = function_of(number, index)
    if index % 4 == 3:
        return (
            f"\n\nclass {noun.title()}{other.title()}{number}x{index}:\n"
            f'    """A {noun} that can {verb} its {other}."""\n\n'
            f"    def __init__(self, {noun}, limit={chooser.randrange(1000)}):\n"
            f"        self.{noun} = {noun}\n        self.limit = limit\n\n"
            f"    def {verb}(self, {other}):\n"
            f'        """{verb.title()} the {other}, at most as often as the limit allows."""\n'
            f"        if {other} is None or len(self.{noun}) > self.limit:\n"
            f'            raise ValueError("no {other} to {verb}")\n'
            f"        return {function_of(number)}(self.{noun})\n"
        )
    return (
        f"\n\ndef {name}({noun}, {other}=None):\n"
        f'    """{verb.title()} the {noun} before its {other} is due."""\n'
        f"    result = []\n    for position, value in enumerate({noun}):\n"
        f"        if value == {other} and position > {chooser.randrange(100)}:\n            continue\n"
        f'        result.append(("{verb}", position, value))\n'
        f"    return result or {called}\n"
    )


def _typescript(number: int, size: int, chooser: random.Random) -> str:
    parts = [f"// Owns the {_word(NOUNS, number, 1)} of part {number}.\n"]
    length, index = 0, 0
    while not index or length < size:
        noun, verb = chooser.choice(NOUNS), chooser.choice(VERBS)
        part = (
            f"\nexport function {verb}{noun.title()}{number}x{index}({noun}: string[], limit = "
            f"{chooser.randrange(1000)}): number {{\n"
            f"  // {verb.title()} as many as the limit allows.\n"
            f"  const taken = {noun}.slice(0, limit);\n"
            f'  return taken.filter((one) => one !== "{chooser.choice(NOUNS)}").length;\n}}\n'
        )
        parts.append(part)
        length += len(part)
        index += 1
    return "".join(parts)


def _markdown(number: int, size: int, chooser: random.Random) -> str:
    parts = [f"# The {_word(NOUNS, number, 1)} of part {number}\n"]
    length = 0
    while length < size:
        noun, other, verb = chooser.choice(NOUNS), chooser.choice(NOUNS), chooser.choice(VERBS)
        part = f"\n## How to {verb} a {noun}\n\nBefore you {verb} it, look whether its {other} is there.\n"
        parts.append(part)
        length += len(part)
    return "".join(parts)


def _json(number: int, size: int, chooser: random.Random) -> str:
    rows = [
        f'    "{chooser.choice(NOUNS)}_{row}": {chooser.randrange(10_000)}' for row in range(size // 24 + 1)
    ]
    return "{\n" + ",\n".join(rows) + "\n}\n"


_TEXTS = {"ts": _typescript, "md": _markdown, "json": _json}


def _used(number: int, chooser: random.Random, seed: int) -> Iterator[int]:
    """Yield the Python files that one imports: of its own package, and of those before it."""
    first = number // PACKAGE * PACKAGE
    for low, high, most in ((first, number, 3), (0, first, 2)):
        for one in chooser.sample(range(low, high), min(most, high - low)):
            if _kind(random.Random(seed * 1_000_003 + one)) == "py":
                yield one


def _kind(chooser: random.Random) -> str:
    return chooser.choices([name for name, _ in KINDS], [share for _, share in KINDS])[0]


def _word(words: tuple[str, ...], number: int, index: int) -> str:
    return words[(number * 7919 + index * 104_729) % len(words)]
