"""The languages, one file each: extensions, queries, how imports resolve, how names are linked.

To add one, write its file with a tuple `LANGUAGES` (see `shared/language.py`) and name its grammar in
pyproject.toml. Nothing else lists languages. A file here compiles no query and imports no grammar: the daemon
reads all of them when it starts, and parses nothing.

Queries are in tree-sitter's language. Captures of a definition:

- `@def` the node that is defined, `@name` its name, `@path` a name with what it lies in (`DB::Open`),
  `@declarator` what C has around a name.
- `@owner` the type that it belongs to without lying in it, `@target` the member that it is assigned to,
  `@receiver` that of a Go method.
- The head ends before `@body`, or with `@head`. `@decorator` stands before a definition, `@lead` begins
  `@of` earlier than its own node does, and names in `@local` are hidden from other files.

Settings of a pattern: `kind` is the symbol's kind and `name` its name where the source writes none. With
`when` the pattern holds only if the text of `@when` is among these words, with `@tag` only if that isn't the
name; with `only` it hides what else begins at the same place. Of two patterns that match one definition the
earlier counts. (tree-sitter's own predicates aren't used: with 0.26.1 the process died when a query that has
some was freed.)

Kinds that are never shown: a `scope` qualifies what it holds; a `field` counts if it is a function;
`forward`, `extern` and `prototype` announce something, and give way to its definition in the same file.

Captures of an import: `@module` and `@imported`, or `@tree` where `Language.clause` reads the text; `@outer`
the common part of a PHP group, `@function` what is called to import, `@optional` a block whose failing
imports its `@handler` catches. Captures of a document: `@heading` begins a section, unless it lies in
`@quoted`. Captures of references and facts: `shared/reference_reader.py`.
"""
