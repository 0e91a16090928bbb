"""What the index says of a file counts only while the file is the one that was indexed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType

from foveal.daemon.context.known_files import KnownFiles
from foveal.daemon.core.system import Stamp
from foveal.daemon.index.service import masked_symbols
from foveal.daemon.index.symbol_cache import KeptSymbols
from foveal.daemon.languages.shared.records import Symbol
from foveal.daemon.privacy.secret_values import mask_secrets
from foveal.daemon.project.records import FileRecord

from tests.conftest import write_files
from tests.context.test_assembly import Desk, desk

__all__ = ["desk"]

FILES: Mapping[str, str | bytes] = {
    "a.py": "import b\n\ndef fa(): ...\n",
    "b.py": "def fb(): ...\n",
    "empty.py": "",
    "blank.css": " \n\n",
    "style.css": "a { color: red }\n",
    "data.json": "{}\n",
    "effect.js": "document.title = 'x';\n",
    "notes.md": "no heading\n",
    "logo.png": b"\0\1",
}


@contextmanager
def known(
    desk: Desk, overlays: Mapping[str, str] = MappingProxyType({}), *, indexed: bool = True
) -> Iterator[KnownFiles]:
    """Give what one build knows of a project."""
    desk.overlays = dict(overlays)
    with desk.readers.borrow() as reader:
        yield KnownFiles(desk.snapshot(), reader if indexed else None)


def test_definitions_and_imports_are_those_of_the_file_on_the_disk(desk: Desk) -> None:
    desk.write(FILES)
    with known(desk) as files:
        assert [symbol.name for symbol in files.symbols("a.py")] == ["fa"]
        assert [one.target for one in files.imports("a.py")] == ["b.py"]
        assert not files.stale
    write_files(desk.root, {"a.py": "def other(): ...\n"})
    with known(desk) as files:
        assert (files.symbols("a.py"), files.imports("a.py"), list(files.stale)) == ((), (), ["a.py"])


def test_what_is_bare(desk: Desk) -> None:
    desk.write(FILES)
    bare = {"empty.py", "blank.css", "effect.js"}
    with known(desk) as files:
        without_definitions = FILES.keys() - {"a.py", "b.py"} | {"gone.py"}
        assert {path for path in without_definitions if files.is_bare(path)} == bare
    with known(desk, {"effect.js": "function half("}) as files:
        assert not files.is_bare("effect.js"), "nobody parsed the buffer"
    with known(desk, indexed=False) as files:
        assert not files.is_bare("effect.js"), "nobody knows"
        assert files.is_bare("empty.py")


def record(digest: bytes, count: int, language: str = "python") -> FileRecord:
    return FileRecord("a", Stamp(1, 1, 1, 1), digest, language, symbols=count)


def reading(count: int, name: str = "one") -> Callable[[str], tuple[Symbol, ...]]:
    return lambda path: tuple(
        Symbol(f"{name}{number}", "function", 1, 1, "def f()", "", 0) for number in range(count)
    )


def test_the_least_recently_used_ones_are_forgotten() -> None:
    kept = KeptSymbols(most=4)
    first = kept.of(record(b"a", 2), reading(2))
    kept.of(record(b"b", 2), reading(2))
    assert kept.of(record(b"a", 2), reading(2)) is first
    kept.of(record(b"c", 2), reading(2))
    assert kept.of(record(b"a", 2), reading(2)) is first
    assert kept.of(record(b"b", 2), reading(2, "other"))[0].name == "other0"
    assert kept.count == 4


TOKEN = "ghp_" + "a1B2c3D4e5" * 4


def symbol(line: int, signature: str, doc: str = "", end: int = 0) -> Symbol:
    return Symbol(f"f{line}", "function", line, end or line, signature, doc, 0)


def test_heads_with_secrets_are_those_of_the_masked_text() -> None:
    text = f'def f(a="{TOKEN}"):\n    """Use it."""\n\n\ndef g():\n    """No {TOKEN} here."""\n'
    found = masked_symbols(
        [
            symbol(1, f'def f(a="{TOKEN}")', "Use it.", 2),
            symbol(1, f'def f(a="{TOKEN[:20]}', "Use it.", 2),
            symbol(5, "def g()", f"No {TOKEN} here.", 6),
            symbol(5, "def g()", f"No {TOKEN[:20]}", 6),
        ],
        mask_secrets(text).text,
    )
    assert [one.signature for one in found] == ['def f(a="[masked]32+"):'] * 2 + ["def g()"] * 2
    assert [one.doc for one in found] == ["Use it.", "Use it.", "", ""]


def test_a_secret_in_a_body_leaves_the_other_definitions_as_they_are() -> None:
    body = f'def f():\n    """Use it."""\n    return "{TOKEN}"\n\n\ndef g():\n    """Do it."""\n'
    with_secret, without = symbol(1, "def f()", "Use it.", 3), symbol(6, "def g()", "Do it.", 7)
    assert masked_symbols([with_secret, without], mask_secrets(body).text) == (with_secret, without)
    other = symbol(1, "def f()", "Used by what is not in the text.", 3)
    assert masked_symbols([other], mask_secrets(body).text)[0].doc == ""
