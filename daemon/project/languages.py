"""Owns the table of languages, one a row: how files are recognised, fenced and queried; parses nothing."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Language:
    """A language that files can be in.

    `name` is lower case and is what records and filters use, `fence` its tag on a Markdown code fence.
    `extensions` are lower case with their dot and compared without regard to case; `file_names` are
    compared as written, and also match with a suffix (`Dockerfile.dev`). `interpreters` are the names a
    shebang line may call, without version digits. `grammar` is `module:function` of a tree-sitter grammar,
    empty as long as none is wired. `definitions` and `calls` are queries in tree-sitter's language whose
    captures parse.py reads: `@def` the node that is defined, `@name` what names it, `@body` where its head
    ends, `@module` and `@imported` the parts of an import. A pattern's `kind` is the symbol's; of two
    patterns that match one definition the earlier one counts. `calls` are
    imports written as calls; they run only on a source that has one of `call_words`, since they would
    visit every call of a file.
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


def _interpreter(head: bytes) -> str:
    """Return the program that a shebang line calls, without folder and version: `python`, `bash`."""
    words = head[2:256].partition(b"\n")[0].decode("utf-8", "replace").split()
    names = [word.rpartition("/")[2] for word in words]
    if names and names[0] == "env":
        names = [name for name in names[1:] if not name.startswith("-") and "=" not in name]
    return names[0].rstrip("0123456789.") if names else ""


_PYTHON = """
((function_definition name: (identifier) @name body: (block) @body) @def (#set! kind "function"))
((class_definition name: (identifier) @name body: (block) @body) @def (#set! kind "class"))
((type_alias_statement left: (type [(identifier) @name (generic_type . (identifier) @name)])) @def
  (#set! kind "type"))
((module (expression_statement (assignment left: [
  (identifier) @name (pattern_list (identifier) @name)])) @def) (#set! kind "variable"))
((module (if_statement (block (expression_statement (assignment left: (identifier) @name)) @def)))
  (#set! kind "variable"))
((module (if_statement (_ (block (expression_statement (assignment left: (identifier) @name)) @def))))
  (#set! kind "variable"))
((module (try_statement (block (expression_statement (assignment left: (identifier) @name)) @def)))
  (#set! kind "variable"))
((module (try_statement (_ (block (expression_statement (assignment left: (identifier) @name)) @def))))
  (#set! kind "variable"))
(decorator) @decorator
(import_statement name: [(dotted_name) @module (aliased_import name: (dotted_name) @module)])
(import_from_statement module_name: (_) @module (wildcard_import))
(import_from_statement module_name: (_) @module name: [
  (dotted_name) @imported (aliased_import name: (dotted_name) @imported)])
(try_statement body: (block) @optional (except_clause) @handler)
"""

_PYTHON_CALLS = """
(call function: [(identifier) (attribute)] @function arguments: (argument_list . (string) @module))
"""

# What a name can be bound to that makes the binding a function or a class of its own.
_FUNCTION_VALUES = """[
  (arrow_function body: (_) @body)
  (function_expression body: (_) @body)
  (generator_function body: (_) @body)
  (parenthesized_expression (function_expression body: (_) @body))
  (parenthesized_expression (arrow_function body: (_) @body))
]"""

# Values that define something by being assigned to an export; a mere name re-exports what stands elsewhere.
_DATA_VALUES = """[
  (object) (array) (string) (template_string) (number) (regex) (true) (false)
  (call_expression) (new_expression) (binary_expression)
]"""

_SCRIPT = f"""
((function_declaration name: (_) @name body: (_) @body) @def (#set! kind "function"))
((generator_function_declaration name: (_) @name body: (_) @body) @def (#set! kind "function"))
((class_declaration name: (_) @name body: (_) @body) @def (#set! kind "class"))
((class_body (method_definition name: (_) @name body: (_) @body) @def) (#set! kind "method"))
((variable_declarator name: (identifier) @name value: {_FUNCTION_VALUES}) @def (#set! kind "function"))
((variable_declarator name: (identifier) @name value: (class body: (_) @body)) @def (#set! kind "class"))
((program [(lexical_declaration (variable_declarator name: (identifier) @name) @def)
           (variable_declaration (variable_declarator name: (identifier) @name) @def)])
  (#set! kind "variable"))
((export_statement [
    (lexical_declaration (variable_declarator name: [
      (identifier) @name
      (object_pattern (shorthand_property_identifier_pattern) @name)
      (object_pattern (pair_pattern value: (identifier) @name))]) @def)
    (variable_declaration (variable_declarator name: (identifier) @name) @def)])
  (#set! kind "variable"))
((export_statement value: {_FUNCTION_VALUES}) @def (#set! kind "function") (#set! name "default"))
((export_statement value: (class body: (_) @body)) @def (#set! kind "class") (#set! name "default"))
((export_statement value: [(object) (array) (call_expression)]) @def
  (#set! kind "constant") (#set! name "default"))
((assignment_expression left: (member_expression) @target right: {_FUNCTION_VALUES}) @def
  (#set! kind "function"))
((assignment_expression left: (member_expression) @target right: (class body: (_) @body)) @def
  (#set! kind "class"))
((program (expression_statement
    (assignment_expression left: (member_expression) @target right: {_DATA_VALUES}) @def))
  (#set! kind "constant"))
(decorator) @decorator
(import_statement source: (string) @module)
(export_statement source: (string) @module)
"""

_JAVASCRIPT = f"""{_SCRIPT}
((class_body (field_definition property: (_) @name value: {_FUNCTION_VALUES}) @def) (#set! kind "method"))
"""

_TYPESCRIPT = f"""{_SCRIPT}
((class_body (public_field_definition name: (_) @name value: {_FUNCTION_VALUES}) @def) (#set! kind "method"))
((class_body [(abstract_method_signature name: (_) @name) (method_signature name: (_) @name)] @def)
  (#set! kind "method"))
((function_signature name: (_) @name) @def (#set! kind "function"))
((abstract_class_declaration name: (_) @name body: (_) @body) @def (#set! kind "class"))
((interface_declaration name: (_) @name body: (_) @body) @def (#set! kind "interface"))
((enum_declaration name: (_) @name body: (_) @body) @def (#set! kind "enum"))
((type_alias_declaration name: (_) @name) @def (#set! kind "type"))
((internal_module name: (_) @name body: (_) @body) @def (#set! kind "namespace"))
((module name: (_) @name body: (_) @body) @def (#set! kind "namespace"))
((ambient_declaration [(lexical_declaration (variable_declarator name: (identifier) @name) @def)
                       (variable_declaration (variable_declarator name: (identifier) @name) @def)])
  (#set! kind "variable"))
(import_require_clause source: (string) @module)
"""

_SCRIPT_CALLS = """
(call_expression function: [(identifier) (import)] @function arguments: (arguments . (string) @module))
"""
_SCRIPT_CALL_WORDS = (b"require", b"import(")

# The names of a constant carry no field: the grammar gives its `name` to the first one only.
_GO = """
((function_declaration name: (identifier) @name body: (block) @body) @def (#set! kind "function"))
((function_declaration name: (identifier) @name) @def (#set! kind "function"))
((method_declaration receiver: (parameter_list) @receiver name: (field_identifier) @name
    body: (block) @body) @def (#set! kind "method"))
((method_declaration receiver: (parameter_list) @receiver name: (field_identifier) @name) @def
  (#set! kind "method"))
((type_spec name: (type_identifier) @name type: (struct_type (field_declaration_list) @body)) @def
  (#set! kind "struct"))
((type_spec name: (type_identifier) @name type: (interface_type)) @def (#set! kind "interface"))
((type_spec name: (type_identifier) @name) @def (#set! kind "type"))
((type_alias name: (type_identifier) @name) @def (#set! kind "type"))
((source_file (const_declaration (const_spec (identifier) @name) @def)) (#set! kind "constant"))
((source_file (var_declaration (var_spec (identifier) @name) @def)) (#set! kind "variable"))
((source_file (var_declaration (var_spec_list (var_spec (identifier) @name) @def)))
  (#set! kind "variable"))
(import_spec path: (_) @module)
"""

_MARKDOWN = """
(atx_heading) @heading
(setext_heading) @heading
(block_quote) @quoted
(list) @quoted
"""

_ROWS = (
    Language(
        "python",
        "python",
        (".py", ".pyi", ".pyw"),
        ("SConstruct", "SConscript", "wscript"),
        ("python", "pypy", "uv"),
        grammar="tree_sitter_python:language",
        definitions=_PYTHON,
        calls=_PYTHON_CALLS,
        call_words=(b"import_module(",),
    ),
    Language(
        "javascript",
        "javascript",
        (".js", ".jsx", ".mjs", ".cjs", ".es6"),
        ("Jakefile",),
        ("node", "nodejs", "bun"),
        grammar="tree_sitter_javascript:language",
        definitions=_JAVASCRIPT,
        calls=_SCRIPT_CALLS,
        call_words=_SCRIPT_CALL_WORDS,
    ),
    Language(
        "typescript",
        "typescript",
        (".ts", ".mts", ".cts"),
        (),
        ("deno", "ts-node", "tsx"),
        grammar="tree_sitter_typescript:language_typescript",
        definitions=_TYPESCRIPT,
        calls=_SCRIPT_CALLS,
        call_words=_SCRIPT_CALL_WORDS,
    ),
    Language(
        "tsx",
        "tsx",
        (".tsx",),
        grammar="tree_sitter_typescript:language_tsx",
        definitions=_TYPESCRIPT,
        calls=_SCRIPT_CALLS,
        call_words=_SCRIPT_CALL_WORDS,
    ),
    Language("go", "go", (".go",), grammar="tree_sitter_go:language", definitions=_GO),
    Language(
        "markdown",
        "markdown",
        (".md", ".markdown", ".mdown", ".mkd", ".mdc"),
        grammar="tree_sitter_markdown:language",
        definitions=_MARKDOWN,
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
    ),
    Language("bazel", "starlark", (".bzl", ".bazel", ".star"), ("BUILD", "WORKSPACE")),
    Language("c", "c", (".c", ".h")),
    Language("clojure", "clojure", (".clj", ".cljs", ".cljc", ".edn"), (), ("bb",)),
    Language("cmake", "cmake", (".cmake",), ("CMakeLists.txt",)),
    Language("cpp", "cpp", (".cpp", ".cc", ".cxx", ".c++", ".hpp", ".hh", ".hxx", ".ipp", ".inl", ".ino")),
    Language("crystal", "crystal", (".cr",), (), ("crystal",)),
    Language("csharp", "csharp", (".cs", ".csx")),
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
    Language("java", "java", (".java",)),
    Language("jinja", "jinja", (".jinja", ".jinja2", ".j2")),
    Language("json", "json", (".json", ".geojson", ".webmanifest", ".ipynb"), (".eslintrc", ".babelrc")),
    Language("json5", "json5", (".json5",)),
    Language("jsonc", "jsonc", (".jsonc", ".code-workspace")),
    Language("jsonl", "json", (".jsonl", ".ndjson")),
    Language("julia", "julia", (".jl",), (), ("julia",)),
    Language("just", "just", (".just",), ("justfile", "Justfile")),
    Language("kotlin", "kotlin", (".kt", ".kts"), (), ("kotlin",)),
    Language("latex", "latex", (".tex", ".sty", ".cls", ".bib")),
    Language("less", "less", (".less",)),
    Language("lisp", "lisp", (".lisp", ".lsp", ".cl", ".el"), (), ("sbcl",)),
    Language("lua", "lua", (".lua", ".rockspec"), (), ("lua", "luajit")),
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
    Language("php", "php", (".php", ".phtml", ".php5"), (), ("php",)),
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
    ),
    Language("rust", "rust", (".rs",)),
    Language("sass", "sass", (".sass",)),
    Language("scala", "scala", (".scala", ".sc", ".sbt"), (), ("scala", "amm")),
    Language("scheme", "scheme", (".scm", ".ss", ".rkt"), (), ("racket", "guile")),
    Language("scss", "scss", (".scss",)),
    Language("solidity", "solidity", (".sol",)),
    Language("sql", "sql", (".sql", ".ddl", ".dml", ".psql")),
    Language("svelte", "svelte", (".svelte",)),
    Language("swift", "swift", (".swift",), (), ("swift",)),
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
