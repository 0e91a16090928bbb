"""The languages, one file each: file extensions, queries, and the rules for resolving imports and names.

To add a language, write its file with a tuple `LANGUAGES` (see `shared/language.py`) and name its grammar in
pyproject.toml; for its definitions and calls by name alone, a table in tail.toml is enough. Nothing else
lists languages. The files here must not compile queries or import grammars, because the daemon imports all of
them and parses nothing.

Queries are in tree-sitter's language, and `(a|b …)` stands for a pattern for each of two kinds of nodes (see
`expanded` in shared/parse.py). Captures of a definition:

- `@def` is the whole definition, `@name` its name, `@path` a name with its qualifier (`DB::Open`),
  `@declarator` a C declarator that contains the name.
- `@owner` is the type to which a definition outside of that type belongs, `@target` the member to which a
  value is assigned, `@receiver` the receiver of a Go method.
- The head ends before `@body`, or with `@head`. `@decorator` is a decorator before a definition. The
  definition `@of` begins at `@lead` instead of at its own node. Names in `@local` are hidden from other
  files.

Settings of a pattern: `kind` is the symbol's kind, and `name` its name if the source gives none. With `when`
the pattern matches only if the text of `@when` is one of these words; with `@tag` it matches only if the tag
differs from the name; with `only` it hides other definitions that begin at the same place. If two patterns
match one definition, the earlier pattern is used. (tree-sitter's own predicates aren't used: in 0.26.1 the
process died when a query with predicates was freed.)

Kinds that are never shown: a `scope` only qualifies the definitions inside it; a `field` is kept if it is a
function; `forward`, `extern` and `prototype` are declarations, which a definition in the same file replaces.

Captures of an import: `@module` and `@imported`, or `@tree` if `Language.clause` reads the text. `@outer` is
the common part of a PHP group, `@function` the called function that imports, `@optional` a block whose
failing imports its `@handler` catches. Captures of a document: `@heading` begins a section, unless it is
inside of `@quoted`. Captures of references and facts: `shared/reference_reader.py`.
"""
