"""The part a file plays, by its path alone: source, test, example, document, data and so on."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

Role = Literal["source", "test", "example", "document", "data", "shim", "barrel", "stub"]


@lru_cache(maxsize=65_536)
def role_of(path: str, language: str) -> Role:
    """Return the part that a file plays. `language` is as in its record, empty for one that isn't known."""
    name = path.rpartition("/")[2]
    if _TEST_FOLDER.search(path) or _TEST_NAME.search(name):
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


_TEST_FOLDER = re.compile(
    r"(?:^|/)(?:tests?|specs?|__tests__|__mocks__|testing|e2e|testdata|test[_-]?(?:data|utils?|helpers?|cases?"
    r"|resources|fixtures|lib)|fixtures?|mocks?|unittests?|cypress|functional[_-]?tests?|[\w.]*IntegrationTests?"
    # Capitals matter here: `contests/` holds none.
    r"|androidTest|commonTest|jvmTest|(?-i:[\w.]*[a-z]Tests|[\w.]*\.Tests?))/",
    re.IGNORECASE,
)
_TEST_NAME = re.compile(
    r"^(?:test_.*|tests?\.\w+|conftest\.py)$|[._-](?:test|tests|spec|specs|cy|e2e)\.\w+$|_(?:test|spec)\.\w+$"
    r"|^Test[A-Z]\w*\.\w+$|[a-z0-9](?:Test|Tests|Spec|TestCase|IT)\.(?:java|kt|kts|cs|scala|swift|php|groovy|m|mm)$"
)
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
