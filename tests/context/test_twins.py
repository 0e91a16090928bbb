"""Of a definition and its asynchronous version one is shown, and the other is named in a line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import pytest
from foveal.daemon.context.excerpt import FileSource
from foveal.daemon.context.file_forms import FileForms
from foveal.daemon.context.focus import FocusNode
from foveal.daemon.context.twins import plain_name, twins
from foveal.daemon.languages.shared.parse import parse_source
from foveal.daemon.languages.shared.records import Symbol

BODY = """\
    def connect(self, host):
        pool = self.pool_of(host)
        self.count += 1
        return pool.open(host)

    def close(self):
        for pool in self.pools:
            pool.close()
        self.is_closed = True

    def size(self):
        return len(self.pools) + self.count
"""
ASYNC = (
    BODY.replace("    def ", "    async def ")
    .replace("def close", "def aclose")
    .replace("pool.close()", "await pool.aclose()")
    .replace("return pool", "return await pool")
    .replace("return len(self.pools) + self.count", "self.lock()\n        n = 7\n        return n")
)
TEXT = f"class Client:\n{BODY}\n\nclass AsyncClient:\n{ASYNC}\n\n" + "x = 1\n" * 300


def source() -> FileSource:
    return FileSource("a.py", TEXT, "python", tuple(parse_source(TEXT.encode(), "python").symbols))


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("AsyncClient.aclose", "Client.close"),
        ("Response.__aenter__", "Response.__enter__"),
        ("read_async", "read"),
        ("async_read", "read"),
        ("Client.address", "Client.address"),
        ("Client.await_all", "Client.await_all"),
    ],
)
def test_a_name_loses_what_marks_it_as_asynchronous(name: str, plain: str) -> None:
    assert plain_name(name) == plain


def test_only_definitions_that_are_alike_are_twins() -> None:
    assert [(one.name, other.name) for one, other in twins(source())] == [
        ("AsyncClient.connect", "Client.connect"),
        ("AsyncClient.aclose", "Client.close"),
    ]


class Walked(tuple[Symbol, ...]):
    """Counts how often it is walked through."""

    __slots__ = ()

    walks: ClassVar = 0

    def __iter__(self) -> Iterator[Symbol]:
        Walked.walks += 1
        return super().__iter__()


def test_the_definitions_of_a_file_are_not_walked_through_for_each_of_its_classes() -> None:
    text = "".join(TEXT.replace("Client", f"Client{number}") for number in range(20))
    symbols = Walked(parse_source(text.encode(), "python").symbols)
    assert len(list(twins(FileSource("a.py", text, "python", symbols)))) == 40
    assert Walked.walks < 5


@pytest.mark.parametrize(("wanted", "named"), [((), "aclose"), (("AsyncClient.aclose",), "close")])
def test_a_shortened_file_shows_one_of_two_twins(wanted: tuple[str, ...], named: str) -> None:
    node = FocusNode("a.py", "", "focus", "asked for")
    forms = FileForms(node, source(), ["close", "pool"], wanted, cut=False, unsaved=False)
    shown = forms(1_400).text
    assert shown.count("self.is_closed = True") == 1
    assert f"def {named}(self): # like " in shown
    assert forms(forms.full_characters).text.count("self.is_closed = True") == 2
