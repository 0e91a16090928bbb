"""Files are recognised by name, then extension, then shebang line; each language has a fence tag."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter

import pytest
from foveal.daemon.languages.shared.language import LANGUAGES, fence_tag, language_of


@pytest.mark.parametrize(
    ("path", "head", "expected"),
    [
        ("src/auth.py", b"", "python"),
        ("stubs/auth.pyi", b"", "python"),
        ("SRC/AUTH.PY", b"", "python"),
        ("a/app.jsx", b"", "javascript"),
        ("a/app.mjs", b"", "javascript"),
        ("a/app.tsx", b"", "tsx"),
        ("types/index.d.ts", b"", "typescript"),
        ("main.go", b"", "go"),
        ("README.md", b"", "markdown"),
        ("x.rs", b"", "rust"),
        ("x.hpp", b"", "cpp"),
        ("x.cs", b"", "csharp"),
        ("App.kt", b"", "kotlin"),
        ("docker/Dockerfile", b"", "dockerfile"),
        ("Dockerfile.dev", b"", "dockerfile"),
        ("Makefile", b"", "makefile"),
        ("CMakeLists.txt", b"", "cmake"),
        ("notes.txt", b"", "text"),
        ("report.Rmd", b"", "markdown"),
        ("literate.lhs", b"", ""),
        ("go.mod", b"", "gomod"),
        ("bin/run", b"#!/usr/bin/env python3.11\n", "python"),
        ("bin/run", b"#!/usr/bin/env -S FOO=1 node --flag\n", "javascript"),
        ("bin/run", b"#!/bin/sh -e\n", "bash"),
        ("bin/run", b"#! /usr/bin/perl\r\n", "perl"),
        ("bin/run.weird", b"#!/bin/bash\n", "bash"),
        ("bin/run.py", b"#!/bin/bash\n", "python"),
        ("bin/run", b"#!", ""),
        ("bin/run", b"#!\xff\xfe/x\n", ""),
        ("bin/run", b"#!/usr/bin/env\n", ""),
        ("bin/run", b"", ""),
        (".py", b"", ""),
        ("x.", b"", ""),
        ("", b"", ""),
        ("py", b"", ""),
        ("a.py/b", b"", ""),
    ],
)
def test_language_is_found_by_name_then_extension_then_shebang(path: str, head: bytes, expected: str) -> None:
    assert language_of(path, head) == expected


@pytest.mark.parametrize(
    ("language", "expected"),
    [("python", "python"), ("tsx", "tsx"), ("objective-c", "objectivec"), ("", ""), ("nonsense", "")],
)
def test_fence_tag(language: str, expected: str) -> None:
    assert fence_tag(language) == expected


def test_no_extension_name_or_interpreter_is_claimed_twice() -> None:
    for attribute in ("extensions", "file_names", "interpreters"):
        claims = Counter(claim for row in LANGUAGES.values() for claim in getattr(row, attribute))
        assert [claim for claim, count in claims.items() if count > 1] == []


def test_the_table_is_read_when_it_is_used_and_loads_no_parser_and_compiles_no_pattern() -> None:
    code = """
import re, sys, tomllib
import msgspec
compiled = []
compile = re.compile
re.compile = lambda *pattern: compiled.append(pattern) or compile(*pattern)
from foveal.daemon.languages.shared.language import LANGUAGES
assert "foveal.daemon.languages.python" not in sys.modules
assert LANGUAGES["python"].grammar
print([name for name in sys.modules if "tree_s" in name], compiled)
"""
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[] []"
