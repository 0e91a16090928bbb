"""A small project in memory whose sources say beside each line what its references should mean."""

from __future__ import annotations

import re
from collections.abc import Mapping

from foveal.benchmarks.source_world import SourceWorld
from foveal.daemon.linking.linker import Linked

_EXPECTED = re.compile(r"(?:#|//|/\*|--) ?=> (.*?)(?: \*/)?$", re.MULTILINE)


def check(files: Mapping[str, str], *kinds: str) -> None:
    """Hold every line that says `=> target` against the links of that line, in order.

    A target is `path#name`, or the name alone within the file, `?` by name only, `external` for what lies
    outside; several are divided by commas. Only links of `kinds` count, by default calls.
    """
    world = SourceWorld(files)
    expected, found = {}, {}
    for path, source in files.items():
        links = world.link(path).links
        for match in _EXPECTED.finditer(source):
            line = source.count("\n", 0, match.start()) + 1
            place = f"{path}:{line}: {source.splitlines()[line - 1].strip()}"
            expected[place] = match[1].strip()
            found[place] = ", ".join(
                _said(link, path) for link in links if link.line == line and link.kind in (kinds or ("call",))
            )
    assert expected, "no line says what it means"
    wrong = [
        f"{place}\n    but found: {found[place]}" for place in expected if found[place] != expected[place]
    ]
    assert not wrong, "\n".join(wrong)


def _said(one: Linked, path: str) -> str:
    if one.state == "resolved":
        inside = one.target_path == path and one.target_name
        return one.target_name if inside else f"{one.target_path}#{one.target_name}".rstrip("#")
    return "external" if one.state == "external" else "?"
