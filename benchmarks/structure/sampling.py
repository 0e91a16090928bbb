"""The choice of call sites that a tool is asked about: all of some names, the same ones in every run."""

from __future__ import annotations

import ast
import random
from collections import defaultdict
from collections.abc import Iterable, Mapping

from .python_sites import PythonFile
from .sites import Site, last_name

SEED = 4
SITES = 3_000
"""Sites of a Python package that pyright is asked about; it takes 5 to 20 ms for each."""


def may_lead_into(files: Mapping[str, PythonFile]) -> set[str]:
    """Return the names that a call of something in the project can end in: what is defined, imported under
    another name, assigned or handed in. A call that ends in any other name leads out of the project."""
    names: set[str] = set()
    for file in files.values():
        for node in ast.walk(ast.parse(file.text)):
            match node:
                case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                    names.add(node.name)
                case ast.alias(asname=str(name)) | ast.arg(arg=name):
                    names.add(name)
                case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                    names.add(name)
                case _:
                    pass
    return names


def sample(files: Mapping[str, PythonFile], count: int = SITES) -> list[Site]:
    """Return the call sites of names taken at random until there are `count`, all of each name.

    So the callers of a function of one of these names are all among them, unless it is renamed.
    """
    names = may_lead_into(files)
    by_name: dict[str, list[Site]] = defaultdict(list)
    for site in _sites(files):
        if site.name in names:
            by_name[site.name].append(site)
    defined = {last_name(each.name) for file in files.values() for each in file.definitions.values()}
    order = sorted(by_name)
    random.Random(SEED).shuffle(order)
    # Names that nothing in the project has by definition (variables, parameters) come last.
    order.sort(key=lambda name: name not in defined)
    chosen: list[Site] = []
    for name in order:
        if len(chosen) >= count:
            break
        chosen += by_name[name]
    return sorted(chosen)


def _sites(files: Mapping[str, PythonFile]) -> Iterable[Site]:
    return (site for file in files.values() for site in file.sites)
