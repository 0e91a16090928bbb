"""What part a file plays is told from its path, in the ways of many languages."""

from __future__ import annotations

import pytest
from foveal.daemon.project.text_kind import Role, role_of


@pytest.mark.parametrize(
    ("path", "language", "expected"),
    [
        ("src/auth.py", "python", "source"),
        ("main.go", "go", "source"),
        ("lib/latest.js", "javascript", "source"),
        ("src/contests/rules.py", "python", "source"),
        ("src/attestation/sign.go", "go", "source"),
        ("app/testimonials.tsx", "typescript", "source"),
        ("src/docstore.py", "python", "source"),
        ("pkg/manager/run.go", "go", "source"),
        ("tests/test_auth.py", "python", "test"),
        ("test/data.json", "json", "test"),
        ("src/auth.test.ts", "typescript", "test"),
        ("src/auth_test.go", "go", "test"),
        ("spec/auth_spec.rb", "ruby", "test"),
        ("src/__tests__/auth.js", "javascript", "test"),
        ("src/test/java/a/AuthTest.java", "java", "test"),
        ("App.IntegrationTests/Login.cs", "csharp", "test"),
        ("Shop.Core.Tests/Cart.cs", "csharp", "test"),
        ("Shop.Test/Cart.cs", "csharp", "test"),
        ("src/Shop.Testing.Api/Cart.cs", "csharp", "source"),
        ("Sources/AuthTests/Login.swift", "swift", "test"),
        ("conftest.py", "python", "test"),
        ("a/tests.py", "python", "test"),
        ("lib/test_functions.bash", "bash", "source"),
        ("test_helpers.go", "go", "source"),
        ("lib/phoenix/test/conn_test.ex", "elixir", "source"),
        ("test/phoenix/conn_test.exs", "elixir", "test"),
        ("lib/sidekiq/testing/inline.rb", "ruby", "source"),
        ("spring-test/src/main/java/a/test/Context.java", "java", "source"),
        ("test/suite.bats", "", "test"),
        ("t/basic.t", "perl", "test"),
        ("src/http_SUITE.erl", "erlang", "test"),
        ("src/test_list.c", "c", "test"),
        ("examples/hello.py", "python", "example"),
        ("benchmarks/run.py", "python", "example"),
        ("docs/conf.py", "python", "document"),
        ("README.md", "markdown", "document"),
        ("LICENSE", "", "document"),
        ("notes.txt", "text", "document"),
        ("package.json", "json", "data"),
        ("Makefile.unknown", "", "data"),
        ("src/style.css", "css", "data"),
        ("src/compat/py2.py", "python", "shim"),
        ("src/_compat.py", "python", "shim"),
        ("vendor/github.com/a/b.go", "go", "shim"),
        ("types/index.d.ts", "typescript", "stub"),
        ("src/auth.pyi", "python", "stub"),
        ("src/__init__.py", "python", "barrel"),
        ("src/index.ts", "typescript", "barrel"),
        ("src/mod.rs", "rust", "barrel"),
        ("", "", "data"),
    ],
)
def test_the_role_of_a_path(path: str, language: str, expected: Role) -> None:
    assert role_of(path, language) == expected
