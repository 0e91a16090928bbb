"""The arguments that benchmarks on pinned code bases share."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol, TypeVar

import platformdirs

from .retrieval.repositories import SPLITS


class Pinned(Protocol):
    """A code base of a list, with the half of the measurements that it belongs to."""

    @property
    def name(self) -> str:
        """The name by which `--only` chooses it."""

    @property
    def split(self) -> str:
        """One of `SPLITS`."""


_Pinned = TypeVar("_Pinned", bound=Pinned)


def parser(name: str, description: str | None) -> argparse.ArgumentParser:
    """Return the parser of a benchmark by its name, with the folder that it keeps and the code bases that it
    takes."""
    made = argparse.ArgumentParser(
        prog=f"python -m benchmarks.{name}",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    state = Path(platformdirs.user_cache_dir("foveal-benchmarks")) / name
    add = made.add_argument
    add("--state", type=Path, default=state, help="folder that keeps what was made (default: %(default)s)")
    add("--only", nargs="+", action="extend", default=[], metavar="NAME", help="these code bases only")
    return made


def add_clones(to: argparse.ArgumentParser) -> None:
    """Add the folder of the repositories' clones."""
    to.add_argument("--clones", type=Path, required=True, help="folder of the repositories' full clones")


def add_split(to: argparse.ArgumentParser) -> None:
    """Add the choice of a half; `chosen` goes by it."""
    to.add_argument(
        "--split", choices=SPLITS, nargs="+", default=list(SPLITS), help="which half (default: both)"
    )


def chosen(found: Iterable[_Pinned], options: argparse.Namespace) -> list[_Pinned]:
    """Return the code bases that the arguments choose."""
    return [
        one for one in found if one.split in options.split and (not options.only or one.name in options.only)
    ]
