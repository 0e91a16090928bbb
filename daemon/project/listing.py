"""The reading of one folder: its entries by kind, and their names fit for print."""

from __future__ import annotations

import os

from msgspec import Struct, field

from ..core.system import System
from .rules import MARKS


class FolderListing(Struct):
    """The entries of a folder; `files` maps names fit for a record to the real ones.

    `odd_folders` are those whose names aren't UTF-8, `marks` the names that make rules. `unreadable` says
    that the folder can't be listed, so that nothing is known of it.
    """

    folder: str
    files: dict[str, str] = field(default_factory=dict)
    folders: set[str] = field(default_factory=set)
    odd_folders: set[str] = field(default_factory=set)
    marks: set[str] = field(default_factory=set)
    unreadable: bool = False

    def names(self) -> set[str]:
        """Return the names of all entries, a folder's with a slash at its end."""
        folders = {f"{name}/" for name in (*self.folders, *self.odd_folders)}
        return folders | self.files.keys()


def read_listing(base: str, folder: str, system: System) -> FolderListing:
    """Return the entries of a folder below a base that ends with a slash. Raises `OSError`."""
    listing = FolderListing(folder)
    odd = []
    with system.scandir(base + folder) as entries:
        for entry in entries:
            name = entry.name
            if name in MARKS:
                listing.marks.add(name)
            if name == ".git":
                continue
            if not name.isascii() and printable(name) != name:
                odd.append(entry)
            elif entry.is_dir(follow_symlinks=False):
                listing.folders.add(name)
            else:
                listing.files[name] = name
    for entry in sorted(odd, key=lambda entry: entry.name):
        if entry.is_dir(follow_symlinks=False):
            listing.odd_folders.add(entry.name)
        else:
            # A file whose real name is that printable form comes first.
            listing.files.setdefault(printable(entry.name), entry.name)
    return listing


def printable(name: str) -> str:
    r"""Return a name with the bytes that aren't UTF-8 written as `\xff`."""
    return os.fsencode(name).decode(errors="backslashreplace")
