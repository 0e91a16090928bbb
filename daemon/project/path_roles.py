"""Determines the role of a file from its path: source, test, example, document, data and so on."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

Role = Literal["source", "test", "example", "document", "data", "shim", "barrel", "stub"]


@lru_cache(maxsize=65_536)
def role_of(path: str, language: str) -> Role:
    """Return the role of a file. `language` is that of its record, empty if unknown."""
    name = path.rpartition("/")[2]
    if _is_test(path, name, language):
        return "test"
    if _EXAMPLE.search(path):
        return "example"
    if _DOCUMENT.search(path) or language in _PROSE or _DOCUMENT_NAME.match(name):
        return "document"
    if language in _DATA or not language:
        return "data"
    if _SHIM.search(path):
        return "shim"
    if _STUB.search(name):
        return "stub"
    if _BARREL.match(name):
        return "barrel"
    return "source"


def _is_test(path: str, name: str, language: str) -> bool:
    """Whether a file is a test by the conventions of its language."""
    own = _TEST_NAME_OF.get(language)
    if own is not None and own.search(name):
        return True
    if language not in _ONLY_THESE and _TEST_NAME.search(name):
        return True
    folder = _TEST_FOLDER.search(path)
    if folder is None or _PRODUCT_FOLDER.search(path[: folder.start() + 1]):
        return False
    return not (language in _LIBRARY_OF and _LIBRARY_TEST.search(path))


_TEST_FOLDER = re.compile(
    r"(?:^|/)(?:tests?|specs?|__tests__|__mocks__|testing|e2e|testdata|test[_-]?(?:data|utils?|helpers?|cases?"
    r"|resources|fixtures|lib)|fixtures?|mocks?|unittests?|cypress|functional[_-]?tests?|[\w.]*IntegrationTests?"
    # `(?-i:` matches case: `FooTests/` is a test folder, `contests/` is not.
    r"|androidTest|commonTest|jvmTest|(?-i:[\w.]*[a-z]Tests|[\w.]*\.Tests?))/",
    re.IGNORECASE,
)
_PRODUCT_FOLDER = re.compile(r"(?:^|/)src/main/")
"""A folder whose files are all part of the product, whatever their folders' names (Maven, Gradle, sbt)."""

_TEST_NAME = re.compile(
    r"^(?:tests?\.\w+|conftest\.py)$|[._-](?:test|tests|spec|specs|cy|e2e)\.\w+$|\.(?:bats|t)$"
)
_TEST_NAME_OF: dict[str, re.Pattern[str]] = {
    **dict.fromkeys(("c", "cpp", "objc"), re.compile(r"^test_|^Test[A-Z]|[a-z0-9]Tests?\.\w+$")),
    **dict.fromkeys(
        ("java", "kotlin", "scala", "groovy", "csharp", "swift", "php"),
        re.compile(r"^Test[A-Z]|[a-z0-9](?:Test|Tests|Spec|TestCase|IT)\.\w+$"),
    ),
    **dict.fromkeys(("python", "ruby", "ocaml", "julia"), re.compile(r"^test_")),
    "elixir": re.compile(r"_test\.exs$"),
    "erlang": re.compile(r"_(?:SUITE|tests)\.erl$"),
    "go": re.compile(r"_test\.go$"),
    "haskell": re.compile(r"[a-z0-9](?:Test|Tests|Spec)\.hs$"),
    "lua": re.compile(r"^test_"),
    **dict.fromkeys(("javascript", "typescript", "r"), re.compile(r"^test[-_]")),
}
"""Test file names by language, as its tools expect them; `test_helpers.go` and
`test_functions.bash` aren't tests."""

_ONLY_THESE = frozenset({"elixir", "go"})
"""Languages whose tools find tests by these names only; the general patterns aren't used for them."""

_LIBRARY_OF = frozenset({"ruby", "perl", "elixir"})
_LIBRARY_TEST = re.compile(r"(?:^|/)lib/(?:.*/)?(?:tests?|testing)/", re.IGNORECASE)
"""A path of test helpers inside `lib/`. In the languages `_LIBRARY_OF`, `lib/` holds the shipped code, so
these aren't tests."""
_EXAMPLE = re.compile(
    r"(?:^|/)(?:examples?|samples?|demos?|playground|tutorials?|benchmarks?|bench|perf)/", re.IGNORECASE
)
_DOCUMENT = re.compile(
    r"(?:^|/)(?:docs?|documentation|website|man|locales?|i18n|l10n|translations?|changelogs?)/", re.IGNORECASE
)
_DOCUMENT_NAME = re.compile(
    r"(?:README|CHANGELOG|CHANGES|HISTORY|NEWS|LICENSE|COPYING|AUTHORS|CONTRIBUTING)\b"
)
_SHIM = re.compile(
    r"(?:^|/)_?(?:compat|shims?|polyfills?|legacy|deprecated|vendor(?:ed)?|third[_-]?party|contrib)[/.]"
)
_STUB = re.compile(r"\.d\.[cm]?ts$|\.pyi$")
_BARREL = re.compile(r"^(?:__init__\.py|index\.[cm]?[jt]sx?|mod\.rs|package-info\.java|exports?\.[jt]s)$")

_PROSE = frozenset({"markdown", "mdx", "restructuredtext", "text", "latex"})
_DATA = frozenset(
    {"json", "json5", "jsonc", "jsonl", "yaml", "toml", "xml", "ini", "diff", "html", "css", "scss", "less"}
)
