"""Generated projects whose files import each other in every way that could keep the linker from ending.

`generated` makes one: modules in a ring, a chain, diamonds, all to all or at random, named alike in several
folders; by wildcard, by name or passed on; classes that inherit from each other in circles, and functions
that return what others return. The same numbers give the same project.
"""

from __future__ import annotations

import logging
import random
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from foveal.daemon.linking.records import LinkedFile
from foveal.daemon.linking.service import link_file
from msgspec import Struct, convert

from ..source_world import SourceWorld

FILE_S: Final = 5.0
"""Seconds of a processor for one file, above which a graph counts as lost."""

FOLDERS: Final = ("alpha", "beta", "gamma", "delta")
NAMES: Final = 6
"""Different names of classes, functions, members and variables: few, so that they meet."""


class Module(NamedTuple):
    """A module by its folder and its name, which another folder may have too."""

    folder: str
    name: str


class Form(Struct, frozen=True):
    """How a language writes a module. `imports` are ways to bring in a module or a name of it, in which
    `{folder}`, `{name}` and `{what}` stand for what is imported; `bodies` are definitions with `{own}`,
    `{base}`, `{other}`, `{member}` and `{value}`, an expression; `extra` are files beside the modules."""

    path: str
    imports: tuple[str, ...]
    bodies: tuple[str, ...]
    head: str = ""
    values: tuple[str, ...] = (
        "{other}()",
        "{other}().{member}()",
        "{other}.{member}().{member}",
        "{other}().{member}.{member}()",
    )
    tail: str = ""
    extra: tuple[tuple[str, str], ...] = ()


_TABLE = Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
FORMS: Final = convert(tomllib.loads(_TABLE), dict[str, Form])
"""How each language is written: those that have rules of their own, and those that have none."""

SHAPES: Final[Mapping[str, Callable[[int, random.Random], Iterator[tuple[int, int]]]]] = {
    "ring": lambda count, chance: ((at, (at + 1) % count) for at in range(count)),
    "chain": lambda count, chance: ((at, at + 1) for at in range(count - 1)),
    "both ways": lambda count, chance: (
        pair for at in range(count - 1) for pair in ((at, at + 1), (at + 1, at))
    ),
    "diamonds": lambda count, chance: (
        (at, below) for at in range(count) for below in range(at - at % 3 + 3, min(at - at % 3 + 6, count))
    ),
    "all to all": lambda count, chance: ((at, other) for at in range(count) for other in range(count)),
    "random": lambda count, chance: (
        (chance.randrange(count), chance.randrange(count)) for _ in range(count * chance.randint(1, 6))
    ),
}


def generated(language: str, shape: str, count: int, seed: int, asked: int = 0) -> dict[str, str]:
    """Return the files of a project of some modules, by path; one of them asks for so many names that nobody
    defines, for each of which all have to be looked through."""
    chance = random.Random(f"{language} {shape} {count} {seed} {asked}")
    form = FORMS[language]
    folders = chance.choice((1, 2, len(FOLDERS)))
    modules = [Module(FOLDERS[at % folders], f"m{at // folders}") for at in range(count)]
    imports: dict[Module, list[str]] = {module: [] for module in modules}
    # Mostly one way throughout: a chain of wildcards is as long as it gets then.
    usual = chance.choice(form.imports)
    for at, other in SHAPES[shape](count, chance):
        way = usual if chance.random() < 0.8 else chance.choice(form.imports)
        imports[modules[at]].append(way.format(**_words(chance), **modules[other]._asdict()))
    files = {
        path: content.format(name=chance.choice(modules).name) if "{" in content else content
        for path, content in form.extra
    }
    for at, module in enumerate(modules):
        path = form.path.format(**module._asdict())
        circle = {"own": f"K{at % NAMES}", "base": f"K{(at + 1) % NAMES}"} if chance.random() < 0.5 else {}
        bodies = [_body(form, module, chance, circle) for _ in range(chance.randint(1, 5))]
        for number in range(asked if at == 0 else 0):
            nobody = {"own": f"A{number}", "base": f"B{number}", "other": f"C{number}"}
            bodies.append(_body(form, module, chance, nobody))
        head = form.head.format(**module._asdict())
        first, last = (head, "") if language in {"go", "java", "kotlin", "scala", "php"} else ("", head)
        tail = form.tail.replace("{what}", _words(chance)["what"])
        lines = [first, *dict.fromkeys(imports[module]), last, *bodies, tail]
        files[path] = "\n".join(line for line in lines if line) + "\n"
    return files


def _body(form: Form, module: Module, chance: random.Random, circle: Mapping[str, str]) -> str:
    words = {**_words(chance), **circle}
    value = chance.choice(form.values).format(**words, **module._asdict())
    return chance.choice(form.bodies).format(**words, **module._asdict(), value=value)


def _words(chance: random.Random) -> dict[str, str]:
    def name(first: str) -> str:
        return f"{first}{chance.randrange(NAMES)}"

    kinds = ("own", "base", "other", "what")
    return {kind: name(chance.choice("KKf")) for kind in kinds} | {"member": name(chance.choice("mmKf"))}


class Linkage(NamedTuple):
    """What linking all files of a project took: the longest time of one file, the most steps, and how many of
    its references met a bound."""

    files: int
    seconds: float
    steps: int
    cut: int


def link_all(files: Mapping[str, str]) -> Linkage:
    """Link each file twice. Raises `AssertionError` where that gives two answers or takes too long."""
    world = SourceWorld(files)
    longest = 0.0
    steps = cut = 0
    with _warnings() as warnings:
        for path in files:
            started = time.process_time()
            found = world.link(path)
            longest = max(longest, time.process_time() - started)
            _check(path, found, world.link(path), files)
            steps, cut = max(steps, found.steps), cut + found.cut
        assert not warnings, f"{warnings[0].getMessage()}"
    assert longest < FILE_S, f"a file took {longest:.1f} s"
    return Linkage(len(files), longest, steps, cut)


def _check(path: str, found: LinkedFile, again: LinkedFile, files: Mapping[str, str]) -> None:
    assert found == again, f"{path} is linked in two ways"
    for link in found.links:
        assert not link.target_path or link.target_path in files, f"{path} leads to {link.target_path}"


class _Gathering(logging.Handler):
    def __init__(self, records: list[logging.LogRecord]) -> None:
        super().__init__(logging.WARNING)
        self._records = records

    def emit(self, record: logging.LogRecord) -> None:
        self._records.append(record)


@contextmanager
def _warnings() -> Iterator[list[logging.LogRecord]]:
    """Gather what the linker warns of: that it was saved by Python's own bound."""
    records: list[logging.LogRecord] = []
    handler = _Gathering(records)
    logger = logging.getLogger(link_file.__module__)
    logger.addHandler(handler)
    try:
        yield records
    finally:
        logger.removeHandler(handler)
