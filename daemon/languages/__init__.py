"""The queries in tree-sitter's language, a language a file; nothing here runs one.

Of a definition, `@def` is the node that is defined, `@name` what names it, `@path` a name with what it lies
in (`DB::Open`), `@declarator` C's around a name. `@owner` is a type that it belongs to without lying in it,
`@target` what it is assigned to, `@receiver` Go's. Its head ends before `@body`, or with `@head` where what
follows has no name. `@decorator` stands before a definition, `@lead` begins `@of` earlier than its own node
does, and what lies in `@local` declares nothing for others.

A pattern's `kind` is the symbol's, its `name` stands in for one that isn't written; of two patterns that
match one definition the earlier one counts. One with `when` holds only where the text of `@when` is among
its words, one with `@tag` only where that isn't the name, and one with `only` hides what else begins there.
(The engine's own predicates aren't used: with tree-sitter 0.26.1 the process died when a query that has
some was freed.)

Kinds that no symbol has: a `scope` qualifies what it holds and is none itself; a `field` is one only if it
is a function; `forward` and `extern` are types and variables that are announced, and give way, as a
`prototype` does, to a definition in the same file.

Of an import, `@module` and `@imported` are the parts, `@outer` is what a group of PHP's has in common,
`@function` what is called where it is written as a call, `@optional` a block whose failing imports its
`@handler` may catch. Of a document, `@heading` begins
a section unless it stands in what is `@quoted`.
"""
