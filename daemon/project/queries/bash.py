"""Owns the queries of shell scripts."""

from __future__ import annotations

# Only names in capitals are kept of them: others are a script's passing state.
BASH = """
((function_definition name: (_) @name body: (_) @body) @def (#set! kind "function"))
((program (variable_assignment name: (variable_name) @name) @def)
  (#set! kind "constant"))
((program (declaration_command (variable_assignment name: (variable_name) @name)) @def)
  (#set! kind "constant"))
"""

BASH_CALLS = """
(command name: (command_name (word) @function) . argument: (_) @module)
"""

# What a shell brings along and what every script calls.
_OWN = """
} . : @test alias awk basename bind break builtin caller cat cd chmod command compgen complete compopt
continue cp curl cut date dirname echo enable env eval exec exit expr false find getopts git grep hash
head jobs kill let ln ls mapfile mkdir mktemp mv popd printf ps pushd pwd read readarray return rm rmdir
sed set shift shopt sleep sort source sudo tail tar tee test touch tr trap true type ulimit umask unalias
uname uniq wait wc which xargs"""

BASH_FACTS = f"""
((command name: (command_name (word) @last)) (#set! fact "call")
  (#set! unless "{" ".join(_OWN.split())}"))
"""
