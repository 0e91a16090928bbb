"""Owns the table of languages, one a row: how files are recognised, fenced and queried; parses nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from .queries.bash import BASH, BASH_CALLS, BASH_FACTS
from .queries.c import C_FACTS, C_REFERENCES, CPP, CPP_FACTS, CPP_REFERENCES, C
from .queries.csharp import CSHARP, CSHARP_FACTS, CSHARP_REFERENCES
from .queries.go import GO, GO_FACTS, GO_REFERENCES
from .queries.java import JAVA, JAVA_FACTS, JAVA_REFERENCES
from .queries.kotlin import KOTLIN, KOTLIN_FACTS, KOTLIN_REFERENCES
from .queries.lua import LUA, LUA_CALLS, LUA_FACTS, LUA_REFERENCES
from .queries.markdown import MARKDOWN
from .queries.php import PHP, PHP_FACTS, PHP_REFERENCES
from .queries.python import PYTHON, PYTHON_CALLS, PYTHON_FACTS, PYTHON_REFERENCES
from .queries.ruby import RUBY, RUBY_CALLS, RUBY_FACTS, RUBY_REFERENCES
from .queries.rust import RUST, RUST_FACTS, RUST_REFERENCES
from .queries.scala import SCALA, SCALA_FACTS, SCALA_REFERENCES
from .queries.script import (
    JAVASCRIPT,
    JAVASCRIPT_FACTS,
    JAVASCRIPT_REFERENCES,
    SCRIPT_CALLS,
    TSX_REFERENCES,
    TYPESCRIPT,
    TYPESCRIPT_FACTS,
    TYPESCRIPT_REFERENCES,
)
from .queries.swift import SWIFT, SWIFT_FACTS, SWIFT_REFERENCES


class Language(Struct, frozen=True):
    """A language that files can be in.

    `name` is lower case and is what records and filters use, `fence` its tag on a Markdown code fence.
    `extensions` are lower case with their dot and compared without regard to case; `file_names` are
    compared as written, and also match with a suffix (`Dockerfile.dev`). `interpreters` are the names a
    shebang line may call, without version digits. `grammar` is `module:function` of a tree-sitter grammar,
    empty as long as none is wired. `definitions` and `calls` are its queries (folder queries). `calls` are
    imports written as calls; they run only on a source that has one of `call_words`, since they would
    visit every call of a file. `references` captures what a file refers to, by kind, `facts` what is evident
    of names (see reference_reader.py). `comment` begins a comment of one line; `//` brings `/* */` along.
    """

    name: str
    fence: str
    extensions: tuple[str, ...] = ()
    file_names: tuple[str, ...] = ()
    interpreters: tuple[str, ...] = ()
    grammar: str = ""
    definitions: str = ""
    calls: str = ""
    call_words: tuple[bytes, ...] = ()
    references: str = ""
    facts: str = ""
    comment: str = "//"


def language_of(path: str, head: bytes = b"") -> str:
    """Return the name of the language of a file, or "" when it isn't known.

    `path` may be relative or absolute; `head` is the beginning of its content, of which only a shebang
    line is looked at, and only when the name doesn't tell.
    """
    name = path.rpartition("/")[2]
    found = _BY_FILE_NAME.get(name)
    if found is None:
        stem, dot, extension = name.rpartition(".")
        # A leading dot alone makes a hidden file, not an extension.
        found = _BY_EXTENSION.get(f".{extension.lower()}") if dot and stem else None
        if found is None and dot:
            found = _BY_FILE_NAME.get(name.partition(".")[0])
    if found is None and head.startswith(b"#!"):
        found = _BY_INTERPRETER.get(_interpreter(head))
    return found or ""


def fence_tag(language: str) -> str:
    """Return the tag for a Markdown code fence around a language's source; "" for an unknown language."""
    row = LANGUAGES.get(language)
    return row.fence if row is not None else ""


def family_of(language: str) -> str:
    """Return the family of a language: files of one family see each other's definitions. Most stand alone."""
    return _FAMILIES.get(language, language)


SCRIPT_LANGUAGES: Final = frozenset({"javascript", "typescript", "tsx", "vue", "svelte", "astro"})
"""The languages whose imports are resolved as a script's."""

_FAMILIES: Final[Mapping[str, str]] = {
    **dict.fromkeys(SCRIPT_LANGUAGES, "script"),
    **dict.fromkeys(("c", "cpp"), "c"),
    **dict.fromkeys(("java", "kotlin", "scala"), "jvm"),
}


def _interpreter(head: bytes) -> str:
    """Return the program that a shebang line calls, without folder and version: `python`, `bash`."""
    words = head[2:256].partition(b"\n")[0].decode("utf-8", "replace").split()
    names = [word.rpartition("/")[2] for word in words]
    if names and names[0] == "env":
        names = [name for name in names[1:] if not name.startswith("-") and "=" not in name]
    return names[0].rstrip("0123456789.") if names else ""


_SCRIPT_CALL_WORDS = (b"require", b"import(")

_ROWS = (
    Language(
        "python",
        "python",
        (".py", ".pyi", ".pyw"),
        ("SConstruct", "SConscript", "wscript"),
        ("python", "pypy", "uv"),
        grammar="tree_sitter_python:language",
        definitions=PYTHON,
        calls=PYTHON_CALLS,
        call_words=(b"import_module(",),
        references=PYTHON_REFERENCES,
        facts=PYTHON_FACTS,
        comment="#",
    ),
    Language(
        "javascript",
        "javascript",
        (".js", ".jsx", ".mjs", ".cjs", ".es6"),
        ("Jakefile",),
        ("node", "nodejs", "bun"),
        grammar="tree_sitter_javascript:language",
        definitions=JAVASCRIPT,
        calls=SCRIPT_CALLS,
        call_words=_SCRIPT_CALL_WORDS,
        references=JAVASCRIPT_REFERENCES,
        facts=JAVASCRIPT_FACTS,
    ),
    Language(
        "typescript",
        "typescript",
        (".ts", ".mts", ".cts"),
        (),
        ("deno", "ts-node", "tsx"),
        grammar="tree_sitter_typescript:language_typescript",
        definitions=TYPESCRIPT,
        calls=SCRIPT_CALLS,
        call_words=_SCRIPT_CALL_WORDS,
        references=TYPESCRIPT_REFERENCES,
        facts=TYPESCRIPT_FACTS,
    ),
    Language(
        "tsx",
        "tsx",
        (".tsx",),
        grammar="tree_sitter_typescript:language_tsx",
        definitions=TYPESCRIPT,
        calls=SCRIPT_CALLS,
        call_words=_SCRIPT_CALL_WORDS,
        references=TSX_REFERENCES,
        facts=TYPESCRIPT_FACTS,
    ),
    Language(
        "go",
        "go",
        (".go",),
        grammar="tree_sitter_go:language",
        definitions=GO,
        references=GO_REFERENCES,
        facts=GO_FACTS,
    ),
    Language(
        "markdown",
        "markdown",
        (".md", ".markdown", ".mdown", ".mkd", ".mdc"),
        grammar="tree_sitter_markdown:language",
        definitions=MARKDOWN,
    ),
    Language("assembly", "asm", (".asm", ".s", ".nasm")),
    Language("astro", "astro", (".astro",)),
    Language("awk", "awk", (".awk",), (), ("awk", "gawk", "mawk")),
    Language(
        "bash",
        "bash",
        (".sh", ".bash", ".zsh", ".ksh", ".bats"),
        (".bashrc", ".bash_profile", ".profile", ".zshrc", ".zshenv", "PKGBUILD"),
        ("sh", "bash", "zsh", "dash", "ksh", "ash"),
        grammar="tree_sitter_bash:language",
        definitions=BASH,
        calls=BASH_CALLS,
        call_words=(b"source ", b". ", b"load "),
        facts=BASH_FACTS,
        comment="#",
    ),
    Language("bazel", "starlark", (".bzl", ".bazel", ".star"), ("BUILD", "WORKSPACE")),
    Language(
        "c",
        "c",
        (".c", ".h"),
        grammar="tree_sitter_c:language",
        definitions=C,
        references=C_REFERENCES,
        facts=C_FACTS,
    ),
    Language("clojure", "clojure", (".clj", ".cljs", ".cljc", ".edn"), (), ("bb",)),
    Language("cmake", "cmake", (".cmake",), ("CMakeLists.txt",)),
    Language(
        "cpp",
        "cpp",
        (".cpp", ".cc", ".cxx", ".c++", ".hpp", ".hh", ".hxx", ".ipp", ".inl", ".ino"),
        grammar="tree_sitter_cpp:language",
        definitions=CPP,
        references=CPP_REFERENCES,
        facts=CPP_FACTS,
    ),
    Language("crystal", "crystal", (".cr",), (), ("crystal",)),
    Language(
        "csharp",
        "csharp",
        (".cs", ".csx"),
        grammar="tree_sitter_c_sharp:language",
        definitions=CSHARP,
        references=CSHARP_REFERENCES,
        facts=CSHARP_FACTS,
    ),
    Language("css", "css", (".css",)),
    Language("cuda", "cuda", (".cu", ".cuh")),
    Language("cython", "cython", (".pyx", ".pxd", ".pxi")),
    Language("d", "d", (".d",)),
    Language("dart", "dart", (".dart",), (), ("dart",)),
    Language("diff", "diff", (".diff", ".patch")),
    Language("dockerfile", "dockerfile", (".dockerfile",), ("Dockerfile", "Containerfile")),
    Language("elixir", "elixir", (".ex", ".exs"), ("mix.lock",), ("elixir",)),
    Language("elm", "elm", (".elm",)),
    Language("erlang", "erlang", (".erl", ".hrl"), ("rebar.config",), ("escript",)),
    Language("fish", "fish", (".fish",), (), ("fish",)),
    Language("fortran", "fortran", (".f", ".for", ".f90", ".f95", ".f03", ".f08")),
    Language("fsharp", "fsharp", (".fs", ".fsi", ".fsx")),
    Language("gitconfig", "ini", (), (".gitconfig", ".gitmodules")),
    Language("gitignore", "gitignore", (), (".gitignore", ".dockerignore", ".npmignore", ".fovealignore")),
    Language("glsl", "glsl", (".glsl", ".vert", ".frag", ".comp", ".geom")),
    Language("gomod", "go", (), ("go.mod", "go.work")),
    Language("graphql", "graphql", (".graphql", ".gql", ".graphqls")),
    Language("groovy", "groovy", (".groovy", ".gradle", ".gvy"), ("Jenkinsfile",), ("groovy",)),
    Language("haskell", "haskell", (".hs", ".lhs"), (), ("runhaskell", "runghc", "stack")),
    Language("hcl", "hcl", (".tf", ".tfvars", ".hcl", ".nomad")),
    Language("html", "html", (".html", ".htm", ".xhtml")),
    Language(
        "ini",
        "ini",
        (".ini", ".cfg", ".conf", ".properties", ".desktop", ".service"),
        (".editorconfig", ".npmrc", ".flake8", ".pylintrc", ".coveragerc"),
    ),
    Language(
        "java",
        "java",
        (".java",),
        grammar="tree_sitter_java:language",
        definitions=JAVA,
        references=JAVA_REFERENCES,
        facts=JAVA_FACTS,
    ),
    Language("jinja", "jinja", (".jinja", ".jinja2", ".j2")),
    Language("json", "json", (".json", ".geojson", ".webmanifest", ".ipynb"), (".eslintrc", ".babelrc")),
    Language("json5", "json5", (".json5",)),
    Language("jsonc", "jsonc", (".jsonc", ".code-workspace")),
    Language("jsonl", "json", (".jsonl", ".ndjson")),
    Language("julia", "julia", (".jl",), (), ("julia",)),
    Language("just", "just", (".just",), ("justfile", "Justfile")),
    Language(
        "kotlin",
        "kotlin",
        (".kt", ".kts"),
        (),
        ("kotlin",),
        grammar="tree_sitter_kotlin:language",
        definitions=KOTLIN,
        references=KOTLIN_REFERENCES,
        facts=KOTLIN_FACTS,
    ),
    Language("latex", "latex", (".tex", ".sty", ".cls", ".bib")),
    Language("less", "less", (".less",)),
    Language("lisp", "lisp", (".lisp", ".lsp", ".cl", ".el"), (), ("sbcl",)),
    Language(
        "lua",
        "lua",
        (".lua", ".rockspec"),
        (),
        ("lua", "luajit"),
        grammar="tree_sitter_lua:language",
        definitions=LUA,
        calls=LUA_CALLS,
        call_words=(b"require",),
        references=LUA_REFERENCES,
        facts=LUA_FACTS,
        comment="--",
    ),
    Language("makefile", "makefile", (".mk", ".mak"), ("Makefile", "makefile", "GNUmakefile"), ("make",)),
    Language("matlab", "matlab", (".mat",)),
    Language("mdx", "mdx", (".mdx",)),
    Language("meson", "meson", (), ("meson.build", "meson_options.txt", "meson.options")),
    Language("nim", "nim", (".nim", ".nims", ".nimble"), (), ("nim",)),
    Language("nix", "nix", (".nix",)),
    Language("objective-c", "objectivec", (".m", ".mm")),
    Language("ocaml", "ocaml", (".ml", ".mli"), (), ("ocaml",)),
    Language("pascal", "pascal", (".pas", ".pp", ".dpr")),
    Language("perl", "perl", (".pl", ".pm", ".t"), (), ("perl",)),
    Language(
        "php",
        "php",
        (".php", ".phtml", ".php5"),
        (),
        ("php",),
        grammar="tree_sitter_php:language_php",
        definitions=PHP,
        references=PHP_REFERENCES,
        facts=PHP_FACTS,
    ),
    Language("powershell", "powershell", (".ps1", ".psm1", ".psd1"), (), ("pwsh",)),
    Language("prisma", "prisma", (".prisma",)),
    Language("protobuf", "protobuf", (".proto",)),
    Language("r", "r", (".r", ".rmd"), (".Rprofile",), ("Rscript",)),
    Language("restructuredtext", "rst", (".rst",)),
    Language(
        "ruby",
        "ruby",
        (".rb", ".rake", ".gemspec", ".ru", ".podspec"),
        ("Gemfile", "Rakefile", "Podfile", "Vagrantfile", "Brewfile"),
        ("ruby", "jruby"),
        grammar="tree_sitter_ruby:language",
        definitions=RUBY,
        calls=RUBY_CALLS,
        call_words=(b"require", b"autoload", b"load "),
        references=RUBY_REFERENCES,
        facts=RUBY_FACTS,
        comment="#",
    ),
    Language(
        "rust",
        "rust",
        (".rs",),
        grammar="tree_sitter_rust:language",
        definitions=RUST,
        references=RUST_REFERENCES,
        facts=RUST_FACTS,
    ),
    Language("sass", "sass", (".sass",)),
    Language(
        "scala",
        "scala",
        (".scala", ".sc", ".sbt"),
        (),
        ("scala", "amm"),
        grammar="tree_sitter_scala:language",
        definitions=SCALA,
        references=SCALA_REFERENCES,
        facts=SCALA_FACTS,
    ),
    Language("scheme", "scheme", (".scm", ".ss", ".rkt"), (), ("racket", "guile")),
    Language("scss", "scss", (".scss",)),
    Language("solidity", "solidity", (".sol",)),
    Language("sql", "sql", (".sql", ".ddl", ".dml", ".psql")),
    Language("svelte", "svelte", (".svelte",)),
    Language(
        "swift",
        "swift",
        (".swift",),
        (),
        ("swift",),
        grammar="tree_sitter_swift:language",
        definitions=SWIFT,
        references=SWIFT_REFERENCES,
        facts=SWIFT_FACTS,
    ),
    Language("tcl", "tcl", (".tcl",), (), ("tclsh", "wish")),
    Language("text", "text", (".txt", ".text"), ("LICENSE", "AUTHORS", "NOTICE", "COPYING", "README")),
    Language("toml", "toml", (".toml",), ("Cargo.lock", "poetry.lock", "uv.lock", "Pipfile")),
    Language("vim", "vim", (".vim",), (".vimrc", ".gvimrc")),
    Language("visual-basic", "vb", (".vb", ".bas", ".vbs")),
    Language("vue", "vue", (".vue",)),
    Language("xml", "xml", (".xml", ".xsd", ".xsl", ".xslt", ".svg", ".plist", ".csproj", ".props", ".xaml")),
    Language("yaml", "yaml", (".yaml", ".yml"), (".clang-format", ".clang-tidy")),
    Language("zig", "zig", (".zig", ".zon")),
)

LANGUAGES: dict[str, Language] = {row.name: row for row in _ROWS}
"""Every known language by its name."""

_BY_EXTENSION = {extension: row.name for row in _ROWS for extension in row.extensions}
_BY_FILE_NAME = {name: row.name for row in _ROWS for name in row.file_names}
_BY_INTERPRETER = {name: row.name for row in _ROWS for name in row.interpreters}
